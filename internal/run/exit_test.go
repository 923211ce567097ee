package run

import "testing"

func TestExitStatus(t *testing.T) {
	met, crossed := []Threshold{{OK: true}}, []Threshold{{OK: true}, {}}
	for _, tt := range []struct {
		name         string
		r            Result
		want, strict int
	}{
		{"finished", Result{State: Finished, Verdict: Valid}, 0, 0},
		{"thresholds that are met", Result{State: Finished, Thresholds: met}, 0, 0},
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
		if got, strict := tt.r.ExitStatus(false), tt.r.ExitStatus(true); got != tt.want || strict != tt.strict {
			t.Errorf("%s: %d, with --strict %d; want %d and %d", tt.name, got, strict, tt.want, tt.strict)
		}
	}
}
