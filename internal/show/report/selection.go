package report

import (
	"io"
	"slices"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// selectionFormat names the JSON format of a selection: docs/reports.md.
const selectionFormat = "gobench.selection/1"

// Selection is any number of runs in one table, in the order in which they were named.
type Selection struct {
	Format string     `json:"format"`
	Runs   []Selected `json:"runs"`
}

// Selected is one run of a selection. A figure is nil if the run has none.
type Selected struct {
	Compared
	Target      string        `json:"target"`
	Concurrency int64         `json:"concurrency"` // users
	Rate        *float64      `json:"rate"`        // that began a second of the measured time: operations or, without a client, iterations
	Metric      string        `json:"metric"`      // of which P50 to P99 are, in ms
	P50         *run.Quantile `json:"p50"`         // nil if there are too few values, as P95 and P99
	P95         *run.Quantile `json:"p95"`
	P99         *run.Quantile `json:"p99"`
	Done        int64         `json:"done"`   // operations or iterations that have ended
	Failed      int64         `json:"failed"` // of these, answered with a failure or not at all

	times *run.Metric
}

// Select returns a table of runs. It does not change them.
func Select(runs ...*run.Result) *Selection {
	s := &Selection{Format: selectionFormat, Runs: []Selected{}}
	for _, r := range runs {
		o := r.Outcome()
		x := Selected{Compared: compared(r), Target: target(r), Concurrency: users(r), Done: o.Main().All(), Failed: o.Main().Bad()}
		if rate, known := reached(r, o); known {
			x.Rate = &rate
		}
		if m := mainMetric(r); m != nil {
			x.times, x.Metric = m, m.Title
			for _, q := range quantiles(*m) {
				if q.few {
					continue
				}
				v := run.Quantile(q.value)
				if q.lost {
					v = run.NoAnswer
				}
				switch q.name {
				case "p50":
					x.P50 = &v
				case "p95":
					x.P95 = &v
				case "p99":
					x.P99 = &v
				}
			}
		}
		s.Runs = append(s.Runs, x)
	}
	return s
}

// JSON writes s as one indented JSON document, in one call of w.Write, whose error it returns.
func (s *Selection) JSON(w io.Writer) error { return indented(w, s) }

// Text writes s as a table, for people. It returns the first error of w.
func (s *Selection) Text(w io.Writer, style Style) error {
	t := &text{Screen: Screen{Style: style}, w: w}
	var rows [][]cell
	for _, x := range s.Runs {
		rate := "-"
		if x.Rate != nil {
			rate = units.Rate(*x.Rate) + "/s"
		}
		of := "-"
		if x.times != nil {
			of = Title(*x.times)
		}
		row := cells(units.Safe(x.ID), of, people(x.Concurrency), rate)
		for _, name := range []string{"p50", "p95", "p99"} {
			c := cell{text: "-"}
			if x.times != nil {
				c.text = ShortPercentile(*x.times, x.times.Record, name)
				c.tone = toneOf(*x.times, name)
			}
			row = append(row, c)
		}
		failures := cell{text: "none"}
		switch {
		case x.Failed > 0:
			failures = cell{units.Count(x.Failed) + ", " + units.Percent(float64(x.Failed)/float64(x.Done)), bad}
		case x.Done == 0:
			failures.text = "-"
		}
		rows = append(rows, append(row, failures, cell{string(x.Verdict), tones[x.Verdict]}))
	}
	t.table([]string{"Runs", "times of", "concurrency", "rate", "p50", "p95", "p99", "failures", "verdict"}, rows)
	t.printf("\n")
	for _, x := range s.Runs {
		if x.Target != "" {
			t.say(units.Safe(x.ID)+"  ", x.Target)
		}
	}
	if slices.ContainsFunc(s.Runs, func(x Selected) bool { return x.Result != s.Runs[0].Result }) {
		t.printf("\n")
		t.say("", "The results have different formats: "+otherRate+" "+otherPercent)
	}
	return t.err
}

// toneOf returns bad for a percentile without an answer.
func toneOf(m run.Metric, name string) tone {
	for _, q := range quantiles(m) {
		if q.name == name && q.lost {
			return bad
		}
	}
	return plain
}
