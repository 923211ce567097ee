package run

import (
	"errors"
	"testing"
)

func TestConclude(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		ending Ending
		state  State
		cause  string
	}{
		{"by itself", Ending{}, Finished, ""},
		{"stopped", Ending{By: "Ctrl-C"}, Finished, "stopped by Ctrl-C"},
		{"a threshold", Ending{Threshold: "x p99 < 1s abort"}, Finished, "threshold x p99 < 1s abort crossed"},
		{"a threshold before a stop", Ending{By: "ada", Threshold: "x"}, Finished, "threshold x crossed"},
		{"cancelled", Ending{Cancelled: true, By: "ada"}, Cancelled, "cancelled by ada"},
		{"cancelled by its context", Ending{Cancelled: true}, Cancelled, "cancelled by signal"},
		{"cancelled, and then failed", Ending{Cancelled: true, By: "ada", Err: errors.New("killed")}, Cancelled, "cancelled by ada"},
		{"failed", Ending{Err: errors.New("the executor exited with status 3")}, Failed, "the executor exited with status 3"},
		{"stopped, and then failed", Ending{By: "ada", Err: errors.New("killed")}, Failed, "killed"},
		{"a threshold, and then failed", Ending{Threshold: "x", Err: errors.New("killed")}, Failed, "killed"},
	} {
		if state, cause := tt.ending.Conclude(); state != tt.state || cause != tt.cause {
			t.Errorf("%s: %s %q, want %s %q", tt.name, state, cause, tt.state, tt.cause)
		}
	}
}
