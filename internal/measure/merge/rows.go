package merge

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// row is one interval of the series while executors add to it.
type row struct {
	from, to time.Duration
	phases   [2]counts     // what was recorded in that time, by phase
	gauges   map[int]int64 // when the row is returned
	warmup   bool          // the time is of a warm-up
	drain    bool          // the time is of the drain, on all executors
	late     bool          // a row of this time has been returned before
}

// phase returns the index of a phase: 0 is the measured time, 1 the warm-up.
func phase(warmup bool) int {
	if warmup {
		return 1
	}
	return 0
}

// counts are what was recorded of one phase. The zero value is empty.
type counts struct {
	counters   map[int]int64 // by metric number, as histograms
	histograms map[int]*hdr.Histogram
	failures   int64
}

// add adds to the counter of metric number n.
func (c *counts) add(n int, v int64) {
	if c.counters == nil {
		c.counters = map[int]int64{}
	}
	c.counters[n] += v
}

// histogram returns the histogram of metric number n, a new one if it is missing.
func (c *counts) histogram(n int) *hdr.Histogram {
	h := c.histograms[n]
	if h == nil {
		h = new(hdr.Histogram)
		c.put(n, h)
	}
	return h
}

// put sets the histogram of metric number n.
func (c *counts) put(n int, h *hdr.Histogram) {
	if c.histograms == nil {
		c.histograms = map[int]*hdr.Histogram{}
	}
	c.histograms[n] = h
}

// histogramOf returns the histogram of t; a new one is a reused one if possible: allocating
// them for each interval of many hosts is much work for the garbage collector.
func (c *counts) histogramOf(t *metric) *hdr.Histogram {
	if n := len(t.spare); n > 0 && c.histograms[t.number] == nil {
		c.put(t.number, t.spare[n-1])
		t.spare = t.spare[:n-1]
	}
	return c.histogram(t.number)
}

// empty reports whether nothing was recorded.
func (c *counts) empty() bool { return len(c.counters)+len(c.histograms) == 0 && c.failures == 0 }

// all returns what r recorded of both phases. If only one has something, it shares its maps.
func (r *row) all() counts {
	switch {
	case r.phases[1].empty():
		return r.phases[0]
	case r.phases[0].empty():
		return r.phases[1]
	}
	var sum counts
	for _, c := range r.phases {
		for n, v := range c.counters {
			sum.add(n, v)
		}
		for n, h := range c.histograms {
			sum.histogram(n).Merge(h)
		}
		sum.failures += c.failures
	}
	return sum
}

// recycle takes the histograms of counts that are no longer referenced for reuse, at most two
// for each metric.
func (m *Merger) recycle(c *counts) {
	for n, h := range c.histograms {
		if t := m.metrics[n]; len(t.spare) < 2 {
			h.Reset()
			t.spare = append(t.spare, h)
		}
	}
}

// row returns the interval that begins when b does, creating it if needed, and extends it
// to b's end. Executors cut at the same times: ends of intervals and of warm-ups.
func (m *Merger) row(b *wire.Batch) *row {
	r := m.rows[b.FromNs]
	if r == nil {
		r = &row{from: time.Duration(b.FromNs), warmup: b.InWarmup(), drain: b.Drain}
		m.rows[b.FromNs] = r
	}
	r.drain = r.drain && b.Drain
	r.to = max(r.to, time.Duration(b.ToNs))
	return r
}

// Intervals returns and removes the intervals that all executors have reported, in order;
// nil if no interval is complete. It does not wait for lost executors. With all true it
// returns incomplete intervals too. What arrives after its interval was returned is in the
// totals, and passed to OnPart's function.
func (m *Merger) Intervals(all bool) []run.Interval {
	until := int64(math.MaxInt64) // all rows that begin before it are complete
	if !all {
		until = m.reported()
	}
	var out []run.Interval
	for _, from := range slices.Sorted(maps.Keys(m.rows)) {
		if from >= until && from >= m.returned { // a late row waits for no executor
			break
		}
		r := m.rows[from]
		delete(m.rows, from)
		if r.late = from < m.returned; !r.late {
			m.returned = from + 1
			r.gauges = m.values()
			out = append(out, m.recordOf(r))
			m.spread(r)
		}
		if m.parts != nil {
			for _, p := range r.parts() {
				m.parts(p)
			}
		}
		m.recycle(&r.phases[1])
		if m.each != nil && !r.late {
			m.each(m.countsOf(r)) // which owns the histograms from now on
		} else {
			m.recycle(&r.phases[0])
		}
	}
	return out
}

// reported returns the time, ns since the begin of the load, up to which all expected
// executors have reported; math.MaxInt64 if no more batches are expected. It remembers the
// slowest: usually only that one of a thousand must be checked.
func (m *Merger) reported() int64 {
	if s := m.slowest; s != nil && s.awaited() && s.to == m.slowestTo {
		return s.to
	}
	m.slowest = nil
	until := int64(math.MaxInt64)
	for _, s := range m.executors {
		if s.awaited() && s.to < until {
			until, m.slowest, m.slowestTo = s.to, s, s.to
		}
	}
	return until
}

// values returns the current gauges, each the sum over the executors, by metric number.
func (m *Merger) values() map[int]int64 {
	values := map[int]int64{}
	for _, t := range m.metrics {
		if t.Type == run.Gauge {
			values[t.number] = t.value()
		}
	}
	return values
}

