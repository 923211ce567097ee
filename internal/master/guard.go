package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// guard looks at what comes of a run for harm that it does. It adds up the seconds of the
// run's own time over all executors and judges those that a batch ends with as soon as that
// has come: it waits for nobody, and what comes late is judged by when it happened.
type guard struct {
	run.Guards
	seconds int64            // of the window
	titles  map[int][]string // of each executor's metrics
	recent  map[int64]*glance
}

// glance is a second of the run, as the guard sees it.
type glance struct {
	to      time.Duration    // of the batch in it that ends last
	good    map[string]int64 // by client or class
	bad     map[string]int64
	latency map[string]*hdr.Histogram // by client
}

// usualWindow is what a guard judges by when the run says nothing else.
const usualWindow = 2

// enough is how many operations there must be in the window to judge by, and late how many
// seconds a batch may come after others and is judged.
const (
	enough = 20
	late   = 60
)

func newGuard(g run.Guards) *guard {
	w := int64(usualWindow)
	if g.Window > 0 {
		w = int64(g.Window)
	}
	return &guard{Guards: g, seconds: w, titles: map[int][]string{}, recent: map[int64]*glance{}}
}

// operations pairs the ends of counters with whether they are of good operations.
var operations = []struct {
	begin, end string
	good       bool
}{
	{"", ".http_ok", true}, {"", ".http_fail", false}, {"", ".http_other_fail", false},
	{"", ".ok", true}, {"", ".fail", false},
	{"vu.", ".iterations", true}, {"vu.", ".errors", false},
}

// add takes a batch that was merged and says what harm is done; empty: none.
func (g *guard) add(executor int, b *wire.Batch) string {
	for _, d := range b.Declared {
		g.titles[executor] = append(g.titles[executor], d.Title)
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
		x = &glance{good: map[string]int64{}, bad: map[string]int64{}, latency: map[string]*hdr.Histogram{}}
		g.recent[second] = x
	}
	x.to = max(x.to, time.Duration(b.ToNs))
	x.add(g.titles[executor], b)
	return g.judge(second)
}

func (x *glance) add(titles []string, b *wire.Batch) {
	for _, c := range b.Counters {
		for _, o := range operations {
			of, ok := strings.CutSuffix(titles[c.Metric], o.end)
			switch {
			case !ok || !strings.HasPrefix(of, o.begin):
			case o.good:
				x.good[of] += c.Add
			default:
				x.bad[of] += c.Add
			}
		}
	}
	for _, h := range b.Histograms {
		if of, ok := strings.CutSuffix(titles[h.Metric], ".latency"); ok {
			counted := new(hdr.Histogram)
			if counted.Decode(h.Counts) == nil { // as the merge has found
				x.merge(of, counted)
			}
		}
	}
}

func (x *glance) merge(client string, h *hdr.Histogram) {
	if x.latency[client] == nil {
		x.latency[client] = new(hdr.Histogram)
	}
	x.latency[client].Merge(h)
}

// judge looks at the window that ends with a second of the run.
func (g *guard) judge(last int64) string {
	w := &glance{good: map[string]int64{}, bad: map[string]int64{}, latency: map[string]*hdr.Histogram{}}
	first := max(last-g.seconds+1, 0)
	for s := first; s <= last; s++ {
		x := g.recent[s]
		if x == nil {
			continue
		}
		w.to = x.to
		for of, n := range x.good {
			w.good[of] += n
		}
		for of, n := range x.bad {
			w.bad[of] += n
		}
		for of, h := range x.latency {
			w.merge(of, h)
		}
	}
	length := w.to - time.Duration(first)*time.Second
	return firstOf(g.failing(w, length), g.slow(w, length), g.fast(w, length))
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// failing tells of a client whose operations fail.
func (g *guard) failing(w *glance, length time.Duration) string {
	if g.ErrorRate == 0 {
		return ""
	}
	for _, of := range slices.Sorted(maps.Keys(w.bad)) {
		n := w.bad[of]
		all := n + w.good[of]
		if strings.HasPrefix(of, "vu.") { // iterations count those with errors
			all = w.good[of]
		}
		if all >= enough && float64(n) > g.ErrorRate*float64(all) {
			return fmt.Sprintf("guard: %.1f %% of the operations of %s failed in %v, and at most %.1f %% may", 100*float64(n)/float64(all), of, length.Round(time.Millisecond), 100*g.ErrorRate)
		}
	}
	return ""
}

// slow tells of a client whose operations take too long.
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

// fast tells of more operations than there may be, whatever came of them.
func (g *guard) fast(w *glance, length time.Duration) string {
	if g.Rate == 0 || length <= 0 {
		return ""
	}
	clients := map[string]bool{}
	for of := range w.latency {
		clients[of] = true
	}
	for _, counts := range []map[string]int64{w.good, w.bad} {
		for of := range counts {
			clients[of] = !strings.HasPrefix(of, "vu.")
		}
	}
	all := int64(0)
	for of, is := range clients {
		if !is {
			continue
		}
		n := w.good[of] + w.bad[of]
		if h := w.latency[of]; h != nil {
			n = max(n, int64(h.Count()))
		}
		all += n
	}
	if rate := float64(all) / length.Seconds(); rate > g.Rate {
		return fmt.Sprintf("guard: %.0f operations a second were done, and at most %.0f may", rate, g.Rate)
	}
	return ""
}
