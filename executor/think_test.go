package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/executortest"
)

func TestThink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := executortest.Context(t)
		shortest, longest := time.Hour, time.Duration(0)
		for range 1000 {
			began := time.Now()
			if err := executor.Think(ctx, time.Second, 3*time.Second); err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			shortest, longest = min(shortest, took), max(longest, took)
		}
		if shortest < time.Second || shortest > 1100*time.Millisecond || longest > 3*time.Second || longest < 2900*time.Millisecond {
			t.Errorf("it waits for %v to %v", shortest, longest)
		}
		began := time.Now()
		if err := executor.Think(ctx, 2*time.Second, 2*time.Second); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("a constant wait took %v, %v", time.Since(began), err)
		}
		ended, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began = time.Now()
		if err := executor.Think(ended, time.Hour, 2*time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("it returns %v after %v, want the end of ctx", err, time.Since(began))
		}
		if err := executor.Think(ended, 0, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of ctx it returns %v", err)
		}
		for _, wrong := range [][2]time.Duration{{-1, 1}, {2, 1}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("from %v to %v it does not panic", wrong[0], wrong[1])
					}
				}()
				_ = executor.Think(ctx, wrong[0], wrong[1])
			}()
		}
	})
}
