package meter

import (
	"context"
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
)

// What is recorded in a phase is cut with it, whatever the phase of the time; what has none
// belongs to the phase of the time.
func TestPhases(t *testing.T) {
	r := New()
	group := metrics.Group{Name: "G", Graphs: []metrics.Graph{{Title: "n", Unit: "N", Metrics: []metrics.Metric{{Title: "n", Type: metrics.Counter}}},
		{Title: "t", Unit: "ns", Metrics: []metrics.Metric{{Title: "t", Type: metrics.Histogram}}}}}
	if err := r.Setup([]metrics.Group{group}); err != nil {
		t.Fatal(err)
	}
	n, _ := r.Find("n")
	h, _ := r.Find("t")
	_, scope := With(context.Background(), r, nil, [2]uint64{})
	record := func() {
		n.Record(1) // of no phase
		for _, x := range []struct {
			phase Phase
			add   int64
		}{{Warmup, 10}, {Measured, 100}} {
			scope.SetPhase(x.phase)
			scope.Record(n, x.add)
			e := scope.Entry()
			e.Add(n, x.add)
			for range x.add {
				e.Record(h, 5)
			}
			e.Close()
			if err := r.Notify(scope.Phase(), "n", x.add); err != nil {
				t.Fatal(err)
			}
			r.Failed(scope.Phase(), "s", "c", "text")
		}
		r.Failed(NoPhase, "s", "c", "text")
	}
	for cut, tt := range []struct {
		own                              Phase
		n, other, times, otherTimes, bad int64
	}{{Warmup, 31, 300, 10, 100, 2}, {Measured, 301, 30, 100, 10, 2}} {
		record()
		if all := r.Sums(); all[0].N != int64(331*(cut+1)) || all[1].N != int64(110*(cut+1)) {
			t.Errorf("before cut %d the registry has counted %+v", cut, all)
		}
		c := r.Cut(tt.own)
		if len(c.Own.Counters) != 1 || c.Own.Counters[0].Value != tt.n || len(c.Other.Counters) != 1 || c.Other.Counters[0].Value != tt.other {
			t.Errorf("cut %d: counters %+v and %+v, want %d and %d", cut, c.Own.Counters, c.Other.Counters, tt.n, tt.other)
		}
		if a, b := int64(c.Own.Histograms[0].Histogram.Count()), int64(c.Other.Histograms[0].Histogram.Count()); a != tt.times || b != tt.otherTimes {
			t.Errorf("cut %d: %d and %d times, want %d and %d", cut, a, b, tt.times, tt.otherTimes)
		}
		if len(c.Own.Failures) != 1 || c.Own.Failures[0].Count != tt.bad || len(c.Other.Failures) != 1 || c.Other.Failures[0].Count != 1 {
			t.Errorf("cut %d: failures %+v and %+v", cut, c.Own.Failures, c.Other.Failures)
		}
		if all := r.Sums(); all[0].N != int64(331*(cut+1)) || all[1].N != int64(110*(cut+1)) {
			t.Errorf("after cut %d the registry has counted %+v", cut, all)
		}
	}
	if c := r.Cut(Measured); !c.Own.Empty() || !c.Other.Empty() {
		t.Errorf("a cut without recordings has %+v", c)
	}
	if total := r.Totals(); total[0].Value != 662 || total[1].Histogram.Count() != 220 {
		t.Errorf("totals %+v", total)
	}
}

// An operation that belongs to no iteration has the phase in which it begins.
func TestPhaseOfOperations(t *testing.T) {
	_, scope := With(context.Background(), New(), nil, [2]uint64{})
	now := Warmup
	scope.PhaseNow = func() Phase { return now }
	for _, now = range []Phase{Warmup, Measured, NoPhase} {
		if err := scope.Begin(0); err != nil || scope.Phase() != now {
			t.Errorf("an operation that begins in phase %d has phase %d (%v)", now, scope.Phase(), err)
		}
		scope.End()
	}
}
