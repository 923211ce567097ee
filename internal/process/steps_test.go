package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// A step ends with its ctx while the executor is slow.
func TestStepsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(context.Context, *Process) error{
		"Begin":   func(ctx context.Context, p *Process) error { return p.Begin(ctx, time.Now(), 0) },
		"Profile": func(ctx context.Context, p *Process) error { return p.Profile(ctx, &wire.Profile{}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Spec{Times: Times{Control: time.Hour}})
			go func() { <-p.begun }() // a supervisor that does not answer
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			ended := make(chan error, 1)
			go func() { ended <- step(ctx, p) }()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
					t.Errorf("%s: %v after %v", name, err, time.Since(begun))
				}
			case <-time.After(time.Minute):
				t.Errorf("%s goes on after the end of its ctx", name)
				close(p.over)
			}
			select {
			case p.begun <- beginning{}: // ends the supervisor
			default:
			}
		})
	}
}
