package merge

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// row is one interval of the series while executors add to it.
type row struct {
	from, to   time.Duration
	counters   map[int]int64 // by metric number
	histograms map[int]*hdr.Histogram
	failures   int64
	warmup     bool
}

func (r *row) histogram(n int) *hdr.Histogram {
	h := r.histograms[n]
	if h == nil {
		h = new(hdr.Histogram)
		r.histograms[n] = h
	}
	return h
}

// row gives the interval that b belongs to. Executors cut at the same moments: ends
// of intervals, borders of warm-ups.
func (m *Merger) row(b *wire.Batch) *row {
	r := m.rows[b.FromNs]
	if r == nil {
		r = &row{from: time.Duration(b.FromNs), counters: map[int]int64{}, histograms: map[int]*hdr.Histogram{}, warmup: b.Warmup}
		m.rows[b.FromNs] = r
	}
	r.to = max(r.to, time.Duration(b.ToNs))
	return r
}

// Intervals gives the intervals that all executors have reported since the last
// call, in order. Those not yet reported by all stay, until all is true.
func (m *Merger) Intervals(all bool) []run.Interval {
	until := int64(math.MaxInt64) // all that begin before it are whole
	for _, s := range m.executors {
		if s.final == nil && !all { // else it has reported all it ever will
			until = min(until, s.to)
		}
	}
	var out []run.Interval
	for _, from := range slices.Sorted(maps.Keys(m.rows)) {
		if from >= until {
			break
		}
		out = append(out, m.recordOf(m.rows[from]))
		m.spread(m.rows[from])
		if m.each != nil {
			m.each(m.countsOf(m.rows[from]))
		}
		delete(m.rows, from)
	}
	return out
}

// Counts is what one interval recorded, in a form that can be added to that of
// others.
type Counts struct {
	From, To   time.Duration
	Warmup     bool
	Metrics    []run.Metric              // all that are declared, without their records
	Counters   map[string]int64          // by title; what recorded nothing is left out
	Gauges     map[string]int64          // by title
	Histograms map[string]*hdr.Histogram // by title; the receiver's own from now on
}

// OnInterval has f called with each interval that Intervals gives out, before it
// returns.
func (m *Merger) OnInterval(f func(Counts)) { m.each = f }

func (m *Merger) countsOf(r *row) Counts {
	c := Counts{From: r.from, To: r.to, Warmup: r.warmup, Metrics: m.declares,
		Counters: map[string]int64{}, Gauges: map[string]int64{}, Histograms: map[string]*hdr.Histogram{}}
	for n, v := range r.counters {
		c.Counters[m.metrics[n].Title] = v
	}
	for n, h := range r.histograms {
		c.Histograms[m.metrics[n].Title] = h
	}
	for _, t := range m.metrics {
		if t.kind == gauge {
			c.Gauges[t.Title] = t.value()
		}
	}
	return c
}

// recordOf makes the record of one row.
func (m *Merger) recordOf(r *row) run.Interval {
	length := (r.to - r.from).Seconds()
	i := run.Interval{Start: m.began.Add(r.from), From: r.from.Seconds(), Seconds: length, Errors: r.failures, Warmup: r.warmup, Metrics: map[string]run.Record{}}
	for n, v := range r.counters {
		i.Metrics[m.metrics[n].Title] = m.metrics[n].record(v, nil, length)
	}
	for n, h := range r.histograms {
		record := m.metrics[n].record(0, h, length)
		if lost := m.lostOf(m.metrics[n]); lost != nil {
			record.Lost = counted(r.counters[lost.number])
		}
		i.Metrics[m.metrics[n].Title] = record
	}
	for _, t := range m.metrics {
		if t.kind == gauge {
			i.Metrics[t.Title] = t.record(0, nil, length)
		}
	}
	return i
}

// perMilli is in what parts of a second's count the rates of counters are kept.
const perMilli = 1000

// spread takes the rates of a whole interval's counters.
func (m *Merger) spread(r *row) {
	length := r.to - r.from
	if r.warmup || length < m.interval*9/10 {
		return
	}
	for _, t := range m.metrics {
		if t.kind == counter {
			t.rates.Record(int64(float64(r.counters[t.number]) / length.Seconds() * perMilli))
		}
	}
}

// spreadOf tells how a counter's rate spread; nil: there were no whole intervals.
func (t *metric) spreadOf() *run.Spread {
	if t.kind != counter || t.rates.Count() == 0 {
		return nil
	}
	stdev := t.rates.StdDev()
	return &run.Spread{Stdev: stdev / perMilli, Max: float64(t.rates.Max()) / perMilli, Within: t.rates.Within(t.rates.Mean()-stdev, t.rates.Mean()+stdev)}
}

// lostOf is the counter of the operations that a histogram lacks, if there is one.
func (m *Merger) lostOf(t *metric) *metric {
	if t.kind != histogram {
		return nil
	}
	for _, title := range run.LostTitles(t.Title) {
		if lost := m.byTitle[title]; lost != nil && lost.kind == counter {
			return lost
		}
	}
	return nil
}

// counted is n, if there is any.
func counted(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// record gives what a metric recorded in some seconds: sum for a counter, h for a
// histogram; a gauge gives the sum of its executors' values.
func (t *metric) record(sum int64, h *hdr.Histogram, seconds float64) run.Record {
	switch t.kind {
	case counter:
		return run.Record{Count: &sum, RPS: per(float64(sum), seconds)}
	case gauge:
		value := t.value()
		return run.Record{Value: &value}
	}
	n := int64(h.Count())
	r := run.Record{Count: &n, RPS: per(float64(n), seconds)}
	if n == 0 {
		return r
	}
	unit := 1.0
	if t.Unit == "ns" {
		unit = 1e-6 // shown in ms
	}
	q := func(q float64) float64 { return float64(h.Quantile(q)) * unit }
	s := run.Sizes{Avg: h.Mean() * unit, Min: float64(h.Min()) * unit, P50: q(0.5), P90: q(0.9), P95: q(0.95), P99: q(0.99),
		P999: q(0.999), Max: float64(h.Max()) * unit, Stdev: h.StdDev() * unit}
	within := h.Within(h.Mean()-h.StdDev(), h.Mean()+h.StdDev())
	r.Within = &within
	if t.Unit == "ns" {
		times := run.Times(s)
		r.Times = &times
	} else {
		r.Sizes = &s
	}
	return r
}

// value is the sum of a gauge's values on all executors.
func (t *metric) value() (sum int64) {
	for _, v := range t.gauges {
		sum += v
	}
	return sum
}

func per(n, seconds float64) *float64 {
	if seconds > 0 {
		n /= seconds
	} else {
		n = 0
	}
	return &n
}
