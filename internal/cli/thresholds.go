package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/live"
	"github.com/gobench-io/gobench/internal/merge"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/threshold"
)

// parseThreshold reads a threshold, whose window must be made of whole intervals.
func parseThreshold(text string, interval time.Duration) (threshold.Threshold, error) {
	t, err := threshold.Parse(text)
	switch {
	case err != nil:
		return t, err
	case t.Over%interval != 0:
		return t, fmt.Errorf("threshold %q: a window of %v is not made of whole intervals of %v (--interval)", text, t.Over, interval)
	case t.Over/interval > threshold.MaxWindow:
		return t, fmt.Errorf("threshold %q: a window holds at most %d intervals, and %v are %d (a longer --interval helps)", text, threshold.MaxWindow, t.Over, t.Over/interval)
	}
	return t, nil
}

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
		t, err := parseThreshold(text, l.load.interval)
		if err != nil {
			return fmt.Errorf("%w: thresholds(): %w", agent.ErrScenario, err)
		}
		all = append(all, t)
	}
	l.judge = threshold.New(all)
	if len(all) > 0 {
		l.merger.OnInterval(l.judgeInterval)
	}
	return nil
}

// judgeInterval says which thresholds an interval crosses, and ends the load where
// one of them wants that.
func (l *localRun) judgeInterval(c merge.Counts) {
	for _, t := range l.judge.Add(threshold.Interval(c)) {
		what := "threshold " + t.Expression + " crossed"
		if t.Value != "" {
			what += ": " + t.Value
		}
		if t.Reason != "" {
			what += ": " + t.Reason
		}
		if t.Abort && l.aborted == "" {
			l.aborted = t.Expression
			l.executor.Stop()
			what += "; stopping: waiting for what is in flight"
		}
		crossed := t.Threshold
		l.tell(live.Event{Kind: live.Crossed, Threshold: &crossed, Text: report.Safe(what)})
	}
}

// judgeEnd gives the result the outcome of its thresholds, if anything ran.
func (l *localRun) judgeEnd() {
	l.merger.Intervals(true) // those that a dead executor left open
	if l.judge != nil && l.merger.End() > 0 {
		l.result.Thresholds = l.judge.Finish(l.merger.Measured())
	}
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
