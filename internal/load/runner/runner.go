// Package runner runs the load of an executor: it starts the users of each class on their
// schedule, lets them iterate, drains the operations in flight at the end, and cuts what they
// recorded into batches.
package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/wire"
)

// How long the runner waits for users after their context has ended, and for Stop functions to
// return. The limits of a cancelled run are shorter: its parent kills it after 5 s.
const (
	grace       = 5 * time.Second
	cancelGrace = 3 * time.Second
	stopLimit   = 5 * time.Second
	cancelStop  = time.Second
)

// drainPoll is how often drain looks whether something is in flight.
const drainPoll = 2 * time.Millisecond

// Runner runs one executor's part of a scenario. Call Prepare, then Run, once each, and Report
// while Run runs. Any goroutine may call Stop, Note and Log at any time, and Pause, Resume,
// Scale and Control after Prepare.
type Runner struct {
	start    *wire.Start
	classes  []*class
	registry *meter.Registry
	alarm    func() alarm // one for each class
	loads    []string     // of the classes, for display
	warmups  windows

	// Drained, unless nil, is called when nothing is in flight any more and the users still
	// exist. Set it before Run.
	Drained func()

	stopOnce sync.Once
	stop     chan struct{} // closed by Stop
	stopped  atomic.Int64  // time of Stop, on clock

	mu          sync.Mutex
	notes       []string            // since the last batch, guarded by mu
	interrupted []*wire.Interrupted // set when the load is over, guarded by mu
	drained     time.Time           // the end of the drain; zero before it; guarded by mu
	ended       *wire.Ended         // nil before the end of the measured time; guarded by mu
	loadEnd     time.Duration       // when the load ended, on the clock of batches; set with ended
	pauses      windows             // since the load began; the last may have no end yet; guarded by mu
	zero        time.Duration       // when the load began, on clock; guarded by mu
}

// New returns a Runner for a part of vus; classes are those that Check has returned. It
// declares the metrics of the classes in r, and sets r's classes and numbers. It returns an
// error if start does not fit vus or a metric can't be declared. r may be changed then.
// Nothing is started.
func New(vus scenario.Vus, classes []*wire.Class, start *wire.Start, r *meter.Registry) (*Runner, error) {
	if len(start.Shares) != len(vus) {
		return nil, fmt.Errorf("the start has %d shares for %d classes", len(start.Shares), len(vus))
	}
	seg, err := segmentOf(start)
	if err != nil {
		return nil, err
	}
	r.SetNumbers(segment.Numbers{Segment: seg, Turn: start.Turn})
	run := &Runner{start: start, registry: r, alarm: newAlarm, stop: make(chan struct{})}
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	r.SetClasses(names)
	for i, vu := range vus {
		share := start.Shares[i]
		if start.Once {
			vu, share = single(vu, share)
		}
		c := &class{name: classes[i].Name, vu: vu, steps: stepsOf(vu), number: i, share: share, segment: seg, rate: share.Rate, inTurn: start.Once, seed: start.Seed, registry: r, note: run.note,
			stop: run.stop, stopped: &run.stopped, elapsed: time.Duration(start.ElapsedNs), ended: make(chan struct{}), control: newControl(), taker: uint64(start.Turn)}
		if !seg.All() {
			c.rate, c.executor = vu.Rate, uint64(start.Executor)+1
			if n := seg.Below(int64(vu.Nu)); share.Nu != n {
				return nil, fmt.Errorf("the start has %d of the %d users of class %s for this executor, and its segment has %d", share.Nu, vu.Nu, c.name, n)
			}
		}
		c.onEnd, c.idle.L = c.exhausted, &c.mu
		run.loads = append(run.loads, classes[i].Load)
		c.shared.Store(c.share.Iterations)
		c.coming.over()
		if c.counts, err = newCounts(r, c.name, vu); err != nil {
			return nil, err
		}
		switch load := vu.Load.(type) {
		case scenario.Ramp:
			c.ramp = newRamp(load)
		case scenario.Arrival:
			c.pool = newPool(load.Drop, load.Queue)
			c.schedule = newArrivals(load, c.scale(), c.seed, i, c.round())
		}
		run.classes = append(run.classes, c)
	}
	run.warmups = run.warm()
	for _, c := range run.classes {
		c.warmups = run.warmups
	}
	return run, nil
}

