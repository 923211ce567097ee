package meter

import (
	"slices"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/hdr"
)

// Cut is what was recorded between two cuts. The registry owns it; it is valid until the
// next cut.
type Cut struct {
	First    int     // index of Declared[0] among all metrics
	Declared []Decl  // metrics declared since the previous cut, in index order
	Gauges   []Value // every declared gauge
	Own      Counted // of the phase of the cut's time, or without a phase
	Other    Counted // of the other phase: it began before the last border of a warm-up
	Samples  []Sample
	Refused  int64 // recordings refused because of a negative value, in all cuts so far
}

// Counted is what was counted of one phase.
type Counted struct {
	Counters   []Value          // what each counter grew by; without those that did not
	Histograms []HistogramValue // recordings of each histogram that had any
	Failures   []FailureCount
}

// Empty reports whether nothing was counted.
func (c *Counted) Empty() bool { return len(c.Counters)+len(c.Histograms)+len(c.Failures) == 0 }

// Value is a counter's growth or a gauge's value.
type Value struct {
	Metric int // index among all metrics
	Value  int64
}

// HistogramValue is what a histogram recorded.
type HistogramValue struct {
	Metric    int
	Histogram *hdr.Histogram
}

// FailureCount is how often a kind of failure occurred.
type FailureCount struct {
	Failure
	Count int64
}

// Cut returns everything recorded since the last cut, or since New, in a time of this phase;
// the result is valid until the next call. All recordings of an Entry are in the same cut.
// Recorders wait only while the pointers of their shard are swapped; the sums are computed
// outside of its mutex.
func (r *Registry) Cut(own Phase) *Cut {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.declared.Load() // cannot change while mu is held
	r.grow(d)
	r.own.reset()
	r.other.reset()
	for _, s := range r.shards {
		for p := range s.all {
			to := &r.own
			if phase := Phase(p); phase != NoPhase && phase != own {
				to = &r.other
			}
			r.drain(s, &s.all[p], to)
		}
	}
	c := &r.cut
	*c = Cut{First: r.known, Declared: d.decls[r.known:], Gauges: c.Gauges[:0], Own: c.Own, Other: c.Other, Samples: r.samples.cut(), Refused: r.refused.Load()}
	r.known = len(d.decls)
	for i, m := range d.metrics {
		if m.kind == gauge {
			c.Gauges = append(c.Gauges, Value{i, m.gauge.Load()})
		}
	}
	r.count(d, &r.own, &c.Own)
	r.count(d, &r.other, &c.Other)
	r.failures.cut(own, &c.Own.Failures, &c.Other.Failures)
	return c
}

// count adds what a cut has drained to the sums of all cuts, and sets c, whose slices it
// reuses, to it. The caller must hold mu.
func (r *Registry) count(d *declared, from *delta, c *Counted) {
	c.Counters, c.Histograms = c.Counters[:0], c.Histograms[:0]
	if !from.any {
		return
	}
	var recorded []*metric
	defer func() {
		for _, m := range recorded { // its companions have been counted by now
			m.typical.Store(int64(delay.Typical(r.totals[m.slot], r.totals[m.disturbed.slot])))
		}
	}()
	for i, m := range d.metrics {
		switch m.kind {
		case counter:
			if add := from.counters[m.slot]; add != 0 {
				c.Counters = append(c.Counters, Value{i, add})
				r.sums[m.slot] += add
			}
		case histogram:
			if h := from.histograms[m.slot]; h != nil && h.Count() > 0 {
				c.Histograms = append(c.Histograms, HistogramValue{i, h})
				r.totals[m.slot].Merge(h)
				if m.disturbed != nil {
					recorded = append(recorded, m)
				}
			}
		}
	}
}

// delta is the sum of what a cut drains of one phase. Its slices are as long as there are
// slots; histograms are nil until something is recorded.
type delta struct {
	counters   []int64
	histograms []*hdr.Histogram
	any        bool // something was drained
}

