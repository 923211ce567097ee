package merge

import (
	"maps"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// owned are the metrics of an operation and of a class with planned starts, in the order of
// lostBatch.
var owned = []run.Metric{
	{Title: "home.begun", Type: run.Counter, Counts: run.Counts{Role: run.OpBegun, Of: "home"}},
	{Title: "home.ok", Type: run.Counter, Counts: run.Counts{Role: run.OpOK, Of: "home"}},
	{Title: "home.failed", Type: run.Counter, Counts: run.Counts{Role: run.OpFailed, Of: "home"}},
	{Title: "home.unanswered", Type: run.Counter, Counts: run.Counts{Role: run.OpUnanswered, Of: "home"}},
	{Title: "home.error.timeout", Type: run.Counter, Counts: run.Counts{Role: run.OpUnanswered, Of: "home", By: "error", Part: "timeout"}},
	{Title: "home.error.lost", Type: run.Counter, Counts: run.Counts{Role: run.OpUnanswered, Of: "home", By: "error", Part: run.PartLost}},
	{Title: "vu.a.planned", Type: run.Counter, Counts: run.Counts{Role: run.ClassPlanned, Of: "a"}},
	{Title: "vu.a.begun", Type: run.Counter, Counts: run.Counts{Role: run.ClassBegun, Of: "a"}},
	{Title: "vu.a.iterations", Type: run.Counter, Counts: run.Counts{Role: run.ClassDone, Of: "a"}},
	{Title: "vu.a.cut", Type: run.Counter, Counts: run.Counts{Role: run.ClassCut, Of: "a"}},
	{Title: "vu.a.lost", Type: run.Counter, Counts: run.Counts{Role: run.ClassLost, Of: "a"}},
	{Title: "vu.a.unserved", Type: run.Counter, Counts: run.Counts{Role: run.ClassUnserved, Of: "a"}},
	{Title: "home.latency", Type: run.Histogram, Unit: "ns", Counts: run.Counts{Role: run.OpTime, Of: "home"}},
}

// lostBatch is second seq of an executor, which counted this in it, and recorded a time of 1 ms
// for each answered operation.
func lostBatch(seq uint64, counts ...int64) *wire.Batch {
	b := &wire.Batch{Seq: seq, FromNs: int64(seq-1) * 1e9, ToNs: int64(seq) * 1e9}
	if seq == 1 {
		for _, m := range owned {
			d := &wire.Metric{Title: m.Title, Type: string(m.Type), Unit: m.Unit}
			d.SetCounts(m.Counts)
			b.Declared = append(b.Declared, d)
		}
	}
	for n, v := range counts {
		b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(n), Add: v})
	}
	h := new(hdr.Histogram)
	for range counts[1] + counts[2] {
		h.Record(1e6)
	}
	b.Histograms = []*wire.Histogram{{Metric: uint32(len(owned) - 1), Counts: h.Append(nil)}}
	return b
}

// What a dead executor had begun and not ended is counted once the run has ended, by those
// classes that say so, and ranks behind all answers; until then it may be in flight. What arrives
// later is taken from it.
func TestLost(t *testing.T) {
	m := New(2, time.Second)
	whole := lostBatch(1, 90, 90, 0, 0, 0, 0, 90, 90, 90, 0, 0, 0)
	whole.Final = &wire.Final{}
	must(t, m.Add(0, whole))
	must(t, m.Add(1, lostBatch(1, 20, 7, 1, 2, 2, 0, 30, 20, 9, 1, 0, 3)))
	wants := func(when string, want map[string]int64, lost int64) {
		t.Helper()
		for _, x := range m.Metrics() {
			if n, named := want[x.Title]; named && *x.Count != n {
				t.Errorf("%s: %s is %d, want %d", when, x.Title, *x.Count, n)
			}
			if x.Type == run.Histogram && (lost > 0) != (x.Lost != nil && *x.Lost == lost) {
				t.Errorf("%s: the distribution lacks %v, want %d", when, x.Lost, lost)
			}
		}
	}
	wants("in flight", map[string]int64{"home.unanswered": 2, "home.error.lost": 0, "vu.a.lost": 0, "vu.a.unserved": 3}, 2)
	m.RunOver()
	wants("at the end", map[string]int64{"home.begun": 110, "home.unanswered": 12, "home.error.timeout": 2, "home.error.lost": 10, "vu.a.lost": 10, "vu.a.unserved": 10}, 12)
	if got, want := m.Unended(), map[string]int64{"home.unanswered": 10, "home.error.lost": 10, "vu.a.lost": 10, "vu.a.unserved": 7}; !maps.Equal(got, want) {
		t.Errorf("no interval has %v, want %v", got, want)
	}
	must(t, m.Add(1, lostBatch(2, 0, 6, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0)))
	wants("after a late batch", map[string]int64{"home.unanswered": 6, "home.error.lost": 4, "vu.a.lost": 4}, 6)
	last := lostBatch(3, 0, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 7)
	last.Final = &wire.Final{}
	must(t, m.Add(1, last))
	wants("after the last batch", map[string]int64{"home.unanswered": 2, "home.error.lost": 0, "vu.a.lost": 0, "vu.a.unserved": 10}, 2)
	if got := m.Unended(); got != nil {
		t.Errorf("no interval has %v, want nothing", got)
	}
}
