package threshold

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

var declared = roles.Set([]run.Metric{
	{Title: "home.http_ok", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N"},
	{Title: "home.http_fail", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N"},
	{Title: "home.http_other_fail", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N"},
	{Title: "home.latency", Type: "histogram", Group: "HTTP (home)", Graph: "Latency", Unit: "ns"},
	{Title: "home.bytes_in", Type: "counter", Group: "HTTP (home)", Graph: "Traffic", Unit: "B"},
	{Title: "vu.a.active", Type: "gauge", Group: "Users (a)", Graph: "Active users", Unit: "N"},
	{Title: "vu.a.iterations", Type: "counter", Group: "Users (a)", Graph: "Iterations", Unit: "N"},
	{Title: "vu.a.errors", Type: "counter", Group: "Users (a)", Graph: "Iterations", Unit: "N"},
	{Title: "check.has a body.passed", Type: "counter", Group: "Checks", Graph: "has a body", Unit: "N"},
	{Title: "check.has a body.failed", Type: "counter", Group: "Checks", Graph: "has a body", Unit: "N"},
	{Title: "step.log in.time", Type: "histogram", Group: "Steps", Graph: "step.log in time", Unit: "ns"},
	{Title: "step.log in.failed", Type: "counter", Group: "Steps", Graph: "step.log in", Unit: "N"},
	{Title: "things.size", Type: "histogram", Group: "Things", Graph: "Size", Unit: "B"},
}...)

// second is what one second recorded.
type second struct {
	ok, fail, lost int64
	ms             []int64 // latencies
	passed, failed int64
	active         int64
	warmup         bool // what belongs to it is not in the interval
	early          bool // in the warm-up's time, but of the measured phase
	over           bool // the load had ended before it
	bare           bool // nothing is declared yet
}

func (s second) interval(from time.Duration) Interval {
	i := Interval{From: from, To: from + time.Second, Warmup: s.warmup, Metrics: declared,
		Counters: map[string]int64{"home.http_ok": s.ok, "home.http_fail": s.fail, "home.http_other_fail": s.lost, "home.bytes_in": 1 << 20,
			"vu.a.iterations": s.ok + s.fail, "vu.a.errors": s.fail, "check.has a body.passed": s.passed, "check.has a body.failed": s.failed, "step.log in.failed": s.fail},
		Gauges: map[string]int64{"vu.a.active": s.active}, Histograms: map[string]*hdr.Histogram{"things.size": new(hdr.Histogram)}}
	i.Histograms["things.size"].Record(2048)
	if len(s.ms) > 0 {
		h := new(hdr.Histogram)
		for _, v := range s.ms {
			h.Record(v * 1e6)
		}
		i.Histograms["home.latency"] = h
		if s.fail == 0 {
			i.Histograms["step.log in.time"] = h
		}
	}
	if s.warmup && !s.early {
		i.Counters, i.Histograms = nil, nil
	}
	if s.bare {
		i = Interval{From: from, To: from + time.Second}
	}
	return i
}

// times returns n values, the last of which is last.
func times(n int, each, last int64) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = each
	}
	v[n-1] = last
	return v
}

// repeat returns n seconds of s, then more.
func repeat(n int, s second, more ...second) (all []second) {
	for range n {
		all = append(all, s)
	}
	return append(all, more...)
}

func TestEvaluate(t *testing.T) {
	good := second{ok: 100, ms: times(100, 10, 20), passed: 100, active: 5}
	slow := second{ok: 100, ms: times(100, 500, 500), passed: 100, active: 50}
	bad := second{fail: 100, ms: times(100, 10, 20), failed: 100}
	warm := func(s second) second { s.warmup = true; return s }
	over := func(s second) second { s.over = true; return s }
	lost := second{ok: 98, lost: 2, ms: times(98, 10, 10)}
	const end, never = -1, 0 // at
	for _, tt := range []struct {
		name       string
		expression string
		seconds    []second
		at         float64 // second in which it is crossed; never or end
		value      string
		reason     string
	}{
		// The whole run, judged at its end.
		{"well", "home.latency p99 < 200ms", repeat(5, good), never, "10ms", ""},
		{"crossed at the end", "home.latency p90 < 200ms", repeat(5, good, slow, slow), end, "", ""},
		{"a few slow seconds are a share", "home.latency p50 < 200ms", repeat(5, good, slow, slow), never, "", ""},
		{"max", "home.latency max <= 20ms", repeat(5, good), never, "20ms", ""},
		{"max crossed", "home.latency max < 20ms", repeat(5, good), end, "20ms", ""},
		{"avg", "home.latency avg < 10.2ms", repeat(5, good), never, "10.1ms", ""},
		{"min", "home.latency min == 10ms", repeat(5, good), never, "10ms", ""},
		{"stdev", "home.latency stdev < 1ms", repeat(5, good), never, "us", ""},
		{"count of a histogram", "home.latency count >= 500", repeat(5, good), never, "500", ""},
		{"rps", "home.http_ok rps >= 100", repeat(5, good), never, "100", ""},
		{"rps crossed", "home.http_ok rps >= 100.5", repeat(5, good), end, "100", ""},
		{"bytes a second", "home.bytes_in rps >= 1MiB", repeat(5, good), never, "1MiB", ""},
		{"bytes", "things.size max < 2KiB", repeat(5, good), end, "2KiB", ""},
		{"gauge at the end", "vu.a.active value <= 5", repeat(2, slow, good), never, "5", ""},

		// Rates.
		{"rate", "home.http_fail rate < 1%", repeat(99, good, bad), end, "1%", ""},
		{"rate just below", "home.http_fail rate <= 1%", repeat(99, good, bad), never, "1%", ""},
		{"7 of 100", "home.http_fail rate == 7%", repeat(93, good, repeat(7, bad)...), never, "7%", ""},
		{"no answer is a failure", "home.http_fail rate < 1%", repeat(5, lost), end, "2%", ""},
		{"of its own kind", "home.http_other_fail rate <= 2%", repeat(5, lost), never, "2%", ""},
		{"ok of all", "home.http_ok rate > 99%", repeat(5, lost), end, "98%", ""},
		{"a check", `check "has a body" rate > 99%`, repeat(99, good, bad), end, "99%", ""},
		{"a check that is well", `check "has a body" rate >= 99%`, repeat(99, good, bad), never, "99%", ""},
		{"a step's failures are of all its ends", `"step.log in.failed" rate <= 25%`, repeat(3, good, bad), never, "25%", ""},
		{"every step fails", `"step.log in.failed" rate < 100%`, repeat(3, bad), end, "100%", ""},
		{"users' errors are of their iterations", "vu.a.errors rate == 50%", repeat(5, good, repeat(5, bad)...), never, "50%", ""},

		// Percentiles and operations without an answer.
		{"the percentile is among those without an answer", "home.latency p99 < 1m", repeat(5, lost), end, "no answer", ""},
		{"and this one is not", "home.latency p98 < 11ms", repeat(5, lost), never, "10", ""},
		{"no answer is counted as a failure", "home.http_fail count == 0", repeat(5, lost), end, "10", ""},
		{"and ends the run", "home.http_fail count == 0 abort", repeat(5, lost), 1, "2", ""},
		{"alone it is another figure", "home.http_other_fail count == 10", repeat(5, lost), never, "10", ""},
		{"failures a second", "home.http_fail rps < 1 over 1s", repeat(5, lost), 1, "2", ""},
		{"a step that failed", `"step.log in.time" p50 < 1m`, repeat(1, good, bad, bad), end, "no answer", ""},
		{"a step that mostly did not", `"step.log in.time" p50 < 21ms`, repeat(5, good, bad), never, "", ""},
		{"nothing is answered", "home.latency p50 < 1m", repeat(5, second{lost: 10}), end, "no answer", ""},

		// Windows: each full one must meet the condition.
		{"window", "home.latency p99 < 200ms over 2s", repeat(5, good, slow, good), 6, "500", ""},
		{"window not yet full", "home.latency p99 < 200ms over 3s", repeat(1, slow, good, slow, good), 3, "500", ""},
		{"a window's percentile, not the mean of percentiles", "home.latency p50 < 200ms over 3s", repeat(4, good, slow, good, good, slow, good), never, "10ms", ""},
		{"two of three", "home.latency p50 < 200ms over 3s", repeat(4, good, slow, slow, good), 6, "50", ""},
		{"windows that slide a long way", "home.http_ok count >= 500 over 5s", repeat(50, good, bad), 51, "400", ""},
		{"gauge", "vu.a.active value <= 5 over 1s", repeat(2, good, slow, good), 3, "50", ""},
		{"the worst window is told", "home.latency max < 1s over 1s", repeat(2, good, slow, good), never, "500ms", ""},
		{"a window without recordings says nothing", "home.latency p99 < 200ms over 1s", repeat(2, good, second{}, good), never, "10ms", ""},
		{"but counts as a rate", "home.http_ok rps > 50 over 1s", repeat(2, good, second{}, good), 3, "0", ""},
		{"the drain is no load", "home.http_ok rps > 50 over 1s", repeat(2, good, over(second{}), over(second{})), never, "100", ""},
		{"the drain's latencies count", "home.latency max < 200ms over 1s", repeat(2, good, over(slow)), 3, "500ms", ""},
		{"a window of few values says nothing", "home.latency p99 < 200ms over 1s", []second{{ms: []int64{1, 500}}, {ms: slices.Repeat([]int64{5}, 200)}, {ms: []int64{1, 500}}}, never, "5ms", ""},
		{"shorter than its window", "home.latency max < 200ms over 1m", repeat(2, good, slow), end, "500ms", "no window of 1m"},
		{"shorter and well", "home.latency max < 1s over 1m", repeat(2, good, slow), never, "500ms", "no window of 1m"},

		// Abort: judged during the run.
		{"abort after three intervals", "home.latency max < 200ms abort", repeat(1, slow, good, good, good), 3, "500ms", ""},
		{"abort later", "home.http_fail rate < 10% abort", repeat(5, good, bad, good), 6, "16.7%", ""},
		{"a count that is too great is", "home.http_fail count == 0 abort", repeat(1, bad, good), 1, "100", ""},
		{"a count may still grow", "home.http_ok count >= 500 abort", repeat(5, good), never, "500", ""},
		{"or not", "home.http_ok count >= 501 abort", repeat(5, good), end, "500", ""},
		{"without abort it waits for the end", "home.http_fail count == 0", repeat(1, bad, good), end, "100", ""},
		{"abort with a window", "home.http_fail count < 100 over 1s abort", repeat(2, good, bad, good), 3, "100", ""},

		// Warm-up.
		{"not of the totals", "home.latency max < 200ms", repeat(3, warm(slow), good, good), never, "20ms", ""},
		{"nor of windows", "home.latency max < 200ms over 1s", repeat(3, warm(slow), good, good), never, "20ms", ""},
		{"nor of the patience", "home.latency max < 200ms abort", repeat(3, warm(slow), slow, good, good), 6, "500ms", ""},
		{"what the measured phase has in it counts", "home.latency max < 200ms", repeat(1, good, second{warmup: true, early: true, ms: []int64{500}}, good), end, "500ms", ""},
		{"and its time does not", "home.http_ok rps >= 100", repeat(1, good, second{warmup: true, early: true, ok: 300}, good), never, "100", ""},
		{"a window has no hole", "home.http_ok count >= 200 over 2s", repeat(1, second{ok: 50}, warm(good), good, good), never, "200", ""},

		// Errors and statuses that did not come.
		{"no error of a class", "home.error.dns count == 0", repeat(3, good), never, "0", ""},
		{"nor a share of it", "home.error.dns rate < 1%", repeat(3, good), never, "0%", ""},
		{"no answer of a status", "home.status.418 count == 0 abort", repeat(3, good), never, "0", ""},
		{"not a class of errors", "home.error.dnss count == 0", repeat(3, good), end, "", `no metric is called "home.error.dnss"`},

		// Missing metrics.
		{"no such metric", "hom.latencies p99 < 1s", repeat(3, good), end, "", `no metric is called "hom.latencies"; the nearest metrics are home.latency, `},
		{"no such check", `check "has body" rate > 99%`, repeat(3, good), end, "", `no check is called "has body"; the nearest checks are "has a body"`},
		{"none at all", "a.b count > 0", repeat(3, second{bare: true}), end, "", "the run has none"},
		{"declared late", "home.latency max < 200ms over 1s", repeat(3, second{bare: true}, slow), 4, "500ms", ""},
		{"a histogram has no rate", "home.latency rate < 1%", repeat(3, good), 1, "", "home.latency is a histogram: it has avg, min, max, stdev, percentiles, count and rps, not rate"},
		{"a counter has no percentile", "home.http_ok p99 < 5", repeat(3, good), 1, "", "home.http_ok is a counter: it has count, rps and rate, not p99"},
		{"a gauge has a value", "vu.a.active count < 5", repeat(3, good), 1, "", "vu.a.active is a gauge: it has value"},
		{"bytes are no time", "things.size max < 5ms", repeat(3, good), 1, "", "things.size is recorded in B, not in ms"},
		{"a time is no size", "home.latency max < 5MB", repeat(3, good), 1, "", "home.latency is recorded in ns, not in MB"},
		{"numbers are no size", "home.http_ok count < 5MB", repeat(3, good), 1, "", "home.http_ok is recorded in N, not in MB"},
		{"nothing recorded", "home.latency max < 5ms", repeat(3, second{}), end, "", "nothing was recorded"},
		{"no operations", "home.http_fail rate < 1%", repeat(3, second{}), end, "", "nothing was recorded"},
		{"no operations is a count", "home.http_fail count == 0", repeat(3, second{}), never, "0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x, err := parse(tt.expression)
			if err != nil {
				t.Fatal(err)
			}
			e := New([]Threshold{x})
			measured, at := 0, 0.0
			for n, s := range tt.seconds {
				if s.over {
					e.LoadOver()
				}
				if !s.warmup {
					measured++
				}
				for _, c := range e.Add(s.interval(time.Duration(n) * time.Second)) {
					if at != 0 || c.OK || c.Abort != (x.Abort || c.Wrong) || c.Wrong != strings.Contains(tt.reason, " is ") || *c.At != float64(n+1) {
						t.Errorf("after second %d: %+v", n+1, c)
					}
					at = *c.At
				}
			}
			got := e.Finish(totals(tt.seconds, measured))[0]
			want := tt.at
			if want == end {
				want = 0
			}
			if at != want || got.OK != (tt.at == never) || got.OK != (got.At == nil) {
				t.Errorf("crossed at %v while it ran, want %v; at the end %+v", at, want, got)
			}
			if tt.at == end && got.At != nil && *got.At != float64(len(tt.seconds)) {
				t.Errorf("crossed at %v, want the end", *got.At)
			}
			if !strings.Contains(got.Value, tt.value) || !strings.Contains(got.Reason, tt.reason) || got.Expression != x.String() {
				t.Errorf("%+v, want value %q and reason %q", got, tt.value, tt.reason)
			}
		})
	}
}

