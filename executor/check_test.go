package executor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/executortest"
)

func TestCheckCountsAndEndsNothing(t *testing.T) {
	t.Parallel()
	ctx, rec := executortest.Context(t)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for i := range 100 {
				if executor.Check(ctx, "has a body", i%4 != 0) != (i%4 != 0) {
					t.Error("Check does not return ok")
				}
			}
		})
	}
	wg.Wait()
	if got := rec.Counts("check.has a body."); got["passed"] != 750 || got["failed"] != 250 {
		t.Errorf("counts = %v", got)
	}
	if !executor.Check(ctx, strings.Repeat("long", 50), true) || len(rec.Errors("check")) != 1 {
		t.Errorf("a name that can't be: errors %v", rec.Errors("check"))
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	ctx, _ := executortest.Context(t)
	if n := testing.AllocsPerRun(100, func() { executor.Check(ctx, "has a body", true) }); n != 0 {
		t.Errorf("Check allocates %v times", n)
	}
}

// alreadyCounted is an error that its client has already counted.
type alreadyCounted struct{}

func (alreadyCounted) Error() string { return "told" }
func (alreadyCounted) Counted() bool { return true }

func TestTimeMeasuresAStep(t *testing.T) {
	t.Parallel()
	ctx, rec := executortest.Context(t)
	wrong := errors.New("wrong password")
	for _, err := range []error{nil, nil, wrong, alreadyCounted{}, context.Canceled} {
		if got := executor.Time(ctx, "log in", func() error { time.Sleep(time.Millisecond); return err }); !errors.Is(got, err) {
			t.Errorf("Time = %v, want %v", got, err)
		}
	}
	if got := rec.Counts("step.log in."); got["time"] != 2 || got["failed"] != 2 {
		t.Errorf("counts = %v", got)
	}
	if got := rec.Errors("step.log in"); len(got) != 1 || got["step: wrong password"] != 1 {
		t.Errorf("errors = %v", got)
	}
	if rec.Quantile("step.log in.time", 0) < int64(time.Millisecond) {
		t.Error("a step of 1 ms took less")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := executor.Time(ended, "log in", func() error { return wrong }); !errors.Is(err, wrong) || rec.Counts("step.log in.")["failed"] != 2 {
		t.Errorf("a step that the run's end cut: %v, %v", err, rec.Counts("step.log in."))
	}
}
