package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// figures writes what was counted and measured: totals, then the percentiles of distributions;
// unless the report is full, at most maxRows and maxTimes of them, of totals those that matter
// most.
func (t *text) figures(r *run.Result) {
	metrics, more := shown(r, t.Full)
	t.more += more
	var counted []run.Metric
	var totals, times [][]cell
	var timed []run.Metric
	for _, m := range metrics {
		if m.Type == run.Histogram {
			timed = append(timed, m)
		}
		if t.Full || !aside(m) {
			counted = append(counted, m)
		}
	}
	for _, m := range weightiest(counted, t.limit(len(counted), maxRows)) {
		totals = append(totals, total(m))
	}
	for _, m := range heaviest(timed, t.limit(len(timed), maxTimes), func(m run.Metric) int { return int(oneIf(conditional(r, m))) }) {
		times = append(times, percentiles(m))
		if row := leasts(m); row != nil {
			times = append(times, row)
		}
	}
	t.table([]string{"Totals", "total", "average", "stdev", "max", "±stdev"}, totals)
	t.table([]string{"Percentiles", "p50", "p90", "p95", "p99", "p99.9", "max"}, times)
}

// conditional reports whether a threshold of r is on m.
func conditional(r *run.Result, m run.Metric) bool {
	return slices.ContainsFunc(r.Thresholds, func(x run.Threshold) bool {
		return strings.HasPrefix(x.Expression, m.Title+" ") || strings.HasPrefix(x.Expression, strconv.Quote(m.Title)+" ")
	})
}

// weightiest returns n of metrics, in their order: of all the others go first, the last ones
// first, what clients transferred and opened, then what counts no failure, then failures.
func weightiest(metrics []run.Metric, n int) []run.Metric {
	return heaviest(metrics, n, func(m run.Metric) int {
		switch {
		case m.Role == run.Bytes, m.Role == run.Connections:
			return 0
		case m.Role == run.OpFailed, m.Role == run.OpUnanswered, m.Role == run.StepFailed, m.Role == run.ClassFailed:
			return 2
		}
		return 1
	})
}

// heaviest returns n of metrics, in their order, of the greatest weight, of those of one weight the
// first.
func heaviest(metrics []run.Metric, n int, weight func(run.Metric) int) []run.Metric {
	metrics = slices.Clone(metrics)
	for w := 0; len(metrics) > n; w++ {
		for i := len(metrics) - 1; i >= 0 && len(metrics) > n; i-- {
			if weight(metrics[i]) == w {
				metrics = slices.Delete(metrics, i, i+1)
			}
		}
	}
	return metrics
}

// total returns a row of the table of totals: a metric's name, its sum or number of values
// over the whole run (of a gauge the last value), and its rate or its mean with what is known
// of their spread. What is unknown at the end is left out.
func total(m run.Metric) []cell {
	name := Title(m)
	switch {
	case m.Value != nil:
		return cells(name, units.Count(*m.Value))
	case m.Times != nil:
		return cells(name, units.Count(*m.Count), units.Millis(m.Times.Avg), units.Millis(m.Times.Stdev), units.Millis(m.Times.Max), share(m.Within))
	case m.Sizes != nil:
		return cells(name, units.Count(*m.Count), value(m, m.Sizes.Avg), value(m, m.Sizes.Stdev), value(m, m.Sizes.Max), share(m.Within))
	case m.Count == nil:
		return cells(name)
	}
	count, rate := units.Count(*m.Count), units.Rate
	if m.Unit == "B" {
		count, rate = units.Bytes(float64(*m.Count)), units.Bytes
	}
	if *m.Count == 0 || m.RPS == nil {
		return cells(name, count)
	}
	row := cells(name, count, rate(*m.RPS)+"/s")
	if x := m.Spread; x != nil {
		row = append(row, cells(rate(x.Stdev)+"/s", rate(x.Max)+"/s", share(&x.Within))...)
	}
	return row
}

// unanswered replaces a percentile that lies among operations without an answer.
const unanswered = "no answer"

// lostWord replaces a percentile of m that lies among what did not end well: operations without
// an answer, steps that failed, or iterations that failed, were cut, or never began.
func lostWord(m run.Metric) string {
	switch {
	case m.Role == run.StepTime:
		return "failed"
	case m.Role.OfClass():
		return "not done"
	}
	return unanswered
}

