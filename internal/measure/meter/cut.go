package meter

import (
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/hdr"
)

// Cut is what was recorded between two cuts. The registry owns it; it is valid until the
// next cut.
type Cut struct {
	First      int              // index of Declared[0] among all metrics
	Declared   []Decl           // metrics declared since the previous cut, in index order
	Counters   []Value          // what each counter grew by; without those that did not
	Gauges     []Value          // every declared gauge
	Histograms []HistogramValue // recordings of each histogram that had any
	Failures   []FailureCount
	Samples    []Sample
	Refused    int64 // recordings refused because of a negative value, in all cuts so far
}

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

// Cut returns everything recorded since the last cut, or since New; the result is valid
// until the next call. All recordings of an Entry are in the same cut. Recorders wait only
// while the pointers of their shard are swapped; the sums are computed outside of its
// mutex.
func (r *Registry) Cut() *Cut {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.declared.Load() // cannot change while mu is held
	r.grow(d)
	for _, h := range r.deltas {
		h.Reset()
	}
	for _, s := range r.shards {
		r.drain(s)
	}
	c := &r.cut
	*c = Cut{First: r.known, Declared: d.decls[r.known:], Counters: c.Counters[:0], Gauges: c.Gauges[:0],
		Histograms: c.Histograms[:0], Failures: r.failures.cut(c.Failures[:0]), Samples: r.samples.cut(), Refused: r.refused.Load()}
	r.known = len(d.decls)
	for i, m := range d.metrics {
		switch m.kind {
		case counter:
			if add := r.adds[m.slot]; add != 0 {
				c.Counters = append(c.Counters, Value{i, add})
				r.sums[m.slot] += add
				r.adds[m.slot] = 0
			}
		case gauge:
			c.Gauges = append(c.Gauges, Value{i, m.gauge.Load()})
		case histogram:
			if h := r.deltas[m.slot]; h.Count() > 0 {
				c.Histograms = append(c.Histograms, HistogramValue{i, h})
				r.totals[m.slot].Merge(h)
			}
		}
	}
	return c
}

// grow makes room for all of d's metrics. The caller must hold mu.
func (r *Registry) grow(d *declared) {
	for len(r.sums) < d.slots[counter] {
		r.sums = append(r.sums, 0)
		r.adds = append(r.adds, 0)
	}
	for len(r.totals) < d.slots[histogram] {
		r.totals = append(r.totals, new(hdr.Histogram))
		r.deltas = append(r.deltas, new(hdr.Histogram))
		r.spares = append(r.spares, new(hdr.Histogram))
	}
}

// drain moves what s holds to the cut's sums. The spares are empty before and after. The
// caller must hold r.mu, and not s.mu, and must have called grow.
func (r *Registry) drain(s *shard) {
	s.mu.Lock()
	for slot, n := range s.counters {
		r.adds[slot] += n
		s.counters[slot] = 0
	}
	for slot, h := range s.histograms {
		if h != nil && h.Count() > 0 {
			s.histograms[slot], r.spares[slot] = r.spares[slot], h
		}
	}
	s.mu.Unlock()
	for slot, h := range r.spares {
		if h.Count() > 0 {
			r.deltas[slot].Merge(h)
			h.Reset()
		}
	}
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
