package run

import (
	"testing"
	"time"
)

// A run in which nothing was answered fails, unless that is allowed.
func TestExitOfNothing(t *testing.T) {
	count := func(role Role, n int64) Metric {
		return Metric{Type: Counter, Counts: Counts{Role: role, Of: "home"}, Record: Record{Count: &n}}
	}
	nothing, something := []Metric{count(OpOK, 0), count(OpUnanswered, 5)}, []Metric{count(OpFailed, 1), count(OpUnanswered, 5)}
	for _, tt := range []struct {
		name string
		r    Result
		exit Exit
		want int
	}{
		{"nothing", Result{State: Finished, Metrics: nothing}, Exit{}, 1},
		{"allowed", Result{State: Finished, Metrics: nothing}, Exit{AllowFailure: true}, 0},
		{"allowed but INVALID", Result{State: Finished, Metrics: nothing, Verdict: Invalid}, Exit{Strict{Invalid: true}, true}, 5},
		{"a failure is an answer", Result{State: Finished, Metrics: something}, Exit{}, 0},
		{"no operations", Result{State: Finished}, Exit{}, 0},
	} {
		if got := tt.r.ExitStatus(tt.exit); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestExitStatus(t *testing.T) {
	met, crossed := []Threshold{{OK: true}}, []Threshold{{OK: true}, {}}
	for _, tt := range []struct {
		name         string
		r            Result
		want, strict int
	}{
		{"finished", Result{State: Finished, Verdict: Valid}, 0, 0},
		{"thresholds that are met", Result{State: Finished, Thresholds: met}, 0, 0},
		{"no iteration ended", Result{State: Finished, Metrics: iterations(0)}, 1, 1},
		{"an iteration ended", Result{State: Finished, Metrics: iterations(1)}, 0, 0},
		{"stopped before any iteration ended", Result{State: Finished, Cause: "stopped by Ctrl-C", Metrics: iterations(0)}, 0, 0},
		{"all of it warm-up", Result{State: Finished, Start: time.Unix(1, 0), Warmup: 1, Metrics: iterations(0)}, 1, 1},
		{"stopped in its warm-up", Result{State: Finished, Start: time.Unix(1, 0), Warmup: 1, Cause: "stopped by Ctrl-C", Metrics: iterations(0)}, 0, 0},
		{"a metric that was never declared", Result{State: Finished, Thresholds: []Threshold{{OK: true}, {Absent: true}}}, 2, 2},
		{"the same, and a crossed one", Result{State: Finished, Thresholds: []Threshold{{}, {Absent: true}}}, 4, 4},
		{"a wrong threshold", Result{State: Finished, Thresholds: []Threshold{{}, {Wrong: true}}}, 2, 2},
		{"a crossed threshold", Result{State: Finished, Thresholds: crossed}, 4, 4},
		{"an invalid run", Result{State: Finished, Verdict: Invalid, Thresholds: met}, 0, 5},
		{"a suspect run", Result{State: Finished, Verdict: Suspect}, 0, 0},
		{"an invalid run with a crossed threshold", Result{State: Finished, Verdict: Invalid, Thresholds: crossed}, 4, 4},
		{"cancelled", Result{State: Cancelled, Verdict: Invalid, Thresholds: crossed}, 130, 130},
		{"failed", Result{State: Failed, Verdict: Invalid, Thresholds: crossed}, 1, 1},
		{"a scenario that does not compile", Result{State: Failed, Failure: FailedCompile}, 3, 3},
		{"refused input", Result{State: Failed, Failure: FailedInput}, 2, 2},
		{"not over", Result{State: Running}, 1, 1},
	} {
		if got, strict := tt.r.ExitStatus(Exit{}), tt.r.ExitStatus(Exit{Strict: Strict{Invalid: true}}); got != tt.want || strict != tt.strict {
			t.Errorf("%s: %d, with --strict %d; want %d and %d", tt.name, got, strict, tt.want, tt.strict)
		}
	}
}

// iterations are the metrics of a class of which so many iterations have ended.
func iterations(n int64) []Metric {
	return []Metric{{Title: "vu.a.iterations", Type: Counter, Counts: Counts{Role: ClassDone, Of: "a"}, Record: Record{Count: &n}}}
}
