package runner

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// Optional methods of a scenario.User.
type (
	preparer interface{ Prepare(context.Context) error }
	closer   interface{ Close() }
)

// live runs one user to its end, in its own goroutine. number is the user's in this executor.
// A panic ends this user only, and is counted.
func (c *class) live(ctx context.Context, number int64) {
	vui := int(c.vui(number))
	defer func() {
		if p := recover(); p != nil {
			c.panicked(ctx, vui, p, debug.Stack())
		}
		c.left()
	}()
	if !c.wanted(number) {
		return // its ramp never activated it
	}
	e := c.registry.Entry(meter.Measured) // users belong to no warm-up: they are there after it, too
	e.Add(c.counts.active, 1)
	e.Add(c.counts.started, 1)
	e.Close()
	defer func() {
		e := c.registry.Entry(meter.Measured)
		e.Add(c.counts.active, -1)
		e.Add(c.counts.finished, 1)
		e.Close()
	}()
	if once(c.vu) {
		c.vu.Fu(ctx, vui)
		return
	}
	c.work(ctx, number, vui)
}

// left counts a user that has finished, and wakes run after the last one.
func (c *class) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over.Add(1) == int64(len(c.scopes)) {
		c.idle.Signal()
	}
}

// work creates a user, lets it iterate and closes it. An error of Start is counted, unless the
// end of the run caused it.
func (c *class) work(ctx context.Context, number int64, vui int) {
	began := c.now()
	meter.ScopeOf(ctx).SetPhase(c.phase(began))
	u, err := c.user(ctx, vui)
	if err != nil {
		if !c.cutShort(ctx, err) {
			c.fail(ctx, "start", err, began)
		}
		return
	}
	if u, ok := u.(closer); ok {
		defer u.Close()
	}
	if c.pool != nil {
		c.serve(ctx, u, number)
	} else {
		c.iterate(ctx, u, number)
	}
}

// user creates the user vui of the class's kind. It returns an error if Start does, or if it
// returns no user.
func (c *class) user(ctx context.Context, vui int) (scenario.User, error) {
	switch {
	case c.vu.Fu != nil:
		return scenario.Iterate(func(ctx context.Context) error { c.vu.Fu(ctx, vui); return nil }), nil
	case len(c.steps) > 0:
		return &stepper{steps: c.steps, scope: meter.ScopeOf(ctx)}, nil
	case len(c.vu.Tasks) > 0:
		return &tasker{class: c, vui: vui, rand: meter.ScopeOf(ctx).Rand()}, nil
	}
	u, err := c.vu.Start(ctx, vui)
	if err == nil && u == nil {
		err = errors.New("its Start function returned neither a user nor an error")
	}
	return u, err
}

// iterate calls u repeatedly, as the class's closed load defines, until its load ends or the
// end of the run cuts it short.
func (c *class) iterate(ctx context.Context, u scenario.User, number int64) {
	now := c.now()
	height, scope := c.segment.Nth(number), meter.ScopeOf(ctx)
	for n := int64(0); c.more(n, now); n++ {
		if c.control.touched.Load() {
			if !c.admitted(number) {
				return
			}
			now = c.now()
		}
		if c.ramp != nil {
			if active, _ := c.ramp.active(height, now); !active {
				c.counts.active.Add(-1) // while it is not active
				wanted := c.wanted(number)
				c.counts.active.Add(1)
				if !wanted {
					return
				}
				now = c.now()
			}
		}
		var ok bool
		if now, ok = c.ready(ctx, scope, u, now); !ok {
			if c.stopping.Load() || ctx.Err() != nil {
				return
			}
			continue
		}
		if ctx.Err() != nil { // meanwhile: nothing begins any more
			return
		}
		scope.SetPhase(c.phase(now))
		scope.BeginIteration(now)
		scope.Record(c.counts.begun, 1)
		if now, ok = c.once(ctx, scope, u, now, now, delay.Own{}); !ok {
			return
		}
	}
}

// serve lets u serve planned starts of an Arrival, one at a time, until there are no more, or
// the load or ctx ends. u is prepared before it counts as free, so that no start waits for the
// preparation. A start that it receives after ctx has ended is dropped, with all that wait.
func (c *class) serve(ctx context.Context, u scenario.User, number int64) {
	w, scope := &worker{number: int(number), calls: make(chan call, 1)}, meter.ScopeOf(ctx)
	for {
		if !c.readyAtLast(ctx, scope, u) {
			return
		}
		if c.control.touched.Load() && !c.admitted(number) {
			return
		}
		call, ok := c.pool.take(w)
		if !ok {
			return
		}
		begin := c.now()
		scope.SetPhase(c.phase(call.planned))
		if ctx.Err() != nil {
			if !call.waited() {
				scope.Record(c.counts.lag, int64(begin-call.planned))
			}
			c.unserved(nil, append(c.pool.abandon(), call))
			return
		}
		own := c.pool.begin(call, begin)
		scope.BeginIteration(call.planned)
		e := scope.Entry()
		e.Add(c.counts.begun, 1)
		if call.waited() { // otherwise arrive has recorded its lag
			e.Add(c.counts.late, 1)
			e.Record(c.counts.wait, int64(begin-call.offered))
		} else {
			e.Record(c.counts.lag, int64(begin-call.planned))
		}
		e.Close()
		func() {
			defer c.pool.end() // also of an iteration that panics
			_, ok = c.once(ctx, scope, u, call.planned, begin, own)
		}()
		if !ok {
			return
		}
	}
}

