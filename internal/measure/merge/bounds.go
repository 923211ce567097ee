package merge

import (
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// TimesOf returns the distribution over the run so far of the metric that counts c, without
// warm-ups, with what gobench delayed of it, and how many operations it lacks; ok is false if no
// such histogram is declared. The histograms are the Merger's own, valid until the next Add.
func (m *Merger) TimesOf(c run.Counts) (t delay.Times, ok bool) {
	of := m.byCounts[c]
	if of == nil || of.Type != run.Histogram {
		return t, false
	}
	rest := m.unended()
	lost := m.unmeasuredOf(of, func(t *metric) int64 { return t.sum + rest[t] }, func(t *metric) *hdr.Histogram { return t.hist })
	return m.timesOf(of, lost.n, func(t *metric) *hdr.Histogram { return t.hist }), true
}

// timesOf returns the distribution of t, a histogram, with its companions; hist returns the
// recordings of a histogram, which may be nil.
func (m *Merger) timesOf(t *metric, lost int64, hist func(*metric) *hdr.Histogram) delay.Times {
	times := delay.Times{All: hist(t), Lost: lost}
	if disturbed, corrected, ok := t.Role.Companions(); ok {
		if x := m.byCounts[t.Counts.As(disturbed)]; x != nil {
			times.Disturbed = hist(x)
		}
		if x := m.byCounts[t.Counts.As(corrected)]; x != nil {
			times.Corrected = hist(x)
		}
	}
	return times
}

// boundsOf returns the bounds of a distribution as a Record has them, of values in unit.
func boundsOf(t delay.Times, unit float64) map[string]float64 {
	if !t.Any() {
		return nil
	}
	of, all := delay.Of(t), map[string]float64{}
	add := func(name string, bound float64) {
		if bound > 0 {
			all[name] = bound * unit
		}
	}
	for i, x := range run.QuantileNames {
		add(x.Name, float64(of.Quantiles[i]))
	}
	add("max", float64(of.Max))
	add("avg", of.Avg)
	if len(all) == 0 {
		return nil
	}
	return all
}
