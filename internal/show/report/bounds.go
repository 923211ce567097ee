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

// own describes how much of a percentile, or the maximum, may be gobench's own: "3.70 ms", or of
// more than half "all but 28.0 ms"; "" if that is not notable.
func (f quantile) own(m run.Metric) string {
	switch {
	case !notable(f.value, f.bound) || f.lost || f.few:
		return ""
	case f.bound > f.value/2:
		return "all but " + f.format(m, max(0, f.value-f.bound))
	}
	return f.format(m, f.bound)
}

// owns returns the row below that of m in a table of percentiles: how much of each may be
// gobench's own; nil if none of it is notable.
func owns(m run.Metric) []cell {
	row, any := cells("  may be gobench's own"), false
	for _, f := range quantiles(m) {
		s := f.own(m)
		any = any || s != ""
		row = append(row, cell{text: s, tone: warn})
	}
	if !any {
		return nil
	}
	return row
}

// ownTimes describes how much of the main times may be gobench's own: "of this may be gobench's
// own: 3.70 ms of p99, all but 28.0 ms of max"; "" if none of it is notable.
func ownTimes(r *run.Result) string {
	m := mainMetric(r)
	if m == nil {
		return ""
	}
	var all []string
	for _, f := range quantiles(*m) {
		if s := f.own(*m); s != "" && (f.name == "p50" || f.name == "p99" || f.name == "max") {
			all = append(all, s+" of "+f.name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "of this may be gobench's own: " + strings.Join(all, ", ")
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