// A window's figures are those of its intervals, whatever came before, and its memory does
// not grow.
func TestWindowIsTheSumOfItsIntervals(t *testing.T) {
	const length = 7
	var q queue
	var all []tally
	for n := range 200 {
		h := new(hdr.Histogram)
		h.Record(int64(n) * 1e6)
		all = append(all, tally{length: time.Second, count: int64(n), histogram: h})
		q.push(all[n])
		q.shrink(length * time.Second)
		var want tally
		for _, x := range all[max(0, n+1-length):] {
			want.add(x)
		}
		got := q.total()
		if got.length != want.length || got.count != want.count || !got.histogram.Equal(want.histogram) {
			t.Fatalf("after %d: %+v, want %+v", n, got, want)
		}
		if len(q.older)+len(q.newer) > length {
			t.Fatalf("%d tallies are kept", len(q.older)+len(q.newer))
		}
	}
}

func TestShownNeverReadsAsTheBound(t *testing.T) {
	for _, tt := range []struct {
		expression string
		v          float64
		want       string
	}{
		{"a max < 200ms", 200.04e6, "200.04ms"},
		{"a max < 200ms", 200e6, "200ms"},
		{"a max < 200ms", 1234567890, "1.23s"},
		{"a max < 200ms", 17, "17ns"},
		{"a rate < 1%", 0.0100001, "1.00001%"},
		{"a rate < 1%", 1.0 / 3, "33.3%"},
		{"a rate < 1%", 0.00012345, "0.0123%"},
		{"a count < 5", 1234567, "1234567"},
		{"a rps < 5", 1234.567, "1235"},
	} {
		x, err := parse(tt.expression)
		if err != nil {
			t.Fatal(err)
		}
		j := &judge{Threshold: x, binding: binding{metric: run.Metric{Unit: "ns"}}}
		if got := j.shown(tt.v); got != tt.want {
			t.Errorf("%s: %v is %s, want %s", tt.expression, tt.v, got, tt.want)
		}
	}
}