// reset empties d.
func (d *delta) reset() {
	if !d.any {
		return
	}
	d.any = false
	clear(d.counters)
	for _, h := range d.histograms {
		if h != nil {
			h.Reset()
		}
	}
}

// grow makes room for all of d's metrics. The caller must hold mu.
func (r *Registry) grow(d *declared) {
	for len(r.sums) < d.slots[counter] {
		r.sums = append(r.sums, 0)
		r.own.counters = append(r.own.counters, 0)
		r.other.counters = append(r.other.counters, 0)
	}
	for len(r.totals) < d.slots[histogram] {
		r.totals = append(r.totals, new(hdr.Histogram))
		r.spares = append(r.spares, new(hdr.Histogram))
		r.own.histograms = append(r.own.histograms, nil)
		r.other.histograms = append(r.other.histograms, nil)
	}
}

// drain moves what p, a part of s, holds to the cut's sums. The spares are empty before and
// after. The caller must hold r.mu, and not s.mu, and must have called grow.
func (r *Registry) drain(s *shard, p *part, to *delta) {
	s.mu.Lock()
	for slot, n := range p.counters {
		if n != 0 {
			to.counters[slot] += n
			p.counters[slot] = 0
			to.any = true
		}
	}
	swapped := false
	for slot, h := range p.histograms {
		if h != nil && h.Count() > 0 {
			p.histograms[slot], r.spares[slot] = r.spares[slot], h
			swapped = true
		}
	}
	s.mu.Unlock()
	if !swapped {
		return
	}
	to.any = true
	for slot, h := range r.spares {
		if h.Count() > 0 {
			if to.histograms[slot] == nil {
				to.histograms[slot] = new(hdr.Histogram)
			}
			to.histograms[slot].Merge(h)
			h.Reset()
		}
	}
}

// Sum is what a counter has counted, or the number of a histogram's recordings; 0 for a gauge.
type Sum struct {
	Type metrics.Type
	N    int64
}

// Sums returns the sum of every metric so far, of both phases, in index order.
func (r *Registry) Sums() []Sum {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.declared.Load()
	r.grow(d)
	counters, histograms := slices.Clone(r.sums), make([]int64, len(r.totals))
	for i, h := range r.totals {
		histograms[i] = int64(h.Count())
	}
	for _, s := range r.shards {
		s.mu.Lock()
		for _, p := range s.all {
			for slot, n := range p.counters {
				counters[slot] += n
			}
			for slot, h := range p.histograms {
				if h != nil {
					histograms[slot] += int64(h.Count())
				}
			}
		}
		s.mu.Unlock()
	}
	all := make([]Sum, len(d.metrics))
	for i, m := range d.metrics {
		all[i].Type = d.decls[i].Type
		switch m.kind {
		case counter:
			all[i].N = counters[m.slot]
		case histogram:
			all[i].N = histograms[m.slot]
		}
	}
	return all
}

// Total is a metric with its sum over all cuts so far.
type Total struct {
	Decl
	Value     int64          // a counter's sum, a gauge's value
	Histogram *hdr.Histogram // a histogram's recordings: a view, valid until the next cut
}

// Totals returns every metric with its sum over all cuts so far, in index order; what was
// recorded since the last cut is left out, except that gauges have their current value. It
// panics for a connected registry with counters or histograms.
func (r *Registry) Totals() []Total {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.declared.Load()
	r.grow(d)
	ts := make([]Total, len(d.decls))
	for i, decl := range d.decls {
		ts[i].Decl = decl
		switch m := d.metrics[i]; decl.Type {
		case metrics.Counter:
			ts[i].Value = r.sums[m.slot]
		case metrics.Gauge:
			ts[i].Value = m.gauge.Load()
		case metrics.Histogram:
			ts[i].Histogram = r.totals[m.slot]
		}
	}
	return ts
}
