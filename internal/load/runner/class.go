package runner

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// class is one running scenario.Vu. prepare is called first, then run, once each; the methods
// of its users are called by their goroutines.
type class struct {
	name     string
	vu       scenario.Vu
	steps    []scenario.Step // of each iteration; nil without Exec and Steps
	number   int
	share    *wire.Share
	segment  segment.Segment // the numbers of this executor's users
	rate     float64         // at which users start, for the whole run
	warmups  windows         // of the whole run
	seed     uint64
	executor uint64 // number of this executor, from 1, if several share the run
	taker    uint64 // above 0 if this executor takes over from a lost one
	registry *meter.Registry
	counts   *counts
	note     func(string)

	setup    context.Context // as returned by Setup
	owner    *meter.Scope    // of what Setup opens
	parent   context.Context // of every user's context: setup, until the users must end
	end      func()          // ends parent
	gate     *meter.Gate     // nil if the class has no iterations to wait for
	zero     atomic.Int64    // when the class's clock began, on clock
	underway atomic.Bool     // the load has begun
	stop     <-chan struct{} // closed when the load is over
	stopped  *atomic.Int64   // when, on clock; set before stop is closed
	elapsed  time.Duration   // how long the run had lasted when this executor began
	ramp     ramp            // of a Ramp
	pool     *pool           // of an Arrival
	schedule *arrivals       // of an Arrival
	coming   upcoming        // of an Arrival, or of users that start at a rate

	inTurn bool // each task is done once in turn, not picked by weight

	stopping   atomic.Bool  // no new users, no new iterations
	shared     atomic.Int64 // iterations left of a Shared load, or of a Times load taken over
	last       atomic.Int64 // users of a Times load that began their last iteration
	over       atomic.Int64 // users that have finished
	unready    atomic.Int64 // users of an Arrival whose preparation has failed, and is tried again
	firstPanic sync.Once

	loadOver sync.Once
	ended    chan struct{} // closed when nothing is left to start
	length   time.Duration // of the load; set before ended is closed

	control *control
	onEnd   func(why string) // exhausted, bound once for all users

	mu     sync.Mutex
	scopes []*meter.Scope // of the users started so far, guarded by mu
	closed bool           // no more users are started, guarded by mu
	idle   sync.Cond      // of mu: all users started so far have finished
}

// clock returns the monotonic time of this process.
func clock() time.Duration { return delay.Now() }

// now returns the time since the class's clock began.
func (c *class) now() time.Duration { return clock() - time.Duration(c.zero.Load()) }

// prepare runs the class's Setup and creates the context of its users. The users of an Arrival
// are also created here, unless a Rate spreads their starts, so that they are free when its
// schedule begins: prepare waits until they are free or have ended, or ctx ends. The error is
// that of Setup, or its panic; the end of ctx alone is not an error.
func (c *class) prepare(ctx context.Context) error {
	if once(c.vu) {
		c.gate = new(meter.Gate)
	}
	// All users share what Setup opens; the iterations that use it are waited for.
	c.setup, c.owner = meter.With(ctx, c.registry, nil, c.setupSource())
	c.phaseNow(c.owner)
	var setups []func(context.Context) (context.Context, error)
	if c.vu.Setup != nil {
		setups = append(setups, c.vu.Setup)
	}
	for _, s := range c.steps {
		setups = append(setups, s.Exec.Setup)
	}
	for _, setup := range setups {
		if err := c.runSetup(setup); err != nil {
			return err
		}
	}
	c.parent, c.end = context.WithCancel(c.setup)
	c.zero.Store(int64(clock()))
	if c.schedule != nil {
		c.schedule.skip(c.elapsed)
	}
	if c.pool != nil && c.rate == 0 {
		c.start(newSleeper(plainAlarm{}))
		c.awaitServers(ctx)
	}
	return nil
}

