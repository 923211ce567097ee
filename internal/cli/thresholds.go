package cli

import (
	"errors"
	"fmt"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
)

// pointed returns a line break and two lines that mark the wrong place of an expression;
// empty if err is not of an expression.
func pointed(err error) string {
	var wrong *threshold.SyntaxError
	if errors.As(err, &wrong) {
		return "\n" + wrong.Pointed()
	}
	return ""
}

// crossedError returns exit status 4, as an error, for a finished run with crossed
// thresholds; nil if all are met or there are no thresholds.
func crossedError(r *run.Result) error {
	crossed := 0
	for _, t := range r.Thresholds {
		if !t.OK {
			crossed++
		}
	}
	if crossed == 0 {
		return nil
	}
	return &exitError{exitCrossed, fmt.Errorf("%d of %d thresholds crossed", crossed, len(r.Thresholds)), ""}
}

// strictError returns exit status 5, as an error, if the verdict of r is INVALID; else
// nil.
func strictError(r *run.Result) error {
	if r.Verdict != run.Invalid {
		return nil
	}
	return &exitError{exitInvalid, fmt.Errorf("the run is %s (--strict)", r.Verdict), "its reasons are in the report's first lines; docs/truth.md explains them"}
}
