package process_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/process"
)

// An executor that ignores what it is asked is killed.
func TestExecutorsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process.Process){"stop": (*process.Process).Stop, "cancel": (*process.Process).Cancel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(tally)
			s := spec("ignores commands", got)
			s.Times.Cancel, s.Times.Stop = 200*time.Millisecond, 200*time.Millisecond
			p := process.New(s)
			go func() { <-got.started; end(p) }()
			err := p.Run(t.Context())
			var dead *process.DeadError
			if !errors.As(err, &dead) || dead.Cause != process.CauseStuck || !strings.Contains(dead.How, "did not stop in time and was killed") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A Stop after a Cancel does not extend the time that Cancel allows.
func TestStopAfterCancel(t *testing.T) {
	t.Parallel()
	got := new(tally)
	s := spec("ignores commands", got)
	s.Times.Cancel, s.Times.Stop = 2*time.Second, time.Hour
	p := process.New(s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		<-got.started
		p.Cancel()
		until(t, "it is cancelled", func() bool { return strings.Contains(got.output(), "ToExecutor_Cancel") })
		p.Stop()
	}()
	err := p.Run(ctx)
	var dead *process.DeadError
	if !errors.As(err, &dead) || dead.Cause != process.CauseStuck {
		t.Errorf("error %v", err)
	}
}

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
			switch {
			case strings.Contains(want, "500ms"):
				s.Times.Start = 500 * time.Millisecond
			case name == "closed its stream":
				s.Times.Exit = 300 * time.Millisecond
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
