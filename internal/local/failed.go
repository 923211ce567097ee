package local

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gobench-io/gobench/internal/load/runner"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// explain returns the error of a run whose executor ended with err: err itself, or for a
// DeadError one that wraps err and adds what the scenario did wrong as far as that is known.
// For nil it returns that of allPanicked. Call it after the executor has ended; r.tally must
// be set.
func (r *load) explain(err error) error {
	var dead *process.DeadError
	switch {
	case err == nil:
		return allPanicked(r.tally.Merger.Metrics(), r.tally.Merger.Failures(), r.tally.Merger.Notes())
	case !errors.As(err, &dead):
		return err
	}
	out := string(dead.Output)
	text, crashed := crash(out)
	function, line := runner.Place(dead.Output)
	if line != "" {
		text += " (" + line + ")"
	}
	began := !r.result.Start.IsZero()
	switch {
	case crashed && began:
		return fmt.Errorf("a goroutine of the scenario panicked: %s; %w", units.Safe(text), err)
	case crashed && (function == "export" || function == "thresholds"):
		return fmt.Errorf("%s() panicked, and nothing was begun: %s; %w", function, units.Safe(text), err)
	case crashed:
		return fmt.Errorf("the scenario panicked before export(), and nothing was begun: %s; %w", units.Safe(text), err)
	case began:
		return err
	case strings.TrimSpace(out) != "":
		return fmt.Errorf("the scenario ended before its load began; it printed last: %s; %w", units.Safe(lastLine(out)), err)
	}
	return fmt.Errorf("the scenario ended before its load began; %w", err)
}

// crash returns the first line that the Go runtime printed about a panic or a fatal error,
// without those words, and whether there is one.
func crash(out string) (text string, ok bool) {
	for line := range strings.Lines(out) {
		for _, word := range []string{"panic: ", "fatal error: "} {
			if text, ok := strings.CutPrefix(line, word); ok {
				return strings.TrimSpace(text), true
			}
		}
	}
	return "", false
}

// lastLine returns the last line of out that is not blank, or "".
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

// lastOutput returns notes for the result on how an executor that died crashed and what it
// printed last; nil if it has not crashed and printed nothing.
func lastOutput(dead *process.DeadError) (notes []string) {
	out := string(dead.Output)
	text, crashed := crash(out)
	switch {
	case crashed && strings.Contains(out, "panic: "):
		notes = append(notes, "a goroutine that the scenario started itself panicked; only a panic in a user's own goroutine ends just that user")
		text = "panic: " + text
	case crashed:
		notes = append(notes, "the Go runtime ended the executor: see its log for the fatal error")
		text = "fatal error: " + text
	default:
		text = lastLine(out)
	}
	if out != "" {
		notes = append(notes, "it printed last: "+text)
	}
	return notes
}

// allPanicked returns an error, with the text of a panic, if every user that started panicked:
// such a run has measured nothing. It returns nil if no user started.
func allPanicked(metrics []run.Metric, failures []run.Failure, notes []string) error {
	var started, panics int64
	for _, m := range metrics {
		switch m.Role {
		case run.ClassStarted:
			started += *m.Count
		case run.ClassPanics:
			panics += *m.Count
		}
	}
	if started == 0 || panics < started {
		return nil
	}
	for _, note := range notes {
		if first, _, ok := strings.Cut(note, "\n"); ok && strings.Contains(first, " panicked: ") {
			_, text, _ := strings.Cut(first, " panicked: ")
			return fmt.Errorf("every user panicked: %s", units.Safe(text))
		}
	}
	for _, f := range failures {
		if f.Class == "panic" {
			return fmt.Errorf("every user panicked: %s", units.Safe(f.Text))
		}
	}
	return errors.New("every user panicked")
}
