package report

import (
	"slices"

	"github.com/gobench-io/gobench/internal/run"
)

// How figures of results of format 1 differ in meaning from those of later ones: see
// docs/decisions/0019-metrics-have-roles.md.
const (
	otherRate    = "In format 1 a rate was divided by the time from the first start to the last answer; now it is what came within the measured time, a second of it."
	otherPercent = "In format 1 a percentile was that of the answered operations alone, up to the share that got no answer; now those without an answer rank after all others, and those cut at the end are among them."
	otherErrors  = "In format 1 failures were the errors of iterations and steps and requests without an answer; now they are operations that were answered with a failure or not at all, each once."
)

// changes are all of them, in the order in which they are marked.
var changes = []string{otherRate, otherPercent, otherErrors}

// meanings notes at each figure how its meaning differs between the runs, if their results have
// different formats.
func (c *Comparison) meanings(a, b *run.Result) {
	if a.Format == b.Format {
		return
	}
	metrics := slices.Concat(a.Metrics, b.Metrics)
	for i := range c.Figures {
		f := &c.Figures[i]
		at := slices.IndexFunc(metrics, func(m run.Metric) bool { return m.Title == f.Metric })
		switch {
		case at < 0 && f.Metric == "errors":
			f.Meaning = otherErrors
		case at < 0: // a check, whose share is as it was
		case f.Figure == "rps":
			f.Meaning = otherRate
		case f.Figure != "max" && metrics[at].Role.Missing() != nil:
			f.Meaning = otherPercent
		}
	}
}
