package run

import (
	"fmt"
	"slices"
	"strings"
)

// The exit statuses of gobench (docs/exit-codes.md).
const (
	ExitOK        = 0
	ExitFailed    = 1   // the run failed, nothing in it was answered, or the command failed
	ExitUsage     = 2   // the command line or a file that it names is wrong
	ExitCompile   = 3   // the scenario does not compile
	ExitCrossed   = 4   // the run crossed a threshold
	ExitInvalid   = 5   // the run is INVALID, or what else --strict names
	ExitUndecided = 6   // a threshold is neither met nor crossed for certain, with --strict=undecided
	ExitCancelled = 130 // the run was cancelled
)

// Exit is how a command treats a finished run.
type Exit struct {
	Strict       Strict
	AllowFailure bool // --allow-failure: one in which nothing was answered, or measured, has ExitOK
}

// ExitStatus returns the exit status of a command that ran r, or followed it to its end. A run
// that is not over has ExitFailed.
func (r *Result) ExitStatus(e Exit) int {
	switch {
	case r.State == Cancelled:
		return ExitCancelled
	case r.State == Finished && slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.Wrong }):
		return ExitUsage
	case r.State == Finished && slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.Crossed() && !t.Absent }):
		return ExitCrossed
	case r.State == Finished && slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.Absent }):
		return ExitUsage
	case r.State == Finished && !e.AllowFailure && !r.stoppedBefore() && (r.NothingMeasured() || r.Outcome().NothingAnswered()):
		return ExitFailed
	case r.State == Finished && (e.Strict.Invalid && r.Verdict == Invalid || e.Strict.Suspect && r.Verdict == Suspect || e.Strict.Incomplete && r.Incomplete() != ""):
		return ExitInvalid
	case r.State == Finished && e.Strict.Undecided && slices.ContainsFunc(r.Thresholds, func(t Threshold) bool { return t.Undecided }):
		return ExitUndecided
	case r.State == Finished:
		return ExitOK
	case r.Failure == FailedCompile:
		return ExitCompile
	case r.Failure == FailedInput:
		return ExitUsage
	}
	return ExitFailed
}

// stoppedBefore reports whether someone stopped r before anything had ended.
func (r *Result) stoppedBefore() bool {
	return strings.HasPrefix(r.Cause, stoppedBy) && r.Outcome().Main().All() == 0
}

// UsageError means that what the user asked for is wrong, as a flag or a file that it names. A
// command then has ExitUsage.
type UsageError struct {
	Err  error
	Hint string // what to do; may be empty
}

// Usage returns a *UsageError with an error of the format, which may wrap one by %w.
func Usage(hint, format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...), hint}
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }
