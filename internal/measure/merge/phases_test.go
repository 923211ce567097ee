package merge

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// inPhase returns a batch of a time with n operations that took ms each.
func inPhase(seq uint64, from, to time.Duration, warmup, more bool, n, ms int64) *wire.Batch {
	h := new(hdr.Histogram)
	for range n {
		h.Record(ms * 1e6)
	}
	b := &wire.Batch{Seq: seq, FromNs: int64(from), ToNs: int64(to), Warmup: warmup, More: more}
	if seq == 1 {
		b.Declared = declared
	}
	if n > 0 {
		b.Counters = []*wire.Counter{{Metric: 0, Add: n}}
		b.Histograms = []*wire.Histogram{{Metric: 1, Counts: h.Append(nil)}}
		b.Failures = []*wire.Failure{{Source: "home", Class: "timeout", Text: "late", Count: n}}
	}
	return b
}

// phased returns the batches of an executor whose warm-up of 1 s began 15 operations: 10 ended in
// it, 3 in the second after it and 2 in the drain. 20 and 7 operations of the measured phase ended
// in the first and the second measured second, and 4 in the drain.
func phased() []*wire.Batch {
	const s = time.Second
	all := []*wire.Batch{
		inPhase(1, 0, s, true, false, 10, 500),
		inPhase(2, s, 2*s, true, true, 3, 900), inPhase(3, s, 2*s, false, false, 20, 5),
		inPhase(4, 2*s, 3*s, false, false, 7, 5),
		inPhase(5, 3*s, 3500*time.Millisecond, true, true, 2, 900), inPhase(6, 3*s, 3500*time.Millisecond, false, false, 4, 5),
	}
	all[5].Final = &wire.Final{LoadNs: int64(3500 * time.Millisecond), Counters: []*wire.Counter{{Metric: 0, Add: 46}}, Histograms: []*wire.Counted{{Metric: 1, Count: 46}},
		Ended: &wire.Ended{MeasuredNs: int64(2 * s), Counters: []*wire.Counter{{Metric: 0, Add: 40}}, Histograms: []*wire.Counted{{Metric: 1, Count: 40}}}}
	return all
}

// What began in the warm-up is in no total, wherever it ended; a rate has all that ended within
// the measured time, and nothing of the drain.
func TestPhases(t *testing.T) {
	m, parts := New(1, time.Second), []Part(nil)
	m.OnPart(func(p Part) { parts = append(parts, p) })
	var counted []int64
	m.OnInterval(func(c Counts) { counted = append(counted, c.Counters["home.ok"]) })
	var intervals []run.Interval
	for _, b := range phased() {
		must(t, m.Add(0, b))
		intervals = append(intervals, m.Intervals(false)...)
	}
	check := func(m *Merger) {
		t.Helper()
		if missing := m.Missing(); missing != nil {
			t.Errorf("missing: %q", missing)
		}
		all := m.Metrics()
		ok, latency := all[0], all[1]
		if *ok.Count != 31 || *latency.Count != 31 || latency.Times.Max != 5 {
			t.Errorf("the measured phase has %d operations and %d times up to %v ms, want 31 of 5 ms", *ok.Count, *latency.Count, latency.Times.Max)
		}
		if *ok.RPS != 15 || *latency.RPS != 15 || *ok.Later != 6 || *latency.Later != 6 {
			t.Errorf("%v and %v a second, %d and %d later; want 30 in 2 s, and 6 later", *ok.RPS, *latency.RPS, *ok.Later, *latency.Later)
		}
		if f := m.Failures(); len(f) != 1 || f[0].Count != 31 {
			t.Errorf("failures %+v, want 31", f)
		}
		if m.Measured() != 2*time.Second || m.Warmup() != time.Second || m.Load() != 3500*time.Millisecond {
			t.Errorf("measured %v, warm-up %v, load %v", m.Measured(), m.Warmup(), m.Load())
		}
	}
	check(m)
	of := func(all []run.Interval) {
		t.Helper()
		want := []struct{ all, measured, warmup int64 }{{10, 0, 10}, {23, 20, 3}, {7, 7, 0}, {6, 4, 2}}
		if len(all) != len(want) {
			t.Fatalf("%d intervals, want %d", len(all), len(want))
		}
		for n, i := range all {
			if *i.Metrics["home.ok"].Count != want[n].all || i.Warmup != (n == 0) || (i.Phases != nil) != (n == 1 || n == 3) {
				t.Errorf("interval %d: %+v, want %+v", n, i, want[n])
			}
			if p := i.Phases; p != nil && (*p.Measured["home.latency"].Count != want[n].measured || *p.Warmup["home.latency"].Count != want[n].warmup || p.Measured["home.latency"].Times.Max != 5 || p.Warmup["home.latency"].Times.Max != 900) {
				t.Errorf("phases of interval %d: %+v, want %+v", n, p, want[n])
			}
		}
	}
	of(intervals)
	for n, want := range []int64{0, 20, 7, 4} {
		if counted[n] != want {
			t.Errorf("interval %d counts %d of the measured phase, want %d", n, counted[n], want)
		}
	}
	if len(parts) != 6 {
		t.Fatalf("%d parts, want one of each phase: 6", len(parts))
	}
	var again []run.Interval
	for _, of := range [][]int{{0}, {1, 2}, {3}, {4, 5}} {
		var data [][]byte
		for _, n := range of {
			data = append(data, parts[n].Data)
		}
		i, err := m.IntervalOf(data)
		must(t, err)
		again = append(again, i)
	}
	of(again)
	restored, err := Restore(time.Second, m.State(), [][]byte{m.SourceState(0)})
	must(t, err)
	check(restored)
	// An archive has batches that add up to the same.
	archive := New(1, time.Second)
	intervals = nil
	recount := m.Recount(func(b *wire.Batch) error {
		err := archive.Add(0, b)
		intervals = append(intervals, archive.Intervals(false)...)
		return err
	})
	for _, p := range parts {
		must(t, recount.Add(p))
	}
	must(t, recount.Close())
	check(archive)
	of(intervals)
	// Parts of one phase fold into one.
	for _, of := range [][]int{{2, 3, 5}, {1, 4}, {0, 1, 4}} {
		var data [][]byte
		warmup, sum := parts[of[0]].Warmup, int64(0)
		for _, n := range of {
			data = append(data, parts[n].Data)
		}
		one, err := Fold(data)
		must(t, err)
		i, err := m.IntervalOf([][]byte{one})
		must(t, err)
		for _, n := range of {
			p, err := m.IntervalOf([][]byte{parts[n].Data})
			must(t, err)
			sum += *p.Metrics["home.ok"].Count
		}
		if *i.Metrics["home.ok"].Count != sum || i.Phases != nil || i.Warmup != (of[0] == 0) {
			t.Errorf("parts %v, of the warm-up %v, fold into %+v, want %d", of, warmup, i, sum)
		}
	}
}

// A batch that is followed by another one of its time has counts only.
func TestPhasesRefused(t *testing.T) {
	for name, change := range map[string]func(*wire.Batch){
		"final":  func(b *wire.Batch) { b.Final = new(wire.Final) },
		"gauges": func(b *wire.Batch) { b.Gauges = []*wire.Gauge{{Metric: 2}} },
	} {
		m, all := New(1, time.Second), phased()
		must(t, m.Add(0, all[0]))
		change(all[1])
		if err := m.Add(0, all[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
