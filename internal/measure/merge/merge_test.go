package merge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// recorder counts as an executor does, into batches.
type recorder struct {
	seq, from int64
	counter   int64 // sum
	count     uint64
	pending   *hdr.Histogram
	add       int64
}

var declared = roles.Declare([]*wire.Metric{
	{Title: "home.ok", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N"},
	{Title: "home.latency", Type: "histogram", Group: "HTTP (home)", Graph: "Latency", Unit: "ns"},
	{Title: "home.open", Type: "gauge", Group: "HTTP (home)", Graph: "Connections", Unit: "N"},
	{Title: "home.size", Type: "histogram", Group: "HTTP (home)", Graph: "Size", Unit: "B"},
}...)

func newRecorder() *recorder { return &recorder{pending: new(hdr.Histogram)} }

func (r *recorder) record(v int64) {
	r.add++
	r.counter++
	r.count++
	r.pending.Record(v)
}

func (r *recorder) batch(to time.Duration, final bool) *wire.Batch {
	r.seq++
	b := &wire.Batch{Seq: uint64(r.seq), FromNs: r.from, ToNs: int64(to), Gauges: []*wire.Gauge{{Metric: 2, Value: 5}}}
	if r.seq == 1 {
		b.Declared, b.GoUnixNs = declared, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC).UnixNano()
	}
	if r.add > 0 {
		b.Counters = []*wire.Counter{{Metric: 0, Add: r.add}}
		b.Histograms = []*wire.Histogram{{Metric: 1, Counts: r.pending.Append(nil)}}
	}
	if final {
		b.Final = &wire.Final{Counters: []*wire.Counter{{Metric: 0, Add: r.counter}}, Histograms: []*wire.Counted{{Metric: 1, Count: r.count}}}
	}
	r.from, r.add = int64(to), 0
	r.pending.Reset()
	return b
}

// I4 for the whole merge: any split over executors and seconds has the record of a single
// executor.
func TestAnySplitOverExecutorsGivesTheSameRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one, whole := New(1, time.Second), newRecorder()
	const executors, seconds = 7, 5
	many := New(executors, time.Second)
	parts := make([]*recorder, executors)
	for i := range parts {
		parts[i] = newRecorder()
	}
	for s := range seconds {
		for range 2000 {
			v := int64(1e6 * math.Exp(r.NormFloat64()))
			whole.record(v)
			parts[r.IntN(executors)].record(v)
		}
		end := time.Duration(s+1) * time.Second
		must(t, one.Add(0, whole.batch(end, s == seconds-1)))
		for i := range parts {
			must(t, many.Add(i, parts[i].batch(end, s == seconds-1)))
		}
	}
	a, b := one.Metrics(), many.Metrics()
	if *a[0].Count != 10_000 || *b[0].Count != 10_000 || *a[1].Times != *b[1].Times || *a[1].Count != *b[1].Count {
		t.Errorf("one: %v %+v\nmany: %v %+v", *a[0].Count, a[1].Times, *b[0].Count, b[1].Times)
	}
	if *b[2].Value != 5*executors {
		t.Errorf("gauge = %d, want the sum over executors", *b[2].Value)
	}
	x, y := one.Intervals(false), many.Intervals(false)
	if len(x) != seconds || len(y) != seconds {
		t.Fatalf("%d and %d intervals, want %d", len(x), len(y), seconds)
	}
	for i := range x {
		if *x[i].Metrics["home.latency"].Times != *y[i].Metrics["home.latency"].Times || *y[i].Metrics["home.ok"].Count != 2000 {
			t.Errorf("interval %d differs", i)
		}
	}
	if m := many.Missing(); m != nil {
		t.Errorf("missing: %v", m)
	}
}

func TestIntervalsWaitForAllExecutors(t *testing.T) {
	m := New(2, time.Second)
	a, b := newRecorder(), newRecorder()
	a.record(10)
	must(t, m.Add(0, a.batch(time.Second, false)))
	must(t, m.Add(0, a.batch(2*time.Second, false)))
	if got := m.Intervals(false); len(got) != 0 {
		t.Errorf("%d intervals before executor 1 has said anything", len(got))
	}
	b.record(20)
	must(t, m.Add(1, b.batch(time.Second, false)))
	got := m.Intervals(false)
	if len(got) != 1 || *got[0].Metrics["home.ok"].Count != 2 || got[0].Seconds != 1 {
		t.Fatalf("intervals = %+v", got)
	}
	if want := "2026-01-02T03:04:05.000000006Z"; got[0].Start.UTC().Format(time.RFC3339Nano) != want {
		t.Errorf("start = %v, want %s", got[0].Start, want)
	}
	b.record(30)
	must(t, m.Add(1, b.batch(1500*time.Millisecond, true))) // ends within the second
	got = m.Intervals(false)
	if len(got) != 1 || got[0].From != 1 || *got[0].Metrics["home.ok"].Count != 1 {
		t.Errorf("intervals = %+v", got)
	}
}