// Counts is what one interval recorded of the measured phase, in a form that can be added to
// that of others.
type Counts struct {
	From, To   time.Duration
	Warmup     bool                      // the time is of a warm-up
	Metrics    []run.Metric              // all that are declared, without their records
	Counters   map[string]int64          // by title; without those that recorded nothing
	Gauges     map[string]int64          // by title
	Histograms map[string]*hdr.Histogram // by title; owned by the receiver
}

// OnInterval sets a function that is called with each interval before Intervals returns it.
// f must not call Add or Intervals.
func (m *Merger) OnInterval(f func(Counts)) { m.each = f }

// countsOf returns what a row recorded of the measured phase, by title. It shares the row's histograms, and the
// Merger's list of metrics.
func (m *Merger) countsOf(r *row) Counts {
	c := Counts{From: r.from, To: r.to, Warmup: r.warmup, Metrics: m.declares,
		Counters: map[string]int64{}, Gauges: map[string]int64{}, Histograms: map[string]*hdr.Histogram{}}
	for n, v := range r.phases[0].counters {
		c.Counters[m.metrics[n].Title] = v
	}
	for n, h := range r.phases[0].histograms {
		c.Histograms[m.metrics[n].Title] = h
	}
	for n, v := range r.gauges {
		c.Gauges[m.metrics[n].Title] = v
	}
	return c
}

// recordOf returns one row as an interval, with the record of each metric that recorded in
// it. All its metrics must be declared.
func (m *Merger) recordOf(r *row) run.Interval {
	length := (r.to - r.from).Seconds()
	i := run.Interval{Start: m.began.Add(r.from), From: r.from.Seconds(), Seconds: length, Warmup: r.warmup}
	all := r.all()
	i.Errors = run.OutcomeOf(m.declares, func(t run.Metric) int64 { return all.counters[m.byTitle[t.Title].number] }).Main().Bad()
	i.Metrics = m.records(&all, length)
	for n, v := range r.gauges {
		i.Metrics[m.metrics[n].Title] = m.metrics[n].record(v, nil, unmeasured{}, length)
	}
	if !r.phases[0].empty() && !r.phases[1].empty() {
		i.Phases = &run.Phases{Measured: m.records(&r.phases[0], length), Warmup: m.records(&r.phases[1], length)}
	}
	return i
}

// records returns the records, by title, of what was recorded in some seconds.
func (m *Merger) records(c *counts, seconds float64) map[string]run.Record {
	all := make(map[string]run.Record, len(c.counters)+len(c.histograms))
	for n, v := range c.counters {
		all[m.metrics[n].Title] = m.metrics[n].record(v, nil, unmeasured{}, seconds)
	}
	for n, h := range c.histograms {
		lost := m.unmeasuredOf(m.metrics[n], func(t *metric) int64 { return c.counters[t.number] }, func(t *metric) *hdr.Histogram { return c.histograms[t.number] })
		r := m.metrics[n].record(0, h, lost, seconds)
		r.Bounds = boundsOf(m.timesOf(m.metrics[n], lost.n, func(t *metric) *hdr.Histogram { return c.histograms[t.number] }), m.metrics[n].unit())
		all[m.metrics[n].Title] = r
	}
	return all
}

// counted returns a pointer to n, or nil if n is 0.
func counted(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// record returns what a metric recorded in some seconds: sum for a counter or a gauge, h,
// which may be empty but not nil, for a histogram, without what it lacks.
func (t *metric) record(sum int64, h *hdr.Histogram, l unmeasured, seconds float64) run.Record {
	switch t.Type {
	case run.Counter:
		return run.Record{Count: &sum, RPS: per(float64(sum), seconds)}
	case run.Gauge:
		return run.Record{Value: &sum}
	case run.Histogram:
		return t.distribution(h, l, seconds)
	}
	return run.Record{}
}

// unit returns the factor from recorded values to shown ones: times are shown in ms.
func (t *metric) unit() float64 {
	if t.Unit == "ns" {
		return 1e-6
	}
	return 1
}

// distribution returns what a histogram's metric recorded in some seconds: times in ms if
// its unit is ns, else sizes in its unit; only count, rate and lost if h is empty. Percentiles
// are those among all, the lost ones being the slowest.
func (t *metric) distribution(h *hdr.Histogram, l unmeasured, seconds float64) run.Record {
	n := int64(h.Count())
	r := run.Record{Count: &n, Lost: counted(l.n), RPS: per(float64(n), seconds)}
	unit := t.unit()
	r.AtLeast = l.atLeast(n, unit)
	if n == 0 {
		return r
	}
	q := func(q float64) run.Quantile {
		if !run.Answered(q, n, l.n) {
			return run.NoAnswer
		}
		return run.Quantile(float64(h.QuantileAmong(q, l.n)) * unit)
	}
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

// value returns the sum of a gauge's values on all executors.
func (t *metric) value() (sum int64) {
	for _, v := range t.gauges {
		sum += v
	}
	return sum
}

// per returns a pointer to n a second; to 0 if seconds is 0 or less.
func per(n, seconds float64) *float64 {
	if seconds > 0 {
		n /= seconds
	} else {
		n = 0
	}
	return &n
}
