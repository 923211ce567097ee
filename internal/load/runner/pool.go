package runner

import (
	"sync"
	"time"
)

// pool matches the planned starts of an Arrival with the users that serve them.
// Starts that find no user free wait in their order.
type pool struct {
	limit int // of waiting; below 0: none

	mu      sync.Mutex
	free    []*server // users that wait for a start; the one freed last serves next
	waiting []call    // starts without a user, from head on
	head    int
	closed  bool // no start is to come
	below   int  // only servers with a lower number serve; below 0: all
}

// server is a user of the pool.
type server struct {
	number int
	calls  chan call
}

// call is a planned start given to a user.
type call struct {
	planned time.Duration
	offered time.Duration // when it was found that no user is free for it; below 0: one was
}

// waited tells whether no user was free for it.
func (c call) waited() bool { return c.offered >= 0 }

// fate is what became of a start that was offered.
type fate int

const (
	given   fate = iota // a user was free
	queued              // none was, so it waits
	refused             // none was, and it may not wait
)

func newPool(drop bool, queue int) *pool {
	switch {
	case drop:
		return &pool{limit: 0, below: -1}
	case queue > 0:
		return &pool{limit: queue, below: -1}
	}
	return &pool{limit: -1, below: -1}
}

// only lets servers of numbers below n serve; n below 0 lets all.
func (p *pool) only(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.below = n
}

// offer gives a start that is due, now, to a free user, or lets it wait if it may.
func (p *pool) offer(planned, now time.Duration) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.free) - 1; i >= 0; i-- {
		if s := p.free[i]; p.below < 0 || s.number < p.below {
			p.free = append(p.free[:i], p.free[i+1:]...)
			s.calls <- call{planned, -1} // holds one: never waits
			return given
		}
	}
	if p.limit >= 0 && len(p.waiting)-p.head >= p.limit {
		return refused
	}
	if p.head > 1024 && p.head > len(p.waiting)/2 { // give the served half back
		p.waiting = append(p.waiting[:0], p.waiting[p.head:]...)
		p.head = 0
	}
	p.waiting = append(p.waiting, call{planned, now})
	return queued
}

// take gives s its next start, waiting for one if need be; ok is false when none is
// to come.
func (p *pool) take(s *server) (c call, ok bool) {
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
	p.free = append(p.free, s)
	p.mu.Unlock()
	c, ok = <-s.calls
	return c, ok
}

// close tells that no start is to come: users that wait for one end, and the others
// when those that wait are served.
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

// abandon closes the pool and gives up what waits; it tells how many starts that were.
func (p *pool) abandon() int {
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.waiting) - p.head
	p.waiting, p.head = nil, 0
	return n
}

// idle is the number of users that wait for a start.
func (p *pool) idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}
