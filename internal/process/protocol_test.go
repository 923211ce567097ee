package process_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/process"
)

func TestExecutorsThatDoNotKeepToTheProtocol(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"another protocol":     "the executor speaks protocol 99 (gobench 9.9.9)",
		"no greeting":          "did not say hello",
		"not ready":            "want ready",
		"a gap":                "batch 5 follows batch 0",
		"attached, and silent": "did not say hello in 500ms",
		"closed its stream":    "closed its connection before its last batch and was killed",
		"twice":                "exited with status 7",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(tally)
			s := spec(name, got)
			s.StartLimit = 5 * time.Second
			if strings.Contains(want, "500ms") {
				s.StartLimit = 500 * time.Millisecond
			}
			err := process.New(s).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			if name == "twice" && !strings.Contains(got.output(), "AlreadyExists") {
				t.Errorf("output %q", got.output())
			}
		})
	}
}