// The state of thresholds during the run: unknown differs from met, and a crossed threshold
// stays crossed.
func TestStandings(t *testing.T) {
	t.Parallel()
	var thresholds []Threshold
	for _, text := range []string{"home.latency p99 < 10ms", "home.latency p50 < 10ms over 2s", "home.http_ok count > 150", "home.nothing count == 0", "home.latency max < 10ms over 1s"} {
		x, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		thresholds = append(thresholds, x)
	}
	e := New(thresholds)
	show := func() (s string) {
		for _, x := range e.Standings() {
			switch {
			case x.Crossed:
				s += "crossed " + x.Value
			case !x.Known:
				s += "unknown"
			case x.Undecided && !x.Met && x.Reason != "":
				s += "undecided " + x.Value
			case x.Met:
				s += "met " + x.Value
			default:
				s += "unmet " + x.Value
			}
			s += "; "
		}
		return s
	}
	want := []string{
		"unknown; unknown; unknown; unknown; unknown; ",
		"undecided 5ms; unknown; unmet 100; unknown; met 5ms; ",
		"undecided 20ms; met 5ms; met 200; unknown; crossed 20ms; ",
		"undecided 20ms; met 5ms; met 300; unknown; crossed 20ms; ",
	}
	for n, s := range []second{{warmup: true, ok: 100, ms: []int64{1}}, {ok: 100, ms: []int64{5}}, {ok: 100, ms: []int64{5, 5, 20}}, {ok: 100, ms: []int64{5}}} {
		e.Add(s.interval(time.Duration(n) * time.Second))
		if got := show(); got != want[n] {
			t.Errorf("after %d s: %s, want %s", n+1, got, want[n])
		}
	}
}

