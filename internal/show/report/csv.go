package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// columns are the columns of the CSV; docs/reports.md describes them.
var columns = []string{"start_time", "from_seconds", "seconds", "warmup", "metric", "type", "group", "graph", "unit",
	"count", "per_second", "value", "lost", "avg", "min", "p50", "p90", "p95", "p99", "p99.9", "max", "stdev", "within_stdev", "text"}

// CSV writes the names of the columns, rows of type "run" that describe the run, and a row
// for each interval and metric that recorded something in it. A row of type "errors" has
// the failures of an interval. An interval with recordings of both phases has rows of each.
// Counts that are not of the warm-up add up to the totals. It returns the first error of each or of w; part of the document may then be
// written.
func CSV(w io.Writer, r *run.Result, each Intervals) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns) // the writer keeps its first error, for Flush
	for _, f := range facts(r) {
		row := make([]string, len(columns))
		row[slices.Index(columns, "metric")], row[slices.Index(columns, "type")], row[len(row)-1] = f.name, "run", formula(f.text)
		_ = out.Write(row)
	}
	err := each(func(i run.Interval) error {
		write := func(warmup bool, m run.Metric, x run.Record) {
			row := []string{i.Start.UTC().Format(time.RFC3339Nano), number(i.From), number(i.Seconds), strconv.FormatBool(warmup)}
			_ = out.Write(append(row, csvRow(m, x)...))
		}
		for _, m := range r.Metrics {
			switch x, ok := i.Metrics[m.Title]; {
			case !ok:
			case i.Phases == nil || m.Type == run.Gauge:
				write(i.Warmup, m, x)
			default:
				if x, ok := i.Phases.Warmup[m.Title]; ok {
					write(true, m, x)
				}
				if x, ok := i.Phases.Measured[m.Title]; ok {
					write(false, m, x)
				}
			}
		}
		failed := func(warmup bool, n int64) {
			if rate := float64(n) / i.Seconds; n > 0 {
				write(warmup, run.Metric{Title: "errors", Type: "errors", Unit: "N"}, run.Record{Count: &n, RPS: &rate})
			}
		}
		if i.Phases == nil {
			failed(i.Warmup, i.Errors)
			return out.Error()
		}
		failed(true, run.Interval{Metrics: i.Phases.Warmup}.Outcome(r.Metrics).Main().Bad())
		failed(false, run.Interval{Metrics: i.Phases.Measured}.Outcome(r.Metrics).Main().Bad())
		return out.Error()
	})
	if out.Flush(); err == nil {
		err = out.Error()
	}
	return err
}

// csvRow returns the columns from the metric's on, "" for figures that x does not have.
func csvRow(m run.Metric, x run.Record) []string {
	unit := m.Unit
	if x.Times != nil {
		unit = "ms" // the unit of its figures
	}
	row := []string{formula(units.Safe(m.Title)), string(m.Type), formula(units.Safe(m.Group)), formula(units.Safe(m.Graph)), formula(units.Safe(unit))}
	row = append(row, whole(x.Count), real(x.RPS), whole(x.Value), whole(x.Lost))
	switch t, s := x.Times, x.Sizes; {
	case t != nil:
		row = append(row, numbers(t.Avg, t.Min, float64(t.P50), float64(t.P90), float64(t.P95), float64(t.P99), float64(t.P999), t.Max, t.Stdev)...)
	case s != nil:
		row = append(row, numbers(s.Avg, s.Min, float64(s.P50), float64(s.P90), float64(s.P95), float64(s.P99), float64(s.P999), s.Max, s.Stdev)...)
	default:
		row = append(row, make([]string, 9)...)
	}
	return append(row, real(x.Within), "")
}

// formula returns s, with an apostrophe before it if a spreadsheet would interpret it as a
// formula; blanks before the formula do not hide it. The caller has removed control
// characters.
func formula(s string) string {
	if begin, _ := utf8.DecodeRuneInString(strings.TrimSpace(s)); strings.ContainsRune("=+-@＝＋－＠", begin) {
		return "'" + s
	}
	return s
}

// number formats v for programs, to the nanosecond if it is in milliseconds or seconds,
// without an exponent; "" for a percentile without a value.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	s := strconv.FormatFloat(v, 'f', 9, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// numbers formats each value as number does.
func numbers(values ...float64) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = number(v)
	}
	return all
}

// whole formats n; "" for nil.
func whole(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// real formats v as number does; "" for nil.
func real(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}
