package cli

import (
	"errors"
	"fmt"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
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

// judgeBy makes the run's evaluator of the command line's thresholds and the
// scenario's own.
func (l *localRun) judgeBy(scenario []string) error {
	all := l.load.thresholds
	for _, text := range scenario {
		t, err := threshold.ParseFor(text, l.load.interval)
		if err != nil {
			return fmt.Errorf("%w: thresholds(): %w", process.ErrScenario, err)
		}
		all = append(all, t)
	}
	l.tally.Thresholds(all)
	return nil
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
