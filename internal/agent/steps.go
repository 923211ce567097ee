package agent

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// The steps of an executor's life, for a run without a Plan: Hello, Arm, Begin. Each
// waits until the step is done; the end of Run ends them with Run's error, or ErrOver.

// ErrNoLoad is Control's error when no load goes on.
var ErrNoLoad = errors.New("no load goes on")

// ErrOver is the error of a step for which the executor has ended too early.
var ErrOver = errors.New("the executor has ended")

// Pid is the process's id; 0 before there is one.
func (e *Executor) Pid() int { return int(e.process.Load()) }

// Hello waits for the executor's hello.
func (e *Executor) Hello(ctx context.Context) (*wire.Hello, error) {
	select {
	case <-e.greeted:
		return e.hello, nil
	case <-e.over:
		return nil, e.ended()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Arm gives the executor its start and waits until it is ready.
func (e *Executor) Arm(ctx context.Context, start *wire.Start) error {
	a := arming{start, make(chan error, 1)}
	select {
	case e.armed <- a:
	case <-e.ready:
		return errors.New("the executor is armed already")
	case <-e.over:
		return e.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-e.ready:
		return nil
	case <-e.over:
		return e.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Begin has the load begin at a moment of the wall clock and returns when the executor
// has been told that it begins; a moment that has passed is now. The load stops when no Renew
// comes for lease from then on; 0: it needs none.
func (e *Executor) Begin(ctx context.Context, at time.Time, lease time.Duration) error {
	b := beginning{at, lease, make(chan error, 1)}
	select {
	case e.begun <- b:
	case <-e.over:
		return e.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-b.reply:
		return err
	case <-e.over:
		return e.ended()
	}
}

// Renew lets the load go on for another lease. It never waits.
func (e *Executor) Renew(lease time.Duration) {
	e.lease.Store(int64(lease))
	select {
	case e.renewed <- struct{}{}:
	default: // one is about to be passed on
	}
}

// Control changes the load that goes on, and returns when the executor has done so,
// or its reason not to.
func (e *Executor) Control(m *wire.Control) error {
	return e.ask(context.Background(), func(id uint64) *wire.ToExecutor {
		m.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Control{Control: m}}
	})
}

// Profile takes a profile of the executor into a file that is there and that it can
// write, and returns when it is complete.
func (e *Executor) Profile(ctx context.Context, p *wire.Profile) error {
	return e.ask(ctx, func(id uint64) *wire.ToExecutor {
		p.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Profile{Profile: p}}
	})
}

// ask sends a request that has a number and waits for its answer.
func (e *Executor) ask(ctx context.Context, request func(id uint64) *wire.ToExecutor) error {
	reply := make(chan error, 1)
	if err := e.do(func(s *session) { s.ask(request, reply) }); err != nil {
		return err
	}
	select {
	case err := <-reply:
		return err
	case <-e.over:
		return ErrNoLoad
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do has the session do something once the load goes on.
func (e *Executor) do(f func(*session)) error {
	limit := time.NewTimer(controlLimit)
	defer limit.Stop()
	select {
	case e.requests <- f:
		return nil
	case <-e.over:
		return ErrNoLoad
	case <-limit.C:
		return ErrNoLoad
	}
}

// ended is the error of a step after Run's end.
func (e *Executor) ended() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end != nil {
		return e.end
	}
	return ErrOver
}
