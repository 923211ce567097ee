package runner

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/measure/meter"
)

// unserved counts starts that were due and did not begin before the load ended: missed, by
// their planned times, were not offered to the users, and are counted as planned too; waiting
// were.
func (c *class) unserved(missed []time.Duration, waiting []call) {
	now := c.now()
	count := func(planned time.Duration, offered bool) {
		e := c.registry.Entry(c.phase(planned))
		defer e.Close()
		if !offered {
			e.Add(c.counts.planned, 1)
		}
		e.Add(c.counts.unserved, 1)
		e.Record(c.counts.age, int64(now-planned))
	}
	for _, planned := range missed {
		count(planned, false)
	}
	for _, start := range waiting {
		count(start.planned, true)
	}
}

// inFlight returns the number of operations in flight of all users of the class.
func (c *class) inFlight() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		n += s.InFlight()
	}
	return n
}

// limit returns the longest time limit of the operations in flight, also those of clients of
// Setup; 0 if none has one.
func (c *class) limit() (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		longest = max(longest, s.Limit())
	}
	return max(longest, c.owner.Limit())
}

// going returns how many of the users started so far have not finished. stillStarting is the
// number of those that have tried to start 3 or more operations after the run was stopping, at
// most going.
func (c *class) going() (going, stillStarting int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		if s.Refused() >= 3 {
			stillStarting++
		}
	}
	going = int64(len(c.scopes)) - c.over.Load()
	return going, min(stillStarting, going)
}

// cutIterations counts the iterations of users that do not end them as cut by the run's end.
func (c *class) cutIterations() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scopes {
		if planned, ok := s.CutIteration(); ok {
			e := s.Entry()
			e.Add(c.counts.cut, 1)
			e.Record(c.counts.age, int64(c.now()-planned))
			e.Close()
		}
	}
}

// wrapUp runs the class's Stop hook, if it has one, with a context that ends after limit. If
// the hook does not return in time, wrapUp leaves it behind and adds a note. A panic is
// counted as a failure.
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
				c.registry.Failed(meter.NoPhase, prefix+c.name, "stop", panicError(p).Error())
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
