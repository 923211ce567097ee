package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Think waits as a user does who reads before the next click: for a time between least and most,
// each as likely, drawn from [Rand]. It returns nil, or ctx's error as soon as that ends: the user
// then returns it. Only the user's own goroutine may call it. It panics if least is below 0 or above
// most.
//
// The wait is part of the iteration that it is in, and of no operation. Under a schedule, as that of
// scenario.Arrival, a user that thinks serves no start: it needs more users.
func Think(ctx context.Context, least, most time.Duration) error {
	if least < 0 || most < least {
		panic(fmt.Sprintf("executor.Think from %v to %v: want 0 or more, and the shorter one first", least, most))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := least
	if most > least {
		wait += time.Duration(Rand(ctx).Int64N(int64(most-least) + 1))
	}
	scope, began := meter.ScopeOf(ctx), delay.Now()
	if scope != nil {
		scope.BeginTime(began)
		defer func() {
			now := delay.Now()
			scope.EndTime(began, now, max(0, now-began-wait))
		}()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
