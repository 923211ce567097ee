package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// class is one scenario.Vu while it runs.
type class struct {
	name     string
	vu       scenario.Vu
	number   int
	share    *wire.Share
	seed     uint64
	registry *meter.Registry
	counts   *counts
	note     func(string)

	setup  context.Context // what Setup gave
	parent context.Context // of every user's: setup, until the users' end
	end    func()          // ends parent
	gate   *meter.Gate     // nil for a class whose iterations can be waited for
	began  time.Time

	stopping   atomic.Bool    // no new users, no new iterations
	shared     atomic.Int64   // iterations left of a Shared load
	last       atomic.Int64   // users of a Times load that began their last iteration
	over       atomic.Int64   // users whose work is over
	users      sync.WaitGroup // users whose work goes on
	firstPanic sync.Once

	loadOver sync.Once
	ended    chan struct{} // closed when nothing is left to begin

	mu     sync.Mutex
	scopes []*meter.Scope // of the users started so far, guarded by mu
}

// once tells whether users have no iterations: their work is one call of Fu.
func (c *class) once() bool { return c.vu.Fu != nil && c.vu.Load == nil }

// prepare runs the class's Setup and makes the context its users live under.
func (c *class) prepare(ctx context.Context) error {
	if c.once() {
		c.gate = new(meter.Gate)
	}
	// What Setup opens, all users share; the iterations that use it are waited for.
	c.setup, _ = meter.With(ctx, c.registry, nil, source(c.seed, uint64(c.number)))
	var err error
	switch {
	case c.vu.Setup != nil:
		err = c.runSetup(c.vu.Setup)
	case c.vu.Exec != nil:
		err = c.runSetup(c.vu.Exec.Setup)
	}
	return err
}

func (c *class) runSetup(setup func(context.Context) (context.Context, error)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	ctx, err := setup(c.setup)
	if ctx != nil {
		c.setup = ctx
	}
	return err
}

// finish tells that nothing is left to begin.
func (c *class) finish() { c.loadOver.Do(func() { close(c.ended) }) }

// run starts the class's users and waits until their work is over. It finishes the
// class when nothing is left to begin, which may be earlier.
func (c *class) run(stop <-chan struct{}) {
	if load, ok := c.vu.Load.(scenario.Loop); ok {
		t := time.AfterFunc(time.Duration(load), c.finish)
		defer t.Stop()
	}
	c.start(stop)
	c.users.Wait()
	c.finish()
}

// start starts the class's users on their schedule and returns when the last one
// is started or stop is closed.
func (c *class) start(stop <-chan struct{}) {
	schedule := newStarts(c.share.Rate, c.seed, c.number)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := range c.share.Nu {
		if wait := schedule.next() - time.Since(c.began); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-stop:
				return
			}
		} else if i%256 == 0 {
			select {
			case <-stop:
				return
			default:
			}
		}
		vui := c.share.First + i
		ctx, scope := meter.With(c.parent, c.registry, c.gate, source(c.seed, uint64(c.number), 1, uint64(vui)))
		c.mu.Lock()
		c.scopes = append(c.scopes, scope)
		c.mu.Unlock()
		c.counts.started.Add(1)
		c.users.Add(1)
		go c.live(ctx, int(vui))
	}
}

// inFlight is the number of operations in flight of all users of the class.
func (c *class) inFlight() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		n += s.InFlight()
	}
	return n
}

// going is how many users' work still goes on, and heedless how many of those have
// begun several operations although their context had ended.
func (c *class) going() (going, heedless int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		if s.Refused() >= 3 {
			heedless++
		}
	}
	going = int64(len(c.scopes)) - c.over.Load()
	return going, min(heedless, going)
}

// wrapUp runs the class's Stop hook.
func (c *class) wrapUp(limit time.Duration) {
	if c.vu.Stop == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.setup), limit)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				c.registry.Failed(Prefix+c.name, "stop", panicError(p).Error())
			}
		}()
		c.vu.Stop(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		c.note("the Stop function of class " + c.name + " did not return in " + limit.String() + " and was left behind")
	}
}
