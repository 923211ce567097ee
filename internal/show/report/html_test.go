package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// opened is the data of a page.
type opened struct {
	first  firstLines
	result run.Result
	rows   int
	every  int
	values map[columnName][]int64
}

// open reads a page as its script does.
func open(t *testing.T, page []byte) opened {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="result">(.*?)</script>\n<script type="application/json" id="headline">(.*?)</script>\n<script type="text/plain" id="series">(.*?)</script>`).FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var o opened
	if err := json.Unmarshal(m[2], &o.first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m[1], &o.result); err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(string(m[3]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	size, n := binary.Uvarint(plain)
	var head struct {
		Rows    int
		Every   int
		Columns []columnName
	}
	if err := json.Unmarshal(plain[n:n+int(size)], &head); err != nil {
		t.Fatal(err)
	}
	plain = plain[n+int(size):]
	o.rows, o.every, o.values = head.Rows, head.Every, map[columnName][]int64{}
	for _, c := range head.Columns {
		var v int64
		for range head.Rows {
			d, n := binary.Varint(plain)
			plain, v = plain[n:], v+d
			o.values[c] = append(o.values[c], v)
		}
	}
	if len(plain) > 0 {
		t.Errorf("%d bytes follow the last column", len(plain))
	}
	return o
}

func eachOf(all []run.Interval) func(func(run.Interval) error) error {
	return func(yield func(run.Interval) error) error {
		for _, i := range all {
			if err := yield(i); err != nil {
				return err
			}
		}
		return nil
	}
}

func page(t *testing.T, r *run.Result, all []run.Interval) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, eachOf(all)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTMLCarriesTheRun(t *testing.T) {
	r := full()
	r.Config.Target = "</script><!--run--><script>alert(1)</script>\u2028&"
	all := []run.Interval{
		{From: 0, Seconds: 0.5, Warmup: true, Errors: 2, Metrics: map[string]run.Record{"a.ok": {Count: p(int64(7))}, "a.open": {Value: p(int64(-3))}}},
		{From: 0.5, Seconds: 1, Health: map[string]run.Severity{"cpu": run.Amber, "rate": run.Red}, Metrics: map[string]run.Record{"a.ok": {Count: p(int64(9))}, "a.open": {Value: p(int64(5))}, "gobench.cpu": {Count: p(int64(1)), Sizes: &run.Sizes{Max: 905}},
			"a.latency": {Count: p(int64(4)), Times: &run.Times{P50: 0, P90: 0.0012345, P95: 9.996, P99: 1234.5, Max: 1e-6}}}},
	}
	b := page(t, r, all)
	if n := bytes.Count(bytes.ToLower(b), []byte("</script")); n != 4 {
		t.Errorf("%d elements end as scripts do, want those of the result, the first lines, the series and the page's own script", n)
	}
	o := open(t, b)
	if done, failed := headlines(r); o.first != (firstLines{Done: done, Failed: failed, Times: mainTimes(r), Bad: isBad(r)}) || done == "" {
		t.Errorf("the first lines are %+v", o.first)
	}
	if o.result.Config.Target != r.Config.Target || !reflect.DeepEqual(o.result.Errors, r.Errors) {
		t.Errorf("the result reads back as %+v", o.result)
	}
	want := map[columnName][]int64{
		{"", "from"}: {0, 500_000}, {"", "seconds"}: {500_000, 1_000_000}, {"", "warmup"}: {1, 0}, {"", "errors"}: {2, 0},
		{"a.ok", "count"}: {7, 9}, {"a.open", "value"}: {-3, 5}, {"gobench.cpu", "max"}: {0, compact(905)}, {"cpu", "health"}: {0, 1}, {"rate", "health"}: {0, 2},
		{"a.latency", "count"}: {0, 4}, {"a.latency", "p50"}: {0, 1}, {"a.latency", "p90"}: {0, compact(0.00123)}, {"a.latency", "p95"}: {0, compact(10)}, {"a.latency", "p99"}: {0, compact(1230)}, {"a.latency", "max"}: {0, compact(1e-6)},
	}
	if o.every != 1 || o.rows != 2 || !reflect.DeepEqual(o.values, want) {
		t.Errorf("series = %d rows of %d: %v\nwant %v", o.rows, o.every, o.values, want)
	}
	if again := page(t, r, all); !bytes.Equal(again, b) {
		t.Error("the same run gives two pages")
	}
}

func TestHTMLOfNothing(t *testing.T) {
	if o := open(t, page(t, &run.Result{State: run.Starting}, nil)); o.rows != 0 || len(o.values) != 0 {
		t.Errorf("%d rows, %v", o.rows, o.values)
	}
}

func TestHTMLErrors(t *testing.T) {
	fails := errors.New("disk full")
	if err := HTML(io.Discard, full(), func(func(run.Interval) error) error { return fails }); !errors.Is(err, fails) {
		t.Errorf("error %v, want %v", err, fails)
	}
	if err := HTML(noRoom{fails}, full(), eachOf(nil)); !errors.Is(err, fails) {
		t.Errorf("error %v, want %v", err, fails)
	}
}

type noRoom struct{ err error }

func (f noRoom) Write([]byte) (int, error) { return 0, f.err }

// A figure keeps three digits, and greater figures have greater numbers.
func TestFigure(t *testing.T) {
	value := func(n int64) float64 { // as in ui/src/series.ts
		return float64((n-2)%900+100) * math.Pow(10, float64((n-2)/900-12-2))
	}
	last := int64(0)
	for _, v := range []float64{1e-12, 1e-6, 0.000123, 0.00999, 0.009996, 0.5, 1, 1.234, 9.99, 9.995001, 10, 99.9, 100, 1000, 123456, 9.2e18} {
		n := compact(v)
		if n <= last {
			t.Errorf("compact(%v) = %d, after %d", v, n, last)
		}
		if got := value(n); math.Abs(got-v) > v*0.00501 {
			t.Errorf("compact(%v) = %d, which is %v", v, n, got)
		}
		last = n - 1
	}
	if compact(0) != 1 || compact(1e-13) != 1 {
		t.Error("0 is 1")
	}
}

// Rows that are merged add their counts and take the greatest of all else, and never extend
// over the end of a warm-up.
func TestSeriesThin(t *testing.T) {
	s := newSeries(nil)
	for n := range 7 {
		s.add(run.Interval{From: float64(n), Seconds: 1, Warmup: n < 3, Errors: 1, Metrics: map[string]run.Record{
			"a.ok": {Count: p(int64(n))}, "a.open": {Value: p(int64(10 - n))}, "a.latency": {Count: p(int64(1)), Times: &run.Times{P50: run.Quantile(n + 1), Max: 1}}}})
	}
	s.thin()
	want := map[columnName][]int64{
		{"", "from"}: {0, 2e6, 3e6, 5e6}, {"", "seconds"}: {2e6, 1e6, 2e6, 2e6}, {"", "warmup"}: {1, 1, 0, 0}, {"", "errors"}: {2, 1, 2, 2},
		{"a.ok", "count"}: {1, 2, 7, 11}, {"a.open", "value"}: {10, 8, 7, 5}, {"a.latency", "p50"}: {compact(2), compact(3), compact(5), compact(7)},
	}
	for name, values := range want {
		if got := s.byName[name].values; !slices.Equal(got, values) {
			t.Errorf("%v = %v, want %v", name, got, values)
		}
	}
	if !slices.Equal(s.taken, []int{2, 1, 2, 2}) || s.every != 2 {
		t.Errorf("rows take %v intervals, at most %d", s.taken, s.every)
	}
	for n := range 3 { // the rows that follow are merged as well
		s.add(run.Interval{From: float64(7 + n), Seconds: 1, Metrics: map[string]run.Record{"a.ok": {Count: p(int64(100))}}})
	}
	if got := s.byName[columnName{"a.ok", "count"}].values; !slices.Equal(got, []int64{1, 2, 7, 11, 200, 100}) {
		t.Errorf("a.ok = %v", got)
	}
}

// However long a run and however many its metrics, its page stays small, and the sums of
// counts do not change.
func TestPagesStaySmall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []run.Interval
	var sum int64
	seconds, every := 5000, 2
	if long.Run {
		seconds, every = 20_000, 8
	}
	for n := range seconds {
		i := run.Interval{From: float64(n), Seconds: 1, Metrics: map[string]run.Record{}}
		for m := range 20 {
			count := random.Int64N(1e6)
			if m == 0 {
				sum += count
			}
			v := func() run.Quantile { return run.Quantile(math.Exp(10 * random.NormFloat64())) }
			i.Metrics[fmt.Sprint(m)] = run.Record{Count: &count, Sizes: &run.Sizes{P50: v(), P90: v(), P95: v(), P99: v(), Max: float64(v())}}
		}
		all = append(all, i)
	}
	b := page(t, full(), all)
	o := open(t, b)
	if len(b) > maxPage+1000 || o.rows < 500 {
		t.Errorf("the page has %d bytes and %d rows", len(b), o.rows)
	}
	var got int64
	for _, v := range o.values[columnName{"0", "count"}] {
		got += v
	}
	if got != sum || o.every < every {
		t.Errorf("counts add up to %d, want %d; a row takes %d", got, sum, o.every)
	}
}