// readyAtLast prepares u, the user of scope, until that succeeds. ok is false if the load or ctx
// ends before.
func (c *class) readyAtLast(ctx context.Context, scope *meter.Scope, u scenario.User) (ok bool) {
	failed := false
	defer func() {
		if failed {
			c.unready.Add(-1)
		}
	}()
	for {
		if _, ok := c.ready(ctx, scope, u, c.now()); ok {
			return true
		}
		if c.stopping.Load() || ctx.Err() != nil {
			return false
		}
		if !failed {
			failed = true
			c.unready.Add(1)
		}
	}
}

// ready prepares u, the user of scope, for its next iteration, at now, and returns the time
// afterwards. If Prepare fails, ok is false: the caller must skip the iteration. The error is
// counted, unless the end of the run or of its data caused it, and it then takes at least 1 ms.
func (c *class) ready(ctx context.Context, scope *meter.Scope, u scenario.User, now time.Duration) (later time.Duration, ok bool) {
	p, prepares := u.(preparer)
	if !prepares {
		return now, true
	}
	scope.SetPhase(c.phase(now))
	if err := p.Prepare(ctx); err != nil {
		if !c.cutShort(ctx, err) && !c.voided(ctx) {
			c.failed(ctx, c.counts.unprepared, "prepare", err, now)
		}
		return c.now(), false
	}
	return c.now(), true
}

// once runs one iteration of u, the user of scope, that was planned for one time and begins at
// another, of which own is gobench's own delay, and records it in the scope's phase. It returns the
// time after it, at least 1 ms after begin if it failed, unless ctx ends; ok is false if the end of
// the run cut it short, or no data was left for it: the user then ends.
func (c *class) once(ctx context.Context, scope *meter.Scope, u scenario.User, planned, begin time.Duration, own delay.Own) (end time.Duration, ok bool) {
	zero := time.Duration(c.zero.Load())
	scope.BeginOwn(begin+zero, own)
	returned := false
	defer func() {
		if returned {
			return
		}
		e := scope.Entry()
		if scope.EndIteration() { // a panic, or runtime.Goexit: the iteration has failed
			e.Add(c.counts.iterations, 1)
			e.Add(c.counts.errors, 1)
			e.Record(c.counts.failure, int64(c.now()-begin))
		}
		e.Close()
	}()
	err := u.Iterate(ctx)
	returned = true
	end = c.now()
	all := scope.Own(end + zero)
	e := scope.Entry() // so that it ends and is counted in one cut
	if !scope.EndIteration() {
		e.Close()
		return end, false // the run has ended, and counted it as cut
	}
	if c.voided(ctx) {
		e.Add(c.counts.void, 1)
		e.Close()
		return end, false
	}
	if err != nil && c.cutShort(ctx, err) {
		e.Add(c.counts.cut, 1)
		e.Record(c.counts.age, int64(end-planned))
		e.Close()
		return end, false
	}
	e.Add(c.counts.iterations, 1)
	if err == nil { // a failure must not make the run look fast
		e.RecordTime(c.counts.response, end-planned, all)
		e.RecordTime(c.counts.service, end-begin, delay.Own{Delay: all.Delay - own.Delay, Burst: all.Burst})
	} else {
		e.Record(c.counts.failure, int64(end-begin))
	}
	e.Close()
	if err != nil {
		c.failed(ctx, c.counts.errors, "iteration", err, begin)
		end = c.now()
	}
	return end, true
}

// wanted waits until the class's ramp activates a user. It returns false if the user will not
// be active again, or the load ends. Without a ramp every user is active. User n of the whole
// run is active while the ramp is above n + 1/2, whichever executor has it.
func (c *class) wanted(number int64) bool {
	if c.ramp == nil {
		return true
	}
	height := c.segment.Nth(number)
	for {
		active, next := c.ramp.active(height, c.now())
		if active {
			return true
		}
		if next == forever {
			return false
		}
		t := time.NewTimer(next - c.now())
		select {
		case <-t.C:
		case <-c.stop:
			t.Stop()
			return false
		case <-c.ended:
			t.Stop()
			return false
		}
	}
}

// more reports whether a user that has done n iterations begins another at now. Of a shared
// load it takes the iteration. It finishes the class when the last iteration is taken.
func (c *class) more(n int64, now time.Duration) bool {
	if c.stopping.Load() {
		return false
	}
	switch load := c.vu.Load.(type) {
	case nil:
		return n == 0
	case scenario.Loop:
		return now < time.Duration(load)
	case scenario.Ramp:
		return now < c.ramp.length()
	case scenario.Times:
		if n == int64(load)-1 && c.last.Add(1) == c.share.Nu {
			c.finish()
		}
		if n < int64(load) && c.elapsed > 0 {
			return c.oneMore()
		}
		return n < int64(load)
	case scenario.Shared:
		return c.oneMore()
	}
	return false
}

// oneMore takes one of the iterations that the users share. It returns false if all are used.
// It finishes the class when it takes the last one.
func (c *class) oneMore() bool {
	left := c.shared.Add(-1)
	if left == 0 {
		c.finish()
	}
	return left >= 0
}
