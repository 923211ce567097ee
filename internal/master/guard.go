package master

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// guard checks the batches of a run against its guards. It adds up what all executors
// counted in each second of the run's time, and checks the window that ends with a batch's
// second as soon as the batch arrives. It waits for no executor; a late batch is checked
// with the seconds it belongs to. It is not safe for concurrent use.
type guard struct {
	run.Guards
	seconds int64                // of the window
	counts  map[int][]run.Counts // what each executor's metrics count
	recent  map[int64]*glance    // by second of the run
}

// glance is what was counted in a second of the run, or in a window.
type glance struct {
	to      time.Duration             // end of the latest batch in it
	all     map[owner]int64           // operations or iterations that ended
	bad     map[owner]int64           // of these, failed or without an answer
	latency map[string]*hdr.Histogram // by operation
}

// owner is an operation or a class of users.
type owner struct {
	name  string
	class bool
}

// String returns the owner's name as sources of failures have it.
func (o owner) String() string {
	if o.class {
		return "vu." + o.name
	}
	return o.name
}

// usualWindow is the default length of a guard's window, in seconds.
const usualWindow = 2

// enough is the least number of operations in a window that is checked. late is by how many
// seconds a batch may lag behind others and still be checked.
const (
	enough = 20
	late   = 60
)

// newGuard returns the guard of a run. Its window is g.Window in whole seconds, rounded down;
// 2 s by default. It must not be below 1 s: nothing would be checked. Without limits in g, add
// never returns a cause.
func newGuard(g run.Guards) *guard {
	w := int64(usualWindow)
	if g.Window > 0 {
		w = int64(g.Window)
	}
	return &guard{Guards: g, seconds: w, counts: map[int][]run.Counts{}, recent: map[int64]*glance{}}
}

// add adds a valid batch, once. If a guard is breached in the window that ends with it, it
// returns the cause as text, "guard: ...": that of the error rate, else of the p99, else of
// the rate; otherwise "".
func (g *guard) add(executor int, b *wire.Batch) string {
	for _, d := range b.Declared {
		g.counts[executor] = append(g.counts[executor], d.Metric().Counts)
	}
	if g.ErrorRate == 0 && g.P99 == 0 && g.Rate == 0 || b.ToNs <= 0 {
		return ""
	}
	second := (b.ToNs - 1) / int64(time.Second)
	x := g.recent[second]
	if x == nil {
		for old := range g.recent {
			if old < second-g.seconds-late {
				delete(g.recent, old)
			}
		}
		x = newGlance()
		g.recent[second] = x
	}
	x.add(g.counts[executor], b)
	if b.More {
		return ""
	}
	x.to = max(x.to, time.Duration(b.ToNs))
	return g.judge(second)
}

func newGlance() *glance {
	return &glance{all: map[owner]int64{}, bad: map[owner]int64{}, latency: map[string]*hdr.Histogram{}}
}

// add adds the operations, iterations and latencies of a batch to x; parts of them are left
// out. counts are those of the executor's metrics by their numbers, and must include all that
// the batch uses.
func (x *glance) add(counts []run.Counts, b *wire.Batch) {
	for _, c := range b.Counters {
		of := counts[c.Metric]
		if !of.Whole() {
			continue
		}
		switch of.Role {
		case run.OpOK:
			x.all[owner{name: of.Of}] += c.Add
		case run.OpFailed, run.OpUnanswered:
			x.all[owner{name: of.Of}] += c.Add
			x.bad[owner{name: of.Of}] += c.Add
		case run.ClassDone: // with those that failed
			x.all[owner{of.Of, true}] += c.Add
		case run.ClassFailed:
			x.bad[owner{of.Of, true}] += c.Add
		}
	}
	for _, h := range b.Histograms {
		if of := counts[h.Metric]; of.Role == run.OpTime && of.Whole() {
			counted := new(hdr.Histogram)
			if counted.Decode(h.Counts) == nil { // it was valid when it was merged
				x.merge(of.Of, counted)
			}
		}
	}
}

// merge adds h to a client's latencies. It does not retain h.
func (x *glance) merge(client string, h *hdr.Histogram) {
	if x.latency[client] == nil {
		x.latency[client] = new(hdr.Histogram)
	}
	x.latency[client].Merge(h)
}

// judge checks the window that ends with second number last of the run, counted from 0, and
// returns the cause or "" as add does.
func (g *guard) judge(last int64) string {
	w := newGlance()
	first := max(last-g.seconds+1, 0)
	for s := first; s <= last; s++ {
		x := g.recent[s]
		if x == nil {
			continue
		}
		w.to = x.to
		for of, n := range x.all {
			w.all[of] += n
		}
		for of, n := range x.bad {
			w.bad[of] += n
		}
		for of, h := range x.latency {
			w.merge(of, h)
		}
	}
	length := w.to - time.Duration(first)*time.Second
	return cmp.Or(g.failing(w, length), g.slow(w, length), g.fast(w, length))
}

// failing returns the cause if too large a share of a client's or class's operations failed,
// or "". Those with fewer than 20 operations in the window are not checked. It names the
// first one by name. length is the window's.
func (g *guard) failing(w *glance, length time.Duration) string {
	if g.ErrorRate == 0 {
		return ""
	}
	byName := slices.SortedFunc(maps.Keys(w.bad), func(a, b owner) int { return cmp.Compare(a.String(), b.String()) })
	for _, of := range byName {
		n, all := w.bad[of], w.all[of]
		if all >= enough && float64(n) > g.ErrorRate*float64(all) {
			return fmt.Sprintf("guard: %.1f %% of the operations of %s failed in %v, and at most %.1f %% may", 100*float64(n)/float64(all), of, length.Round(time.Millisecond), 100*g.ErrorRate)
		}
	}
	return ""
}

// slow returns the cause if the p99 of a client's latencies is too long, or "". Clients with
// fewer than 20 in the window are not checked. It names the first one by name.
func (g *guard) slow(w *glance, length time.Duration) string {
	if g.P99 == 0 {
		return ""
	}
	for _, of := range slices.Sorted(maps.Keys(w.latency)) {
		h := w.latency[of]
		if p99 := time.Duration(h.Quantile(0.99)); h.Count() >= enough && p99 > seconds(g.P99) {
			return fmt.Sprintf("guard: the p99 of %s was %s in %v, and at most %s is allowed", of, units.Millis(float64(p99)/1e6), length.Round(time.Millisecond), units.Millis(g.P99*1e3))
		}
	}
	return ""
}

// fast returns the cause if there were too many operations a second of all clients together,
// failed ones included, or "". Iterations of users do not count.
func (g *guard) fast(w *glance, length time.Duration) string {
	if g.Rate == 0 || length <= 0 {
		return ""
	}
	all := int64(0)
	for of, n := range w.all {
		if !of.class {
			all += n
		}
	}
	if rate := float64(all) / length.Seconds(); rate > g.Rate {
		return fmt.Sprintf("guard: %.0f operations a second were done, and at most %.0f may", rate, g.Rate)
	}
	return ""
}
