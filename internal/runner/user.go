package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
)

// Optional methods of a scenario.User.
type (
	preparer interface{ Prepare(context.Context) error }
	closer   interface{ Close() }
)

// counted is an error that its client has counted already.
type counted interface{ Counted() bool }

// live runs one user to its end. A panic ends this user only.
func (c *class) live(ctx context.Context, vui int) {
	c.counts.active.Add(1)
	defer func() {
		if p := recover(); p != nil {
			c.panicked(vui, p, debug.Stack())
		}
		e := c.registry.Entry()
		e.Add(c.counts.active, -1)
		e.Add(c.counts.finished, 1)
		e.Close()
		c.over.Add(1)
		c.users.Done()
	}()
	if c.vu.Fu != nil && c.vu.Load == nil {
		c.vu.Fu(ctx, vui)
		return
	}
	u, err := c.user(ctx, vui)
	if err != nil {
		if !c.cutShort(ctx, err) {
			c.fail("start", err)
		}
		return
	}
	if u, ok := u.(closer); ok {
		defer u.Close()
	}
	c.iterate(ctx, u)
}

// user makes the user that vui iterates as.
func (c *class) user(ctx context.Context, vui int) (scenario.User, error) {
	switch {
	case c.vu.Fu != nil:
		return scenario.Iterate(func(ctx context.Context) error { c.vu.Fu(ctx, vui); return nil }), nil
	case c.vu.Exec != nil:
		return newStep(c.vu.Exec), nil
	}
	u, err := c.vu.Start(ctx, vui)
	if err == nil && u == nil {
		err = errors.New("its Start function returned neither a user nor an error")
	}
	return u, err
}

// iterate calls u again and again, as the class's load says.
func (c *class) iterate(ctx context.Context, u scenario.User) {
	prepare, prepares := u.(preparer)
	now := time.Since(c.began)
	for n := int64(0); c.more(n, now); n++ {
		if prepares {
			if err := prepare.Prepare(ctx); err != nil {
				if c.cutShort(ctx, err) {
					return
				}
				c.failed(ctx, "prepare", err, now)
				now = time.Since(c.began)
				continue
			}
			now = time.Since(c.began)
		}
		err := u.Iterate(ctx)
		end := time.Since(c.began)
		if err != nil && c.cutShort(ctx, err) {
			c.counts.cut.Add(1)
			return
		}
		e := c.registry.Entry()
		e.Add(c.counts.iterations, 1)
		if err == nil { // a failure must not make the run look fast
			e.Record(c.counts.service, int64(end-now))
		}
		e.Close()
		if err != nil {
			c.failed(ctx, "iteration", err, now)
			end = time.Since(c.began)
		}
		now = end
	}
}

// more tells whether a user that has done n iterations begins another at now.
func (c *class) more(n int64, now time.Duration) bool {
	if c.stopping.Load() {
		return false
	}
	switch load := c.vu.Load.(type) {
	case nil:
		return n == 0
	case scenario.Loop:
		return now < time.Duration(load)
	case scenario.Times:
		if n == int64(load)-1 && c.last.Add(1) == c.share.Nu {
			c.finish()
		}
		return n < int64(load)
	case scenario.Shared:
		left := c.shared.Add(-1)
		if left == 0 {
			c.finish()
		}
		return left >= 0
	}
	return false
}

// cutShort tells whether err comes from the end of the run, not from the target.
func (c *class) cutShort(ctx context.Context, err error) bool {
	return ctx.Err() != nil || c.stopping.Load() && errors.Is(err, context.Canceled)
}

// minFailure is the least time that a failing iteration takes: a target that
// refuses at once is not asked again without pause.
const minFailure = time.Millisecond

// failed counts a failed iteration that began at began and waits out minFailure.
func (c *class) failed(ctx context.Context, what string, err error, began time.Duration) {
	c.counts.errors.Add(1)
	c.fail(what, err)
	if rest := minFailure - (time.Since(c.began) - began); rest > 0 {
		t := time.NewTimer(rest)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

func (c *class) fail(what string, err error) {
	var done counted
	if errors.As(err, &done) && done.Counted() {
		return
	}
	c.registry.Failed(Prefix+c.name, what, err.Error())
}

// panicked counts a user's panic; the first of a class is told with its stack.
func (c *class) panicked(vui int, p any, stack []byte) {
	c.counts.panics.Add(1)
	text := fmt.Sprint(p)
	c.registry.Failed(Prefix+c.name, "panic", text)
	c.firstPanic.Do(func() {
		c.note(fmt.Sprintf("user %d of class %s panicked: %s\n%s", vui, c.name, text, stack[:min(len(stack), 8<<10)]))
	})
}

// step is an Executor seen as a user; all users of a class share the Executor.
type step struct {
	exec    scenario.Executor
	prepare scenario.Preparer // nil: none
	ctx     context.Context   // what PrepareContext gave for the next ExecContext
}

func newStep(exec scenario.Executor) *step {
	p, _ := exec.(scenario.Preparer)
	return &step{exec: exec, prepare: p}
}

// Prepare runs PrepareContext, untimed.
func (s *step) Prepare(ctx context.Context) (err error) {
	s.ctx = ctx
	if s.prepare != nil {
		if s.ctx, err = s.prepare.PrepareContext(ctx); s.ctx == nil {
			s.ctx = ctx
		}
	}
	return err
}

// Iterate runs ExecContext with what Prepare gave.
func (s *step) Iterate(context.Context) error {
	_, err := s.exec.ExecContext(s.ctx)
	return err
}

var _ preparer = (*step)(nil)