// The intervals of OnInterval add up to the totals: what belongs to a warm-up is left out.
func TestOnIntervalGivesWhatAddsUp(t *testing.T) {
	m := New(2, time.Second)
	var got []Counts
	m.OnInterval(func(c Counts) { got = append(got, c) })
	a, b := newRecorder(), newRecorder()
	for n := range 3 {
		for range 10 * (n + 1) {
			a.record(10)
			b.record(20)
		}
		end := time.Duration(n+1) * time.Second
		for i, r := range []*recorder{a, b} {
			batch := r.batch(end, n == 2)
			batch.Warmup = n == 0
			must(t, m.Add(i, batch))
		}
		m.Intervals(false)
	}
	if len(got) != 3 {
		t.Fatalf("%d intervals, want 3", len(got))
	}
	sum := new(hdr.Histogram)
	for n, c := range got {
		if c.Warmup != (n == 0) || c.From != time.Duration(n)*time.Second || c.To-c.From != time.Second || len(c.Metrics) != 4 || c.Gauges["home.open"] != 10 {
			t.Errorf("interval %d: %+v", n, c)
		}
		if !c.Warmup {
			sum.Merge(c.Histograms["home.latency"])
		}
		want := int64(20 * (n + 1))
		if c.Warmup {
			want = 0
		}
		if c.Counters["home.ok"] != want {
			t.Errorf("interval %d counted %d, want %d", n, c.Counters["home.ok"], want)
		}
	}
	if want := m.metrics[1].hist; !sum.Equal(want) || sum.Count() != 100 {
		t.Errorf("the intervals' histograms hold %d, the total %d", sum.Count(), want.Count())
	}
}

// I2, I3: a redelivered batch counts once, a gap is refused, and sums that do not match the
// last batch are named.
func TestEveryBatchCountsOnce(t *testing.T) {
	m, r := New(1, time.Second), newRecorder()
	r.record(10)
	first := r.batch(time.Second, false)
	r.record(10)
	second := r.batch(2*time.Second, false)
	r.record(10)
	last := r.batch(2500*time.Millisecond, true)
	must(t, m.Add(0, first))
	if err := m.Add(0, last); err == nil || !strings.Contains(err.Error(), "batch 3 follows batch 1") {
		t.Errorf("a gap: %v", err)
	}
	for _, b := range []*wire.Batch{first, second, first, second, last, last, first} {
		must(t, m.Add(0, b))
	}
	if got := *m.Metrics()[0].Count; got != 3 || m.Missing() != nil || m.End() != 2500*time.Millisecond {
		t.Errorf("counted %d, missing %v, end %v", got, m.Missing(), m.End())
	}
}

func TestMissingIsNamed(t *testing.T) {
	m, r := New(2, time.Second), newRecorder()
	r.record(10)
	must(t, m.Add(0, r.batch(time.Second, false)))
	r.record(10)
	b := r.batch(2*time.Second, true)
	b.Final.Counters[0].Add++
	b.Final.Histograms[0].Count += 2
	must(t, m.Add(0, b))
	got := strings.Join(m.Missing(), "\n")
	for _, want := range []string{`executor 0: counter "home.ok" adds up to 2, and it counted 3`, `histogram "home.latency" adds up to 2 recordings, and it made 4`, "executor 1: its last batch has not come"} {
		if !strings.Contains(got, want) {
			t.Errorf("missing does not say %q:\n%s", want, got)
		}
	}
}