// Prepare runs the Setup of each class, one after the other, and creates the users of an
// Arrival without a Rate, until they are free or ctx ends. What it opens under ctx lasts until
// the end of Run. The end of ctx alone is not an error. The error names the class; the further
// classes are then not prepared, no Stop function is called, and Run must not be called.
func (r *Runner) Prepare(ctx context.Context) error {
	for _, c := range r.classes {
		began := clock()
		if err := c.prepare(ctx); err != nil {
			return fmt.Errorf("setup of class %s: %w", c.name, err)
		}
		r.Log(func() string {
			return fmt.Sprintf("class %s is set up, in %v; of %d users", c.name, (clock() - began).Round(time.Microsecond), c.share.Nu)
		})
	}
	return nil
}

// Stop ends the load: no new users and no new iterations start, and operations in flight
// drain. It does not wait, and may be called more than once, also before Run.
func (r *Runner) Stop() {
	r.stopOnce.Do(func() {
		r.stopped.Store(int64(clock()))
		close(r.stop)
	})
}

// Run runs the load and returns when it is over, drained and cleaned up. If ctx, the one of
// Prepare, ends, the run is cancelled and nothing drains. stopping is called once, when the
// load ends and the drain begins, with how long that lasts at most; Run waits for it.
//
// The order of the end (docs/api.md, "What happens when"): no new iterations start. Iterations
// and operations in flight may take as long as patience returns. Then the users' contexts
// end. Users have 5 s to return (3 s after a cancel; less if those left only keep starting
// operations), and those that do not are counted as interrupted and left running. The Stop
// functions run last, with 5 s (1 s after a cancel).
func (r *Runner) Run(ctx context.Context, stopping func(limit time.Duration)) {
	zero := clock() - time.Duration(r.start.ElapsedNs)
	r.mu.Lock()
	r.zero = zero
	r.mu.Unlock()
	gone := make(chan struct{}) // closed when all users have finished
	var running sync.WaitGroup
	for _, c := range r.classes {
		c.zero.Store(int64(zero))
		c.underway.Store(true)
		running.Go(func() { c.run(r.alarm) })
	}
	go func() {
		running.Wait()
		close(gone)
	}()
	ended := make(chan struct{}) // closed when nothing is left to start
	go func() {
		for _, c := range r.classes {
			<-c.ended
		}
		close(ended)
	}()
	length, over := r.load(ctx, ended, gone)
	if over {
		r.endMeasured(length)
	}
	r.Log(func() string {
		return fmt.Sprintf("the load is over after %v; draining", (clock() - zero).Round(time.Millisecond))
	})
	r.Stop()
	for _, c := range r.classes {
		c.stopping.Store(true)
		if c.gate != nil {
			c.gate.Close()
		}
	}
	limit := r.patience()
	stopping(limit)
	r.drain(ctx, limit)
	r.endMeasured(forever)
	r.mu.Lock()
	r.drained = time.Now()
	r.mu.Unlock()
	r.Log(func() string { return fmt.Sprintf("drained after %v", (clock() - zero).Round(time.Millisecond)) })
	if r.Drained != nil {
		r.Drained()
	}
	for _, c := range r.classes {
		c.end()
	}
	r.leave(ctx, gone)
	for _, c := range r.classes {
		c.finish()
	}
	<-ended
	r.wrapUp(ctx)
}

