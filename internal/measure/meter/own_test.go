package meter

import (
	"context"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/run"
)

// timed returns a registry with a histogram of times of an operation.
func timed(t testing.TB) (*Registry, Meter) {
	r := New()
	groups := []metrics.Group{{Name: "HTTP (home)", Graphs: []metrics.Graph{{Title: "Latency", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.latency", Type: metrics.Histogram}}}}}}
	if err := r.Declare(groups, map[string]run.Counts{"home.latency": {Role: run.OpTime, Of: "home"}}); err != nil {
		t.Fatal(err)
	}
	m, err := r.Find("home.latency")
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

// A time of which more than usual was gobench's own is recorded in the companions, too, which are
// declared with it and have its roles.
func TestRecordTime(t *testing.T) {
	const ms = time.Millisecond
	r, m := timed(t)
	record := func(took time.Duration, own delay.Own) {
		e := r.Entry(Measured)
		e.RecordTime(m, took, own)
		e.Close()
	}
	for range 100 {
		record(4*ms, delay.Own{Delay: 10 * time.Microsecond})
	}
	r.Cut(Measured) // from here on what is typical is known
	record(20*ms, delay.Own{Delay: 15 * ms})
	record(20*ms, delay.Own{Burst: 18 * ms})
	if c := r.Cut(Measured); len(c.Own.Histograms) != 3 {
		t.Errorf("%d histograms recorded something", len(c.Own.Histograms))
	}
	want := map[string]struct {
		role  run.Role
		count uint64
		sum   time.Duration
	}{
		"home.latency":           {run.OpTime, 102, 440 * ms},
		"home.latency_disturbed": {run.OpTimeDisturbed, 2, 40 * ms},
		"home.latency_corrected": {run.OpTimeCorrected, 2, 9 * ms}, // 20 - 15, and what is typical
	}
	for _, x := range r.Totals() {
		w := want[x.Title]
		delete(want, x.Title)
		sum := time.Duration(x.Histogram.Mean() * float64(x.Histogram.Count()))
		if x.Role != w.role || x.Of != "home" || x.Histogram.Count() != w.count || (sum-w.sum).Abs() > ms/10 {
			t.Errorf("%s, %s: %d values, %v in all; want %+v", x.Title, x.Role, x.Histogram.Count(), sum, w)
		}
	}
	if len(want) > 0 {
		t.Errorf("not declared: %v", want)
	}
	if n := testing.AllocsPerRun(100, func() { record(20*ms, delay.Own{Delay: 15 * ms}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Companions are not among the 1,000 metrics that a run may have, and are left out for metrics of their
// titles.
func TestCompanionsTakeNoPlace(t *testing.T) {
	t.Parallel()
	r := New()
	graph := func(title string) []metrics.Group {
		return []metrics.Group{{Name: title, Graphs: []metrics.Graph{{Title: title, Unit: "ns", Metrics: []metrics.Metric{{Title: title, Type: metrics.Histogram}}}}}}
	}
	if err := r.Setup(graph("own.latency_corrected")); err != nil {
		t.Fatal(err)
	}
	if err := r.Declare(graph("own.latency"), map[string]run.Counts{"own.latency": {Role: run.OpTime, Of: "own"}}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Declared()); n != 2 {
		t.Errorf("%d metrics, want the two that were declared", n)
	}
	for i := range maxMetrics - 2 {
		title := "op" + string(rune('a'+i%26)) + time.Duration(i).String()
		if err := r.Declare(graph(title), map[string]run.Counts{title: {Role: run.OpTime, Of: title}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Setup(graph("one.more")); err == nil {
		t.Error("more than 1,000 metrics were declared")
	}
}

// An iteration's own part is the sum of what its operations and waits had.
func TestScopeAddsUpOwn(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	r, _ := timed(t)
	_, s := With(context.Background(), r, nil, [2]uint64{})
	now := delay.Now()
	s.BeginOwn(now, delay.Own{Delay: 3 * ms, Burst: 7 * ms})
	for range 2 {
		if err := s.Begin(0); err != nil {
			t.Fatal(err)
		}
		s.BeginTime(now)
		now += 20 * ms
		if own := s.EndTime(now-20*ms, now, 5*ms); own != (delay.Own{Delay: 5 * ms, Burst: 7 * ms}) {
			t.Errorf("an operation's own part is %+v", own)
		}
		s.End()
	}
	if own := s.Own(now); own != (delay.Own{Delay: 13 * ms, Burst: 7 * ms}) {
		t.Errorf("the iteration's own part is %+v", own)
	}
	s.BeginOwn(now, delay.Own{})
	if own := s.Own(now); own != (delay.Own{}) {
		t.Errorf("the next one begins with %+v", own)
	}
}

// The time in which several operations of a user were delayed counts once.
func TestScopeAddsUpOperationsAtOnce(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	r, _ := timed(t)
	_, s := With(context.Background(), r, nil, [2]uint64{})
	now := delay.Now()
	s.BeginOwn(now, delay.Own{Delay: ms})
	for _, x := range []struct{ end, own, want time.Duration }{
		{400 * ms, 300 * ms, 301 * ms}, // from 100 ms on
		{401 * ms, 301 * ms, 302 * ms},
		{402 * ms, 382 * ms, 383 * ms}, // from 20 ms on
		{500 * ms, 10 * ms, 393 * ms},
		{510 * ms, 5 * ms, 398 * ms},
	} {
		s.EndTime(now, now+x.end, x.own)
		if own := s.Own(now + x.end); own.Delay != x.want {
			t.Errorf("after %v: %v, want %v", x.end, own.Delay, x.want)
		}
	}
}

func BenchmarkRecordTime(b *testing.B) {
	r, m := timed(b)
	for b.Loop() {
		e := r.Entry(Measured)
		e.RecordTime(m, time.Millisecond, delay.Own{})
		e.Close()
	}
}