func TestAddRefusesWhatNoExecutorCounts(t *testing.T) {
	good := func() *wire.Batch { r := newRecorder(); r.record(10); return r.batch(time.Second, false) }
	for name, spoil := range map[string]func(*wire.Batch){
		"a counter that falls":    func(b *wire.Batch) { b.Counters[0].Add = -1 },
		"unknown metric":          func(b *wire.Batch) { b.Counters[0].Metric = 99 },
		"a histogram as counter":  func(b *wire.Batch) { b.Counters[0].Metric = 1 },
		"a counter as gauge":      func(b *wire.Batch) { b.Gauges[0].Metric = 0 },
		"a counter as histogram":  func(b *wire.Batch) { b.Histograms[0].Metric = 0 },
		"damaged histogram":       func(b *wire.Batch) { b.Histograms[0].Counts[0] = 9 },
		"no sequence number":      func(b *wire.Batch) { b.Seq = 0 },
		"ends before it begins":   func(b *wire.Batch) { b.ToNs = b.FromNs },
		"a hole before it":        func(b *wire.Batch) { b.FromNs = 5 },
		"unknown type":            func(b *wire.Batch) { b.Declared = []*wire.Metric{{Title: "x", Type: "sum"}} },
		"declared from elsewhere": func(b *wire.Batch) { b.First = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			m := New(1, time.Second)
			b := good()
			spoil(b)
			if err := m.Add(0, b); err == nil {
				t.Fatal("accepted")
			}
			for _, x := range m.Metrics() {
				if x.Count != nil && *x.Count != 0 {
					t.Errorf("%s = %d after the refusal", x.Title, *x.Count)
				}
			}
		})
	}
	m := New(2, time.Second)
	must(t, m.Add(0, good()))
	other := good()
	other.Declared = []*wire.Metric{{Title: "home.ok", Type: "gauge", Unit: "N"}}
	other.Counters, other.Gauges, other.Histograms = nil, nil, nil
	if err := m.Add(1, other); err == nil || !strings.Contains(err.Error(), "home.ok") {
		t.Errorf("a title with two types: %v", err)
	}
	if m.Add(2, good()) == nil {
		t.Error("an executor that is not of the run was accepted")
	}
}

func TestRecords(t *testing.T) {
	m := New(1, time.Second)
	h := new(hdr.Histogram)
	h.Record(1500)
	h.Record(2_500_000)
	must(t, m.Add(0, &wire.Batch{Seq: 1, ToNs: int64(2 * time.Second), Histograms: []*wire.Histogram{{Metric: 1, Counts: h.Append(nil)}, {Metric: 3, Counts: h.Append(nil)}},
		Declared: append(slices.Clip(declared), roles.Declare(&wire.Metric{Title: "home.fail", Type: "counter"})...), Counters: []*wire.Counter{{Metric: 4, Add: 4}},
		Failures: []*wire.Failure{{Source: "home", Class: "timeout", Text: "late", Count: 4}}}))
	ms := m.Metrics()
	if x := ms[1].Times; x.Min != 0.0015 || x.Max != 2.5 || *ms[1].RPS != 1 {
		t.Errorf("times in ms: %+v, %v/s", x, *ms[1].RPS)
	}
	if x := ms[3].Sizes; x.Min != 1500 || x.Max != 2_500_000 || ms[3].Times != nil {
		t.Errorf("sizes: %+v", x)
	}
	if f := m.Failures(); len(f) != 1 || f[0] != (run.Failure{Source: "home", Class: "timeout", Text: "late", Count: 4}) {
		t.Errorf("failures = %v", f)
	}
	if i := m.Intervals(true); len(i) != 1 || i[0].Errors != 4 {
		t.Errorf("intervals = %v", i)
	}
}

