package monitor

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/wire"
)

// A restored tally accepts the next batches of all executors: of two on one host, and of
// one that began late.
func TestRestoredTallyGoesOn(t *testing.T) {
	hosts := []Host{{"1", "a"}, {"2", "b"}, {"1", "a"}, {"2", "b"}}
	begins := []time.Duration{0, 0, 0, time.Second}
	o := Options{Interval: time.Second}
	first := New(o)
	for e, h := range hosts {
		first.Executor(h, begins[e])
	}
	batch := func(e, n int) *wire.Batch {
		from := int64(begins[e]) + int64(n-1)*1e9
		b := &wire.Batch{Seq: uint64(n), FromNs: from, ToNs: from + 1e9, Counters: []*wire.Counter{{Add: 2}}}
		if n == 1 {
			b.Declared = []*wire.Metric{{Title: "vu.ask.iterations", Type: "counter"}}
		}
		return b
	}
	for e := range 3 { // no batch of the last one has arrived
		if err := first.Add(e, batch(e, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var states [][]byte
	for e := range hosts {
		states = append(states, first.Merger.SourceState(e))
	}
	m, err := merge.Restore(time.Second, first.Merger.State(), states)
	if err != nil {
		t.Fatal(err)
	}
	second := Restore(o, m, hosts)
	for e, n := range []int{2, 2, 2, 1} {
		if err := second.Add(e, batch(e, n)); err != nil {
			t.Fatal(err)
		}
	}
	for e, want := range []int64{4, 4, 4, 2} {
		if n := second.Merger.CountOf(e, "vu.ask.iterations"); n != want {
			t.Errorf("executor %d counts %d, want %d", e, n, want)
		}
	}
	if notes := second.Merger.Notes(); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	for _, h := range second.hosts.all {
		if len(h.classes) != 1 || len(h.windows) > 1 {
			t.Errorf("host %s: classes %+v, %d windows", h.Name, h.classes, len(h.windows))
		}
		for _, e := range h.executors {
			if x := second.hosts.executors[e]; x.seq < 1 || len(x.uses) != 1 || x.uses[0].role != done {
				t.Errorf("executor %d: %+v", e, x)
			}
		}
	}
}
