package report

import (
	"fmt"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// A bound is shown from this share of its figure and this time on, or from a millisecond on.
const (
	boundShare = 0.01
	boundLeast = 0.1 // ms
	boundMuch  = 1.0 // ms
)

// notable reports whether so much of a time may be gobench's own that a reader should know; both
// are in ms.
func notable(value, bound float64) bool {
	return bound >= boundMuch || bound > boundLeast && bound > boundShare*value
}

// least formats what a percentile, or the maximum, is at least without what may be gobench's own of
// it; "" if the difference is not notable.
func (f quantile) least(m run.Metric) string {
	if !notable(f.value, f.bound) || f.lost || f.few {
		return ""
	}
	return f.format(m, max(0, f.value-f.bound))
}

// leasts returns the row below that of m in a table of percentiles: what each is at least without
// gobench's own delays; nil if none of them is notably less.
func leasts(m run.Metric) []cell {
	row, any := cells("  without gobench's delays, at least"), false
	for _, f := range quantiles(m) {
		s := f.least(m)
		any = any || s != ""
		row = append(row, cell{text: s, tone: warn})
	}
	if !any {
		return nil
	}
	return row
}

// leastTimes describes what the main times are at least: "without gobench's own delays at least: p99
// 20.0 ms, max 28.0 ms"; "" if that is notably less of none.
func leastTimes(r *run.Result) string {
	m := mainMetric(r)
	if m == nil {
		return ""
	}
	var all []string
	for _, f := range quantiles(*m) {
		if s := f.least(*m); s != "" && (f.name == "p50" || f.name == "p99" || f.name == "max") {
			all = append(all, f.name+" "+s)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "without gobench's own delays at least: " + strings.Join(all, ", ")
}

// missingRate describes by how much the rate of what r counts in role may be too low: ", up to 260/s
// more without gobench's delays"; "" if that is under 1 %.
func missingRate(r *run.Result, role run.Role) string {
	var bound, rate float64
	for _, m := range r.Metrics {
		if m.Role == role && m.Whole() && m.RPS != nil {
			bound, rate = bound+m.Bounds["rps"], rate+*m.RPS
		}
	}
	if bound <= boundShare*rate {
		return ""
	}
	return fmt.Sprintf(", up to %s/s more without gobench's delays", units.Rate(bound))
}