// totals returns the metrics of a run with their rates per second, over so many seconds that were
// not warm-up.
func totals(seconds []second, measured int) []run.Metric {
	sums := map[string]float64{}
	var declared []run.Metric
	for _, s := range seconds {
		i := s.interval(0)
		declared = i.Metrics
		if s.warmup {
			continue
		}
		for title, n := range i.Counters {
			sums[title] += float64(n)
		}
		for title, h := range i.Histograms {
			sums[title] += float64(h.Count())
		}
	}
	var all []run.Metric
	for _, m := range declared {
		if rate := sums[m.Title] / float64(measured); m.Type != run.Gauge && measured > 0 {
			m.RPS = &rate
		}
		all = append(all, m)
	}
	return all
}

// What was lost with an executor counts for the whole run, though no interval has it.
func TestLost(t *testing.T) {
	var all []Threshold
	for _, text := range []string{"home.http_other_fail rate < 5%", "home.latency p99 < 1s", "home.http_ok count == 100"} {
		x, err := ParseFor(text, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	e := New(all)
	e.Add(second{ok: 100, ms: times(100, 10, 20)}.interval(0))
	e.Lost(map[string]int64{"home.http_other_fail": 25})
	got := e.Finish(nil)
	for i, want := range []string{"20%", "no answer", "100"} {
		if r := got[i]; r.OK != (i == 2) || r.Value != want {
			t.Errorf("%s: ok %v, %s; want %s", r.Expression, r.OK, r.Value, want)
		}
	}
}

// A threshold that only what gobench delayed itself decides, or too few values, is not decided.
func TestNotDecided(t *testing.T) {
	t.Parallel()
	metrics := append(slices.Clone(declared),
		run.Metric{Title: "home.latency_disturbed", Type: "histogram", Unit: "ns", Counts: run.Counts{Role: run.OpTimeDisturbed, Of: "home"}},
		run.Metric{Title: "home.latency_corrected", Type: "histogram", Unit: "ns", Counts: run.Counts{Role: run.OpTimeCorrected, Of: "home"}})
	// 400 latencies of 5 ms, of which 8 were recorded with 900 ms
	disturbed := func(from time.Duration, n int) Interval {
		i := second{ok: 100, ms: times(100, 5, 5)}.interval(from)
		i.Metrics = metrics
		all, before, after := new(hdr.Histogram), new(hdr.Histogram), new(hdr.Histogram)
		for k := range 100 {
			if k >= n {
				all.Record(5e6)
				continue
			}
			all.Record(900e6)
			before.Record(900e6)
			after.Record(5e6)
		}
		i.Histograms["home.latency"], i.Histograms["home.latency_disturbed"], i.Histograms["home.latency_corrected"] = all, before, after
		return i
	}
	few := func(ms int64) []Interval { return []Interval{second{ok: 50, ms: times(50, ms, ms)}.interval(0)} }
	spoiled := []Interval{disturbed(0, 0), disturbed(time.Second, 8), disturbed(2*time.Second, 0), disturbed(3*time.Second, 0)}
	const delayed = "without what gobench itself delayed it may be 5ms"
	for _, tt := range []struct {
		text   string
		all    []Interval
		state  string
		reason string
	}{
		{"home.latency p50 < 100ms", spoiled, "met", ""},
		{"home.latency p99 < 100ms", spoiled, "undecided", delayed},
		{"home.latency p99 < 1ms", spoiled, "crossed", ""},
		{"home.latency p99 < 1s", spoiled, "met", ""},
		{"home.latency p99 > 100ms", spoiled, "undecided", delayed},
		{"home.latency max < 100ms", spoiled, "undecided", "without what gobench itself delayed it may be 5.01ms"}, // the end of its range
		{"home.latency avg < 20ms", spoiled, "undecided", delayed},
		{"home.latency p99 != 100ms", spoiled, "undecided", delayed},
		{"home.latency min < 100ms", spoiled, "met", ""},
		{"home.latency count > 10", spoiled, "met", ""},
		{"home.latency p99 < 100ms abort", spoiled, "undecided", delayed},
		{"home.latency p99 < 100ms over 1s", spoiled, "undecided", "in the window that ends at 2s " + delayed},
		{"home.latency p99 < 1ms over 1s", spoiled, "crossed", ""},
		{"home.latency p99 < 100ms", few(5), "undecided", "50 values are too few for p99: it needs 100"},
		{"home.latency p99 < 100ms", few(200), "crossed", ""},
		{"home.latency p98 < 100ms", few(5), "met", ""},
		{"home.latency p99.9 < 100ms", spoiled, "undecided", "400 values are too few for p99.9: it needs 1000"},
	} {
		x, err := ParseFor(tt.text, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		e := New([]Threshold{x})
		for _, i := range tt.all {
			e.Add(i)
		}
		e.LoadOver()
		r := e.Finish(nil)[0]
		state := "met"
		switch {
		case r.Undecided:
			state = "undecided"
		case r.Crossed():
			state = "crossed"
		}
		if state != tt.state || r.OK != (state == "met") || r.Reason != tt.reason || (r.At != nil) != (state == "crossed") {
			t.Errorf("%s: %s %+v, want %s because %q", tt.text, state, r, tt.state, tt.reason)
		}
	}
}
