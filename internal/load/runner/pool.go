package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// pool assigns the planned starts of an Arrival to the users that serve them. Starts without a
// free user wait in order. Any number of goroutines may call its methods at once.
type pool struct {
	limit int // of waiting; below 0: no limit

	inFlight atomic.Int64 // starts that were given to a user, or wait for one, and have not ended

	mu      sync.Mutex
	burst   delay.Burst
	free    []*worker // users that wait for a start; the last one freed serves next
	waiting []call    // starts without a user, from head on
	head    int
	closed  bool // there are no more starts
	below   int  // only workers with a lower number serve; below 0: all
}

// worker is a user of the pool.
type worker struct {
	number int
	calls  chan call // of capacity 1
}

// call is a planned start assigned to a user.
type call struct {
	planned time.Duration
	offered time.Duration // when it was detected that no user is free for it; below 0: one was free
	burst   time.Duration // the greatest lag of the burst that it belongs to; see delay.Burst
	stood   time.Duration // of one that waits, what delay.Stood was when it was offered
}

// waited reports whether no user was free for the call.
func (c call) waited() bool { return c.offered >= 0 }

// fate is the outcome of an offer.
type fate int

const (
	given   fate = iota // a user was free
	queued              // no user was free, so the start waits
	refused             // no user was free, and the start may not wait
)

// newPool returns a pool in which starts without a free user are refused if drop is set, and
// otherwise wait: at most queue of them, or any number if queue is 0.
func newPool(drop bool, queue int) *pool {
	switch {
	case drop:
		return &pool{limit: 0, below: -1}
	case queue > 0:
		return &pool{limit: queue, below: -1}
	}
	return &pool{limit: -1, below: -1}
}

// only restricts serving new starts to workers with numbers below n; a negative n removes the
// restriction. Waiting starts are taken by any worker.
func (p *pool) only(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.below = n
}

// offer assigns a start to a free user (given), or queues it from now on (queued), or, if it
// may not wait, forgets it (refused), and returns which. planned and now are on the class's
// clock. It does not block. It must not be called after close.
func (p *pool) offer(planned, now time.Duration) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	burst := p.burst.Start(now, now-planned, p.inFlight.Load())
	for i := len(p.free) - 1; i >= 0; i-- {
		if w := p.free[i]; p.below < 0 || w.number < p.below {
			p.free = append(p.free[:i], p.free[i+1:]...)
			p.inFlight.Add(1)
			w.calls <- call{planned: planned, offered: -1, burst: burst} // has capacity 1, so it never blocks
			return given
		}
	}
	if p.limit >= 0 && len(p.waiting)-p.head >= p.limit {
		return refused
	}
	if p.head > 1024 && p.head > len(p.waiting)/2 { // free the served half
		p.waiting = append(p.waiting[:0], p.waiting[p.head:]...)
		p.head = 0
	}
	p.inFlight.Add(1)
	p.waiting = append(p.waiting, call{planned, now, burst, delay.Stood(clock())})
	return queued
}

// begin notes that a call begins at now, and returns gobench's own part of its time so far: until it
// was offered or, if a user was free, until now, and for how long it then waited for a user only
// because this process stood still.
func (p *pool) begin(c call, now time.Duration) delay.Own {
	if c.waited() {
		stood := delay.Stood(clock()) - c.stood
		return delay.Own{Delay: c.offered - c.planned + max(0, min(stood, now-c.offered)), Burst: c.burst}
	}
	own := delay.Own{Delay: now - c.planned, Burst: c.burst}
	if own.Delay >= time.Millisecond {
		p.mu.Lock()
		defer p.mu.Unlock()
		own.Burst = p.burst.Lag(now, own.Delay)
	}
	return own
}

// end notes that a call that was given to a user has ended.
func (p *pool) end() { p.inFlight.Add(-1) }

// take returns the next start for w: one that waits, or the next that is offered, for which it
// waits. ok is false when the pool is closed and no start waits. Only w's own goroutine may
// call it.
func (p *pool) take(w *worker) (c call, ok bool) {
	p.mu.Lock()
	if p.head < len(p.waiting) {
		c = p.waiting[p.head]
		p.head++
		p.mu.Unlock()
		return c, true
	}
	if p.closed {
		p.mu.Unlock()
		return c, false
	}
	p.free = append(p.free, w)
	p.mu.Unlock()
	c, ok = <-w.calls
	return c, ok
}

// close reports that there are no more starts. Users that wait for one end at once, and the
// others when all waiting starts are served. It may be called more than once.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	for _, s := range p.free {
		close(s.calls)
	}
	p.free = nil
}

// abandon closes the pool and removes the waiting starts. It returns them, none at a second
// call.
func (p *pool) abandon() []call {
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.waiting[p.head:]
	p.waiting, p.head = nil, 0
	return left
}

// idle returns the number of users that wait for a start.
func (p *pool) idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}
