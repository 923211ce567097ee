package threshold

import (
	"fmt"
	"math"

	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/run"
)

// decision is what a tally says of a threshold: crossed, unsure, or met.
type decision struct {
	value   float64
	crossed bool
	unsure  string // why it is neither crossed nor met for certain
	few     bool   // that is because of too few values for a percentile
}

// decide judges t; ok is false if the threshold's statistic has no value in it. It is undecided if the
// condition holds for the figure as recorded and not without what gobench delayed (see package delay),
// or the other way round, and if a percentile has too few values, unless all of them violate it.
func (j *judge) decide(t tally) (d decision, ok bool) {
	d.value, ok = j.figure(t)
	if !ok {
		return d, false
	}
	if math.IsInf(d.value, 1) || t.histogram == nil || !ofDistribution(j.Stat) {
		d.crossed = !j.holds(d.value)
		return d, true
	}
	if q, is := percentile(j.Stat); is && !run.Enough(q, int64(t.histogram.Count())+t.lost) {
		d.crossed = !j.holds(float64(t.histogram.Min())) && !j.holds(float64(t.histogram.Max()))
		if !d.crossed {
			d.few = true
			d.unsure = fmt.Sprintf("%d values are too few for %s: it needs %.0f", t.histogram.Count(), j.Stat, math.Ceil(1/(1-q)-1e-6))
		}
		return d, true
	}
	low := d.value
	if t.disturbed != nil && j.Stat != "min" && j.Stat != "stdev" {
		least := t
		least.histogram = delay.Times{All: t.histogram, Disturbed: t.disturbed, Corrected: t.corrected}.Least()
		low, _ = j.figure(least)
	}
	between := low < j.bound() && j.bound() < d.value && (j.Op == "==" || j.Op == "!=")
	switch high := j.holds(d.value); {
	case high != j.holds(low), between:
		d.unsure = fmt.Sprintf("without what gobench itself delayed it may be %s", j.shown(low))
	default:
		d.crossed = !high
	}
	return d, true
}
