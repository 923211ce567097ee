package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/measure/transcript"
)

// counted is an error that its client may have counted already.
type counted interface{ Counted() bool }

// cutShort reports whether err is caused by the end of the run, not by the target.
func (c *class) cutShort(ctx context.Context, err error) bool {
	return ctx.Err() != nil || c.stopping.Load() && errors.Is(err, context.Canceled)
}

// minFailure is the shortest time that a failing iteration takes, so that a target that refuses
// at once is not called again without a pause.
const minFailure = time.Millisecond

// voided reports whether ctx's user has found nothing left to do.
func (c *class) voided(ctx context.Context) bool {
	return c.control.touched.Load() && meter.ScopeOf(ctx).Exhausted()
}

// failed counts a failed iteration or preparation that began at began in m, as fail does too, and
// waits until minFailure has passed since then, or ctx ends.
func (c *class) failed(ctx context.Context, m meter.Meter, what string, err error, began time.Duration) {
	meter.ScopeOf(ctx).Record(m, 1)
	c.fail(ctx, what, err, began)
	if rest := minFailure - (c.now() - began); rest > 0 {
		t := time.NewTimer(rest)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// fail counts a failure of ctx's user in an operation that began at began, and stores a sample
// of it, both under what ("start", "prepare", "iteration"), unless its client has counted it.
func (c *class) fail(ctx context.Context, what string, err error, began time.Duration) {
	var done counted
	if errors.As(err, &done) && done.Counted() {
		return
	}
	scope := meter.ScopeOf(ctx)
	c.registry.Failed(scope.Phase(), prefix+c.name, what, err.Error())
	took := c.now() - began
	scope.Sample(prefix+c.name, what, func() transcript.Exchange {
		return transcript.Exchange{What: what + " failed", Began: time.Now().Add(-took), Parts: []transcript.Part{{Name: "after", Took: took}}, Error: err.Error()}
	})
}

// panicked counts a user's panic and stores a sample of it; the first of a class is noted with
// its place and at most 8 KiB of its stack.
func (c *class) panicked(ctx context.Context, vui int, p any, stack []byte) {
	scope, text := meter.ScopeOf(ctx), fmt.Sprint(p)
	scope.SetPhase(meter.Measured) // as the start of its user
	scope.Record(c.counts.panics, 1)
	c.registry.Failed(scope.Phase(), prefix+c.name, "panic", text)
	scope.Sample(prefix+c.name, "panic", func() transcript.Exchange {
		return transcript.Exchange{What: "panic: " + text, Error: string(stack)}
	})
	c.firstPanic.Do(func() {
		c.note(fmt.Sprintf("user %d of class %s panicked: %s%s\n%s", vui, c.name, text, inLine(stack), stack[:min(len(stack), 8<<10)]))
	})
}