// percentiles returns a row of the table of percentiles: m's name, its percentiles and its
// maximum; only the name if m is empty.
func percentiles(m run.Metric) []cell {
	row := cells(Title(m))
	for _, f := range quantiles(m) {
		c := cell{text: f.short(m)}
		if f.lost {
			c.tone = bad
		}
		row = append(row, c)
	}
	return row
}

// quantile is a percentile of a distribution, or its maximum.
type quantile struct {
	name  string
	value float64 // in milliseconds, or the metric's unit
	few   bool    // there are too few values for it
	lost  bool    // it lies among operations without an answer and has no value
	bound float64 // how much of it may be gobench's own
	over  float64 // of such a one: that operation's age, if it is above all answers; else 0
}

func (f quantile) format(m run.Metric, v float64) string {
	if m.Times != nil || m.Unit == "ns" {
		return units.Millis(v)
	}
	return value(m, v)
}

// of formats a percentile, or the maximum, of m: "1.50 ms", "-" of too few values, "no answer", or
// "no answer, over 3.00 s".
func (f quantile) of(m run.Metric) string {
	switch {
	case f.few:
		return "-"
	case f.lost && f.over > 0:
		return lostWord(m) + ", over " + f.format(m, f.over)
	case f.lost:
		return lostWord(m)
	}
	return f.format(m, f.value)
}

// short is of for a narrow column: "1.50 ms", "-", "no answer", or "over 3.00 s".
func (f quantile) short(m run.Metric) string {
	if f.lost && f.over > 0 {
		return "over " + f.format(m, f.over)
	}
	return f.of(m)
}

// quantiles returns p50, p90, p95, p99, p99.9 and max of a distribution, in this order, without
// max if nothing was answered; nil if it is empty or m is no histogram.
func quantiles(m run.Metric) []quantile {
	known, ok := m.Quantiles()
	if !ok && (m.Lost == nil || *m.Lost == 0) {
		return nil
	}
	var greatest float64
	switch {
	case m.Times != nil:
		greatest = m.Times.Max
	case m.Sizes != nil:
		greatest = m.Sizes.Max
	}
	var all []quantile
	for i, x := range run.QuantileNames {
		f := quantile{name: x.Name, value: float64(known[i]), bound: m.Bounds[x.Name]}
		f.lost = !ok || !known[i].Known() || m.Lost != nil && m.Count != nil && !run.Answered(x.Q, *m.Count, *m.Lost) // results of format 1 have a number
		f.few = !f.lost && !run.Enough(x.Q, among(m))
		if age := m.AtLeast[x.Name]; f.lost && age > greatest {
			f.over = age
		}
		all = append(all, f)
	}
	if !ok { // nothing was answered
		return all
	}
	return append(all, quantile{name: "max", value: greatest, bound: m.Bounds["max"]})
}

// Percentile formats a percentile of an interval's record r of m, "p99", as the report does, but
// also one of few values; "-" if r has none.
func Percentile(m run.Metric, r run.Record, name string) string {
	m.Record = r
	return named(m, name, quantile.of)
}

// ShortPercentile is Percentile for a narrow column; name may be "max", too.
func ShortPercentile(m run.Metric, r run.Record, name string) string {
	m.Record = r
	return named(m, name, quantile.short)
}

func named(m run.Metric, name string, format func(quantile, run.Metric) string) string {
	for _, f := range quantiles(m) {
		if f.name == name {
			f.few = false
			return format(f, m)
		}
	}
	return "-"
}

// Drawn returns a percentile of r for a chart, which needs a value: without one it is what it is
// at least. r must have percentiles.
func Drawn(r run.Record, name string) float64 {
	for _, f := range quantiles(run.Metric{Record: r}) {
		switch {
		case f.name != name:
		case !f.lost:
			return f.value
		case r.Times != nil:
			return max(f.over, r.Times.Max)
		case r.Sizes != nil:
			return max(f.over, r.Sizes.Max)
		}
	}
	return 0
}

// value formats a value of a distribution that is not one of times: bytes as "1.50 KiB",
// permille as "1.23 %", others as a number without a unit.
func value(m run.Metric, v float64) string {
	switch m.Unit {
	case "B":
		return units.Bytes(v)
	case "permille":
		return units.Digits(v/10) + " %"
	}
	return units.Digits(v)
}

// share formats a part of a whole, "12 %"; "" if it is unknown.
func share(part *float64) string {
	if part == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", *part*100)
}
