package process

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
func (p *Process) Pid() int { return int(p.pid.Load()) }

// Hello waits for the executor's hello.
func (p *Process) Hello(ctx context.Context) (*wire.Hello, error) {
	select {
	case <-p.greeted:
		return p.hello, nil
	case <-p.over:
		return nil, p.ended()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Arm gives the executor its start and waits until it is ready.
func (p *Process) Arm(ctx context.Context, start *wire.Start) error {
	a := arming{start, make(chan error, 1)}
	select {
	case p.armed <- a:
	case <-p.ready:
		return errors.New("the executor is armed already")
	case <-p.over:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p.ready:
		return nil
	case <-p.over:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Begin has the load begin at a moment of the wall clock and returns when the executor
// has been told that it begins; a moment that has passed is now. The load stops when no Renew
// comes for lease from then on; 0: it needs none.
func (p *Process) Begin(ctx context.Context, at time.Time, lease time.Duration) error {
	b := beginning{at, lease, make(chan error, 1)}
	select {
	case p.begun <- b:
	case <-p.over:
		return p.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-b.reply:
		return err
	case <-p.over:
		return p.ended()
	}
}

// Renew lets the load go on for another lease. It never waits.
func (p *Process) Renew(lease time.Duration) {
	p.lease.Store(int64(lease))
	select {
	case p.renewed <- struct{}{}:
	default: // one is about to be passed on
	}
}

// Control changes the load that goes on, and returns when the executor has done so,
// or its reason not to.
func (p *Process) Control(m *wire.Control) error {
	return p.ask(context.Background(), func(id uint64) *wire.ToExecutor {
		m.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Control{Control: m}}
	})
}

// Profile takes a profile of the executor into a file that is there and that it can
// write, and returns when it is complete.
func (p *Process) Profile(ctx context.Context, profile *wire.Profile) error {
	return p.ask(ctx, func(id uint64) *wire.ToExecutor {
		profile.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Profile{Profile: profile}}
	})
}

// ask sends a request that has a number and waits for its answer.
func (p *Process) ask(ctx context.Context, request func(id uint64) *wire.ToExecutor) error {
	reply := make(chan error, 1)
	if err := p.do(func(s *supervisor) { s.ask(request, reply) }); err != nil {
		return err
	}
	select {
	case err := <-reply:
		return err
	case <-p.over:
		return ErrNoLoad
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do has the supervisor do something once the load goes on.
func (p *Process) do(f func(*supervisor)) error {
	limit := time.NewTimer(p.spec.Times.Control)
	defer limit.Stop()
	select {
	case p.requests <- f:
		return nil
	case <-p.over:
		return ErrNoLoad
	case <-limit.C:
		return ErrNoLoad
	}
}

// ended is the error of a step after Run's end.
func (p *Process) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		return p.end
	}
	return ErrOver
}
