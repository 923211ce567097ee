package merge

import "github.com/gobench-io/gobench/internal/run"

// perMilli is the unit of the rates of counters: thousandths per second.
const perMilli = 1000

// spread adds the rates of a row's counters to their distributions over time. Rows of a
// warm-up, those of the drain, and those shorter than 90 % of an interval are left out.
func (m *Merger) spread(r *row) {
	length := r.to - r.from
	if r.warmup || r.drain || length < m.interval*9/10 {
		return
	}
	all := r.all()
	for _, t := range m.metrics {
		if t.Type == run.Counter {
			t.rates.Record(int64(float64(all.counters[t.number]) / length.Seconds() * perMilli))
		}
	}
}

// spreadOf returns how a counter's rate, per second, spread over the whole intervals of the load,
// whose highest is at least the average; nil if t is no counter or there was no whole interval.
func (t *metric) spreadOf(average float64) *run.Spread {
	if t.Type != run.Counter || t.rates.Count() == 0 {
		return nil
	}
	stdev := t.rates.StdDev()
	return &run.Spread{Stdev: stdev / perMilli, Max: max(float64(t.rates.Max())/perMilli, average), Within: t.rates.Within(t.rates.Mean()-stdev, t.rates.Mean()+stdev)}
}
