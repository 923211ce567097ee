package monitor

import (
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// A result that is completed by late batches has the verdict, reasons and notes of what is
// there then, also if the tally was restored meanwhile.
func TestUpdate(t *testing.T) {
	t.Parallel()
	for _, restored := range []bool{false, true} {
		o := Options{Interval: time.Second}
		tally := New(o)
		tally.Executor(Host{ID: "a", Name: "a"}, 0)
		add := func(seq int) {
			b := &wire.Batch{Seq: uint64(seq), FromNs: int64(seq-1) * 1e9, ToNs: int64(seq) * 1e9, Counters: []*wire.Counter{{Add: 2}}}
			if seq == 1 {
				b.GoUnixNs = 1
				b.Declared = roles.Declare(&wire.Metric{Title: "vu.ask.iterations", Type: "counter"})
			}
			if seq == 5 {
				b.Final = &wire.Final{Counters: []*wire.Counter{{Add: 10}}, LoadNs: 5e9}
			}
			if err := tally.Add(0, b); err != nil {
				t.Fatal(err)
			}
		}
		add(1)
		add(2)
		tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: "the master ended"})
		tally.Reason(run.Reason{Signal: "memory", Level: run.Red, Text: "full", Cause: true})
		r := &run.Result{Notes: []string{"given"}, Config: run.Config{Interval: 1}}
		tally.Finish(r)
		const short = "the run was shorter than three intervals: its series and its verdict rest on little"
		if r.Verdict != run.Invalid || r.Complete || !slices.Equal(r.Notes, []string{"given", short}) {
			t.Fatalf("before: verdict %s, complete %v, notes %q", r.Verdict, r.Complete, r.Notes)
		}
		if restored {
			m, err := merge.Restore(time.Second, tally.Merger.State(), [][]byte{tally.Merger.SourceState(0)})
			if err != nil {
				t.Fatal(err)
			}
			tally = Restore(o, m, []Host{{ID: "a", Name: "a"}})
		}
		for seq := 3; seq <= 5; seq++ {
			add(seq)
			tally.Update(r)
			if (r.Verdict == run.Invalid) != (seq < 5) {
				t.Errorf("restored %v, batch %d: verdict %s, reasons %+v", restored, seq, r.Verdict, r.Reasons)
			}
		}
		if r.Verdict != run.Suspect || !r.Complete || len(r.Reasons) != 2 || r.Reasons[0].Text != "the master ended" || r.Seconds != 5 || !slices.Equal(r.Notes, []string{"given"}) {
			t.Errorf("restored %v: verdict %s, complete %v, %v s, reasons %+v, notes %q", restored, r.Verdict, r.Complete, r.Seconds, r.Reasons, r.Notes)
		}
	}
}

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
			b.Declared = roles.Declare(&wire.Metric{Title: "vu.ask.iterations", Type: "counter"})
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
		if n := second.Merger.CountOf(e, run.Counts{Role: run.ClassDone, Of: "ask"}); n != want {
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