// load waits for the end of the load: the scenario's own (ended is closed), the run's duration
// (with the time before this executor began), a Stop, or the end of ctx. With Hold and a
// duration the scenario's own end is ignored. It returns how long the load was to last, or
// forever if it was ended sooner; over is false if a class does a number of iterations, and the
// last has begun but not ended.
//
// Where there is a duration, a number of iterations may take all of it: load then waits until all
// users have finished (gone is closed), too.
func (r *Runner) load(ctx context.Context, ended, gone <-chan struct{}) (length time.Duration, over bool) {
	var duration <-chan time.Time
	if d := time.Duration(r.start.DurationNs); d > 0 {
		t := time.NewTimer(max(d-time.Duration(r.start.ElapsedNs), 0))
		defer t.Stop()
		duration = t.C
		if r.start.Hold {
			ended = nil
		}
	}
	for numbered := false; ; {
		select {
		case <-ended:
			switch {
			case numbered:
				return forever, false
			case duration != nil && r.numbered():
				ended, numbered = gone, true
			default:
				for _, c := range r.classes {
					length = max(length, c.length)
				}
				return length, !r.numbered()
			}
		case <-duration:
			return time.Duration(r.start.DurationNs), true
		case <-r.stop:
			return forever, true
		case <-ctx.Done():
			return forever, true
		}
	}
}

// spare is how much longer than the limit of an operation the drain waits for its end.
const spare = time.Second

// patience returns how long the drain may last: the start's graceful time, and if that is only
// the least, as long as any operation that is in flight now.
func (r *Runner) patience() time.Duration {
	limit := time.Duration(r.start.GracefulNs)
	if !r.start.Patient {
		return limit
	}
	for _, c := range r.classes {
		if l := c.limit(); l > 0 {
			limit = max(limit, l+spare)
		}
	}
	return limit
}

// drain waits until nothing is in flight: every iteration is over, and so is every operation
// that a client has begun. It returns earlier when ctx ends, or, with a note, after a limit.
func (r *Runner) drain(ctx context.Context, patience time.Duration) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for {
		idle := true
		for _, c := range r.classes {
			going, _ := c.going()
			if going > 0 && !once(c.vu) || c.inFlight() > 0 {
				idle = false
			}
		}
		if idle {
			return
		}
		select {
		case <-poll.C:
		case <-limit.C:
			r.note(fmt.Sprintf("not all that was in flight came to an end within %v (--graceful-stop); the rest was cut", patience))
			return
		case <-ctx.Done():
			return
		}
	}
}

// leave waits until the users, whose contexts have ended, have returned (over is closed), for
// 5 s or, if ctx has ended, 3 s. It does not wait for a user that keeps starting operations.
// It stores the number of users of each class that are left in r.interrupted, and counts their
// iterations as cut.
func (r *Runner) leave(ctx context.Context, over <-chan struct{}) {
	patience := grace
	if ctx.Err() != nil {
		patience = cancelGrace
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for waiting := true; waiting; {
		select {
		case <-over:
			return
		case <-limit.C:
			waiting = false
		case <-poll.C:
			waiting = false
			for _, c := range r.classes {
				if going, stillStarting := c.going(); going > stillStarting {
					waiting = true
				}
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.classes {
		c.cutIterations()
		if going, _ := c.going(); going > 0 {
			r.interrupted = append(r.interrupted, &wire.Interrupted{Class: c.name, Users: going})
		}
	}
}

// wrapUp runs the Stop functions concurrently and waits for them, 5 s or, if ctx has ended, 1
// s.
func (r *Runner) wrapUp(ctx context.Context) {
	limit := stopLimit
	if ctx.Err() != nil {
		limit = cancelStop
	}
	var wg sync.WaitGroup
	for _, c := range r.classes {
		wg.Go(func() { c.wrapUp(limit) })
	}
	wg.Wait()
}

// Note adds an event, of one line or more, to the next batch, for the report. Any goroutine
// may call it. A note after the last batch is lost.
func (r *Runner) Note(text string) { r.note(text) }

// Log logs a line if logging is enabled; line is called only then.
func (r *Runner) Log(line func() string) { r.registry.Log(line) }

// note stores an event for the next batch, and logs it. The caller must not hold r.mu.
func (r *Runner) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, text)
	r.Log(func() string { return "note: " + text })
}

func panicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }
