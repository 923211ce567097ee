package merge

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// perMilli is the unit of the rates of counters: thousandths per second.
const perMilli = 1000

// rated is the rates of the counters in one interval, by metric number, perMilli.
type rated struct {
	to    time.Duration
	rates []int64
}

// spread adds the rates of a row's counters to their distributions over time. Rows of a
// warm-up and those shorter than 90 % of an interval are left out. The last row in which
// something began, and those after it, wait: they may be of the drain.
func (m *Merger) spread(r *row) {
	length := r.to - r.from
	if r.warmup || length < m.interval*9/10 {
		return
	}
	all := r.all()
	x, begins, known := rated{to: r.to, rates: make([]int64, len(m.metrics))}, false, false
	for _, t := range m.metrics {
		n := all.counters[t.number]
		x.rates[t.number] = int64(float64(n) / length.Seconds() * perMilli)
		if t.Role == run.OpBegun || t.Role == run.ClassBegun {
			begins, known = begins || n > 0, true
		}
	}
	if begins || !known {
		for _, t := range m.metrics {
			m.addRates(t, &t.rates, m.last)
		}
		m.last = m.last[:0]
	}
	m.last = append(m.last, x)
}

// addRates adds the rates of a counter to its distribution.
func (m *Merger) addRates(t *metric, to *hdr.Histogram, rows []rated) {
	if t.Type != run.Counter {
		return
	}
	for _, x := range rows {
		if t.number < len(x.rates) {
			to.Record(x.rates[t.number])
		} else {
			to.Record(0) // it was declared later
		}
	}
}

// ofLoad returns the waiting rows that are of the load, once it is known when that ended.
func (m *Merger) ofLoad() []rated {
	for _, s := range m.executors {
		if s.awaited() {
			return m.last
		}
	}
	end := m.Warmup() + m.Measured() + m.interval/10
	n := 0
	for n < len(m.last) && m.last[n].to <= end {
		n++
	}
	return m.last[:n]
}

// spreadOf returns how a counter's rate, per second, spread over the whole intervals of the load,
// whose highest is at least the average; nil if t is no counter or there was no whole interval.
// rows are those of ofLoad.
func (m *Merger) spreadOf(t *metric, rows []rated, average float64) *run.Spread {
	if t.Type != run.Counter || t.rates.Count() == 0 && len(rows) == 0 {
		return nil
	}
	rates := new(hdr.Histogram)
	rates.Merge(&t.rates)
	m.addRates(t, rates, rows)
	stdev := rates.StdDev()
	return &run.Spread{Stdev: stdev / perMilli, Max: max(float64(rates.Max())/perMilli, average), Within: rates.Within(rates.Mean()-stdev, rates.Mean()+stdev)}
}
