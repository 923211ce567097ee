package process

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/internal/wire"
)

// The steps of a process without a Plan: Hello, Arm, Begin. Each blocks until the step is
// done. If Run returns before, a step returns Run's error, or ErrOver if that is nil; if ctx
// ends before, ctx's error.

// ErrNoLoad is returned by Control and Profile if the load has not begun in Times.Control,
// or has ended.
var ErrNoLoad = errors.New("no load is running")

// ErrOver is returned by a step if the executor has ended before it.
var ErrOver = errors.New("the executor has ended")

// Pid returns the process id, or 0 before the process is started.
func (p *Process) Pid() int { return int(p.pid.Load()) }

// Hello waits for the executor's hello and returns it. The caller must not change it. If the
// scenario reports an error in it, Hello returns Run's error instead; if ctx ends first, ctx's
// error.
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

// Arm sends the executor its start and waits until it is ready, after its Setups. It may be
// called once; later it returns an error. If ctx ends first, it returns ctx's error, and the
// executor may become ready anyway.
func (p *Process) Arm(ctx context.Context, start *wire.Start) error {
	a := arming{start}
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

// Begin waits until the executor is armed, starts the load at a time of the wall clock, or at
// once if that time has passed, and returns once the executor has been sent the command. If
// ctx ends first, it returns ctx's error, and the load may begin anyway. The executor
// stops its load if Renew is not called within lease; 0 means no lease. A second call waits
// for ctx or Run to end.
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
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Renew extends the lease of the load, if it has one, to lease from now; 0 or less has no
// effect. It never blocks. Before the load it is sent once the load begins, and may have no
// effect; after the load it has none.
func (p *Process) Renew(lease time.Duration) {
	p.lease.Store(int64(lease))
	select {
	case p.renewed <- struct{}{}:
	default: // one is about to be sent
	}
}

// ErrNoAnswer is returned by Control if the executor has not answered in Times.Control, as
// one that is stopped by a signal. It may still do what it was asked.
var ErrNoAnswer = errors.New("the executor does not answer")

// Control changes the running load and returns once the executor has answered or ended. It
// waits for Times.Control at most for the load, and again for the answer. The error is
// ErrNoLoad if the load has not begun or has ended, ErrNoAnswer, or the executor's reason for a
// refusal. It sets m.Id.
func (p *Process) Control(m *wire.Control) error {
	return p.ask(context.Background(), p.spec.Times.Control, func(id uint64) *wire.ToExecutor {
		m.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Control{Control: m}}
	})
}

// Profile makes the executor write a profile to profile.File, which the executor must be able
// to open for writing, and returns once the file is complete. If ctx ends first, it returns
// ctx's error, and the profile may be written anyway. Other errors are as for Control.
// It sets profile.Id.
func (p *Process) Profile(ctx context.Context, profile *wire.Profile) error {
	return p.ask(ctx, 0, func(id uint64) *wire.ToExecutor {
		profile.Id = id
		return &wire.ToExecutor{Message: &wire.ToExecutor_Profile{Profile: profile}}
	})
}

// ask sends a numbered request and waits for its answer, whose error it returns. Without a
// load, and if Run returns first, that is ErrNoLoad, if ctx ends first, ctx's error, and if the
// answer does not come within limit, ErrNoAnswer; 0 means no limit.
func (p *Process) ask(ctx context.Context, limit time.Duration, request func(id uint64) *wire.ToExecutor) error {
	reply := make(chan error, 1)
	if err := p.do(ctx, func(s *supervisor) { s.ask(request, reply) }); err != nil {
		return err
	}
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	select {
	case err := <-reply:
		return err
	case <-p.over:
		return ErrNoLoad
	case <-late:
		return ErrNoAnswer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do runs f on the supervisor's goroutine, once the load has begun, and does not wait for its
// end. It returns without f after Times.Control and after Run's end, with ErrNoLoad, and when
// ctx ends, with ctx's error.
func (p *Process) do(ctx context.Context, f func(*supervisor)) error {
	limit := time.NewTimer(p.spec.Times.Control)
	defer limit.Stop()
	select {
	case p.requests <- f:
		return nil
	case <-p.over:
		return ErrNoLoad
	case <-limit.C:
		return ErrNoLoad
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended returns the error of a step after Run's end: Run's error, or ErrOver if that is nil.
func (p *Process) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		return p.end
	}
	return ErrOver
}