// awaitServers waits until every started user of an Arrival is free, or over, or its preparation
// has failed, or ctx ends.
func (c *class) awaitServers(ctx context.Context) {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		if going, _ := c.going(); int64(c.pool.idle())+c.unready.Load() >= going {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// runSetup calls setup with c.setup and stores the context that it returns, unless that is
// nil, in c.setup. The error is that of setup, or its panic.
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

// finish reports that nothing is left to start, by closing c.ended. It may be called more than
// once.
func (c *class) finish() { c.finishAt(c.now()) }

// finishAt is finish of a load that was to last until a time of the class's clock.
func (c *class) finishAt(length time.Duration) {
	c.loadOver.Do(func() {
		c.length = length
		close(c.ended)
	})
}

// About half of the memory that users allocate at their start, mainly for connecting, is
// garbage afterwards, and their stacks have grown. It is freed by one garbage collection after
// the start, since users that then do little would not trigger one.
const (
	manyUsers = 1000
	settled   = time.Second // after the last user has begun
)

// run starts the class's users, and the iterations of an Arrival, and waits until all users
// have finished, also those that are added while it runs. It finishes the class when nothing
// is left to start, which may be earlier. alarm is called once.
func (c *class) run(alarm func() alarm) {
	var length time.Duration
	switch load := c.vu.Load.(type) {
	case scenario.Loop:
		length = time.Duration(load)
	case scenario.Ramp:
		length = c.ramp.length()
	}
	if length > 0 {
		t := time.AfterFunc(max(length-c.now(), 0), func() { c.finishAt(length) })
		defer t.Stop()
	}
	sleeper := newSleeper(alarm())
	defer sleeper.close()
	if load, ok := c.vu.Load.(scenario.Arrival); ok {
		var starting sync.WaitGroup
		if c.rate > 0 {
			starting.Go(func() { c.start(newSleeper(plainAlarm{})) })
		}
		c.arrive(load, sleeper)
		starting.Wait()
	} else {
		c.start(sleeper)
		if c.share.Nu >= manyUsers {
			t := time.AfterFunc(settled, debug.FreeOSMemory)
			defer t.Stop()
		}
		if length > 0 && c.share.Nu == 0 { // users may still be added here
			select {
			case <-c.ended:
			case <-c.stop:
			}
		}
	}
	c.mu.Lock()
	for c.over.Load() < int64(len(c.scopes)) { // users may be added while these end
		c.idle.Wait()
	}
	c.closed = true
	c.mu.Unlock()
	c.finish()
}

// start starts the class's users on their schedule. It returns when the last one is started or
// the load is over. If this executor has taken over from a lost one, the users that were due
// before start one by one, at this executor's share of the rate. It does not close sleeper.
func (c *class) start(sleeper *sleeper) {
	schedule := newStarts(c.rate, c.seed, c.number)
	share := float64(c.share.Nu) / float64(max(c.vu.Nu, 1))
	if c.rate > 0 && c.pool == nil {
		c.coming.follow(steady(c.rate), 0, share)
		defer c.coming.over()
	}
	gap := time.Duration(float64(time.Second) / max(c.rate*share, 1e-9))
	late := c.elapsed - gap // when the last late one was planned
	for i := c.share.Begun; i < c.share.Nu; i++ {
		planned := schedule.nth(c.segment.Nth(i))
		if c.elapsed > 0 && c.rate > 0 && planned < late+gap {
			late += gap
			planned = late
		}
		if c.pool == nil {
			c.coming.next(planned)
		}
		if (c.rate > 0 || i%256 == 0) && sleeper.until(c.now, planned, c.stop, c.ended) != due {
			return
		}
		if c.rate > 0 {
			c.counts.lag.RecordIn(c.phase(planned), int64(c.now()-planned))
		}
		c.mu.Lock()
		if i >= int64(len(c.scopes)) { // otherwise grow has started it
			c.launch(i)
		}
		c.mu.Unlock()
	}
}

// launch starts the user with a number of this executor, in a new goroutine, and adds its
// scope to c.scopes. The numbers must be in order, without gaps. The caller must hold c.mu.
func (c *class) launch(number int64) {
	vui := c.vui(number)
	ctx, scope := meter.With(c.parent, c.registry, c.gate, c.userSource(vui))
	scope.Class, scope.User, scope.Named = c.number, vui, true
	if !open(c.vu) {
		scope.Slowed = &c.counts.slowed
	}
	if once(c.vu) {
		c.phaseNow(scope)
	} else { // otherwise the user ends by itself
		scope.OnEnd = c.onEnd
	}
	c.scopes = append(c.scopes, scope)
	go c.live(ctx, number)
}

// arrive offers the starts of an Arrival to the class's users when they are due, until the
// schedule's end, or an earlier end of the load. Those that wait then are unserved, with the
// due ones that were not offered yet, as far as flow.next returns these in missed.
//
// Every start has one lag: until it began, or, if no user was free for it, until that was
// detected. The rest of its wait is its queue wait.
func (c *class) arrive(load scenario.Arrival, sleeper *sleeper) {
	f := &flow{class: c, schedule: c.schedule, rate: -1}
	for _, s := range load.Stages {
		f.end += s.Over
	}
	f.follow()
	defer c.coming.over()
	zero, noted := time.Duration(c.zero.Load()), time.Duration(0)
	for {
		planned, ok, over := f.next(sleeper)
		if !ok {
			c.unserved(f.missed, c.pool.abandon())
			if !over {
				c.finishAt(f.end + f.shift)
			}
			return
		}
		now := c.now()
		fate := c.pool.offer(planned, now)
		if late := now - planned; late >= time.Millisecond && planned > noted { // otherwise a late start before has noted it
			delay.Late(planned+zero, now+zero)
			noted = now
		}
		e := c.registry.Entry(c.phase(planned))
		e.Add(c.counts.planned, 1)
		if fate != given {
			e.Record(c.counts.lag, int64(now-planned))
		}
		if fate == refused {
			e.Add(c.counts.dropped, 1)
		}
		e.Close()
	}
}
