package cli

import (
	"errors"
	"fmt"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
)

// pointed gives, where err is of an expression, the lines that point at the wrong
// place in it.
func pointed(err error) string {
	var wrong *threshold.SyntaxError
	if errors.As(err, &wrong) {
		return "\n" + wrong.Pointed()
	}
	return ""
}

// crossedError is the exit status of a finished run by its thresholds.
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

// strictError is the exit status of --strict.
func strictError(r *run.Result) error {
	if r.Verdict != run.Invalid {
		return nil
	}
	return &exitError{exitInvalid, fmt.Errorf("the run is %s (--strict)", r.Verdict), "its reasons are in the report's first lines; docs/truth.md explains them"}
}