// A histogram's counts are returned with its record, those of warm-ups left out.
func TestMetricsCarryTheirHistograms(t *testing.T) {
	m, r := New(1, time.Second), newRecorder()
	r.record(5)
	warmup := r.batch(time.Second, false)
	warmup.Warmup = true
	must(t, m.Add(0, warmup))
	r.record(10)
	r.record(1000)
	must(t, m.Add(0, r.batch(2*time.Second, true)))
	var want, got hdr.Histogram
	want.Record(10)
	want.Record(1000)
	all := m.Metrics()
	if err := got.Decode(all[1].Histogram); err != nil || !got.Equal(&want) {
		t.Errorf("%d recordings from %d to %d, error %v", got.Count(), got.Min(), got.Max(), err)
	}
	if all[3].Histogram != nil { // recorded nothing
		t.Errorf("home.size has %v", all[3].Histogram)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAdd(b *testing.B) {
	h := new(hdr.Histogram)
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		h.Record(int64(1e6 * math.Exp(r.NormFloat64())))
	}
	batch := &wire.Batch{Declared: declared, Counters: []*wire.Counter{{Metric: 0, Add: 10_000}}, Histograms: []*wire.Histogram{{Metric: 1, Counts: h.Append(nil)}}}
	m := New(1, time.Second)
	for n := 0; b.Loop(); n++ {
		batch.Seq, batch.FromNs, batch.ToNs = uint64(n+1), int64(n)*1e9, int64(n+1)*1e9
		if n == 1 {
			batch.Declared = nil
		}
		if err := m.Add(0, batch); err != nil {
			b.Fatal(err)
		}
		m.Intervals(false)
	}
}

// The spread of a counter's rate, from whole intervals: the last, short one is left out.
func TestSpread(t *testing.T) {
	m, r := New(1, time.Second), newRecorder()
	for s, n := range []int{100, 100, 100, 100, 200} {
		for range n {
			r.record(10)
		}
		must(t, m.Add(0, r.batch(time.Duration(s+1)*time.Second, false)))
	}
	r.record(10)
	must(t, m.Add(0, r.batch(5500*time.Millisecond, true)))
	m.Intervals(true)
	x := m.Metrics()[0].Spread
	if x == nil || math.Abs(x.Stdev-40) > 0.5 || math.Abs(x.Max-200) > 1 || x.Within != 0.8 {
		t.Errorf("spread %+v, want stdev 40, max 200, four of five within", x)
	}
	if within := m.Metrics()[1].Within; within == nil || *within != 1 {
		t.Errorf("equal values spread: %v", within)
	}
}

// The drain is in no spread: what ended then is in no rate either.
func TestSpreadWithoutDrain(t *testing.T) {
	m := New(1, time.Second)
	titles := []string{"home.begun", "home.http_ok"}
	for s, n := range [][2]int64{{100, 100}, {200, 190}, {20, 20}, {5, 15}, {0, 0}} { // iterations in flight begin operations in the drain
		b := &wire.Batch{Seq: uint64(s + 1), Drain: s > 1, FromNs: int64(s) * 1e9, ToNs: int64(s+1) * 1e9, Counters: []*wire.Counter{{Metric: 0, Add: n[0]}, {Metric: 1, Add: n[1]}}}
		if s == 0 {
			for _, title := range titles {
				b.Declared = append(b.Declared, roles.Declare(&wire.Metric{Title: title, Type: "counter", Unit: "N"})...)
			}
		}
		if s == 4 {
			b.Final = &wire.Final{LoadNs: 5e9, Counters: []*wire.Counter{{Metric: 0, Add: 325}, {Metric: 1, Add: 325}},
				Ended: &wire.Ended{MeasuredNs: 2e9, Counters: []*wire.Counter{{Metric: 0, Add: 300}, {Metric: 1, Add: 290}}}}
		}
		must(t, m.Add(0, b))
		m.Intervals(false)
	}
	for i, want := range []float64{50, 45} { // of 100 and 200, of 100 and 190
		if x := m.Metrics()[i]; x.Spread == nil || math.Abs(x.Spread.Stdev-want) > 0.5 {
			t.Errorf("%s: spread %+v, want stdev %v", titles[i], x.Spread, want)
		}
	}
}

// The first failed exchanges of a source and class over all executors are stored, in the
// order in which they began.
func TestSamplesOfAllExecutors(t *testing.T) {
	m := New(2, time.Second)
	sample := func(class string, at int64) *wire.Sample {
		return &wire.Sample{Source: "home", Class: class, AtNs: at * 1e6, Text: fmt.Sprintf("%s at %d", class, at)}
	}
	for i, batch := range []*wire.Batch{
		{Samples: []*wire.Sample{sample("timeout", 30), sample("timeout", 10), sample("timeout", 50), sample("reset", 5)}},
		{Samples: []*wire.Sample{sample("timeout", 20), sample("timeout", 40), {Source: "home", Class: "bad", AtNs: -1, Text: "\xff"}}},
	} {
		batch.Seq, batch.ToNs, batch.Warmup = 1, 1e9, i == 1
		if err := m.Add(i, batch); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range m.Samples() {
		got = append(got, fmt.Sprintf("%s %.3f", s.Text, s.At))
	}
	if want := []string{"\uFFFD 0.000", "reset at 5 0.005", "timeout at 10 0.010", "timeout at 20 0.020", "timeout at 30 0.030"}; !slices.Equal(got, want) {
		t.Errorf("samples %q, want %q", got, want)
	}
}

// Operations without an answer rank after all answers: with 24 of 2,447, the p99 is the answer
// of rank ceil(0.99 x 2447), not that of the answered alone.
func TestPercentilesAmongAll(t *testing.T) {
	m := New(1, time.Second)
	const answered, lost = 2423, 24
	var h hdr.Histogram
	for i := range answered {
		h.Record(int64(i+1) * 1e6)
	}
	b := &wire.Batch{Seq: 1, ToNs: 1e9, GoUnixNs: 1, Histograms: []*wire.Histogram{{Metric: 0, Counts: h.Append(nil)}}, Counters: []*wire.Counter{{Metric: 1, Add: lost}},
		Declared: roles.Declare(&wire.Metric{Title: "home.latency", Type: "histogram", Unit: "ns"}, &wire.Metric{Title: "home.http_other_fail", Type: "counter", Unit: "N"}), Final: &wire.Final{}}
	if err := m.Add(0, b); err != nil {
		t.Fatal(err)
	}
	want := math.Ceil(0.99 * (answered + lost))
	for name, r := range map[string]run.Record{"total": m.Metrics()[0].Record, "interval": m.Intervals(true)[0].Metrics["home.latency"]} {
		if got := r.Times.P99; math.Abs(float64(got)/want-1) > 0.005 || *r.Lost != lost {
			t.Errorf("%s: p99 is %v ms with %d lost, want %v ms", name, got, *r.Lost, want)
		}
	}
}

// A percentile whose rank is that of an operation without an answer has no value, but is at
// least that operation's age; without the ages of all, nothing is known of it.
func TestPercentilesWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		answered, lost, known int
		want                  map[string]float64 // ms
	}{
		{"all answered", 100, 0, 0, nil},
		{"too few to matter", 9999, 1, 1, nil},
		{"the slowest of a hundred", 98, 2, 2, map[string]float64{"p99": 1001, "p99.9": 1002}},
		{"half of them", 50, 50, 50, map[string]float64{"p90": 1040, "p95": 1045, "p99": 1049, "p99.9": 1050}},
		{"all of them", 0, 10, 10, map[string]float64{"p50": 1005, "p90": 1009, "p95": 1010, "p99": 1010, "p99.9": 1010}},
		{"with an unknown age", 98, 2, 1, nil},
	} {
		m := New(1, time.Second)
		var answers, ages hdr.Histogram
		for i := range tt.answered {
			answers.Record(int64(i+1) * 1e6)
		}
		for i := range tt.known {
			ages.Record(int64(1001+i) * 1e6)
		}
		b := &wire.Batch{Seq: 1, ToNs: 1e9, GoUnixNs: 1, Counters: []*wire.Counter{{Metric: 2, Add: int64(tt.lost)}},
			Histograms: []*wire.Histogram{{Metric: 0, Counts: answers.Append(nil)}, {Metric: 1, Counts: ages.Append(nil)}},
			Declared: roles.Declare(&wire.Metric{Title: "home.latency", Type: "histogram", Unit: "ns"}, &wire.Metric{Title: "home.age", Type: "histogram", Unit: "ns"},
				&wire.Metric{Title: "home.http_other_fail", Type: "counter", Unit: "N"}), Final: &wire.Final{}}
		if err := m.Add(0, b); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]run.Record{"total": m.Metrics()[0].Record, "interval": m.Intervals(true)[0].Metrics["home.latency"]} {
			if len(r.AtLeast) != len(tt.want) {
				t.Errorf("%s, %s: at least %v, want %v", tt.name, name, r.AtLeast, tt.want)
			}
			for q, want := range tt.want {
				if got := r.AtLeast[q]; math.Abs(got/want-1) > 0.005 {
					t.Errorf("%s, %s: %s is at least %v ms, want %v", tt.name, name, q, got, want)
				}
			}
			values, _ := r.Quantiles()
			for i, q := range run.QuantileNames {
				if lost := !run.Answered(q.Q, int64(tt.answered), int64(tt.lost)); tt.answered > 0 && values[i].Known() == lost {
					t.Errorf("%s, %s: %s is %v", tt.name, name, q.Name, values[i])
				}
			}
		}
	}
}
