package http

import (
	"context"
	"net"
	"os"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// link is one of a client's connections.
type link struct {
	*conn.Conn
	target *target
	peer   *peer         // whom it is connected to; nil: not counted
	used   time.Duration // when its last answer was complete, on the clock of conn.Now; 0: it has brought none
	took   time.Duration // what that answer took
	below  *link         // in the stack of idle ones

	prev, next *link // in the list of all, idle or not
}

// reused reports whether the connection has brought an answer before.
func (l *link) reused() bool { return l.used != 0 }

// checkAfter is how long a connection is idle before it is checked, at the cost of
// one system call, whether the server has closed it; unless sending does that by the
// way (conn.Conn.AskIdle).
const checkAfter = 100 * time.Millisecond

// A waiter waits for one of MaxConns places.
type waiter struct {
	target *target
	// ready brings a connection to the waiter's target, or nil: a place to open one
	// in. It is closed with the client. It holds one, so that giving never waits.
	ready chan *link
}

// link gives a connection to q's target: the one that became idle last, a new one,
// or, when MaxConns are open, the next that becomes free.
func (c *client) link(ctx context.Context, q *call) (*link, error) {
	c.mu.Lock()
	for at := &c.idle; *at != nil; {
		l := *at
		if l.target != q.target && l.target.origin != q.target.origin {
			at = &l.below
			continue
		}
		*at, l.below = l.below, nil
		c.mu.Unlock()
		if q.now-l.used < checkAfter || q.asks() && l.CanAsk() || !l.Gone() {
			q.peer = l.peer
			return l, nil
		}
		l.Drop()
		c.mu.Lock()
		c.forget(l)
		c.vacate()
		at = &c.idle
	}
	if c.closed {
		c.mu.Unlock()
		return nil, c.ended()
	}
	if c.open < c.settings.MaxConns {
		c.open++
		c.mu.Unlock()
		return c.dial(ctx, q)
	}
	if old := c.oldest(); old != nil { // of another target: q's has none idle
		c.forget(old)
		c.mu.Unlock()
		old.Close()
		return c.dial(ctx, q)
	}
	w := &waiter{target: q.target, ready: make(chan *link, 1)}
	c.waiters = append(c.waiters, w)
	c.mu.Unlock()
	return c.wait(ctx, w, q)
}

// oldest takes the connection that is idle longest off the stack; nil: none is.
func (c *client) oldest() *link {
	at := &c.idle
	if *at == nil {
		return nil
	}
	for (*at).below != nil {
		at = &(*at).below
	}
	l := *at
	*at = nil
	return l
}

// wait waits until one of the places is free, and opens a connection in it.
func (c *client) wait(ctx context.Context, w *waiter, q *call) (*link, error) {
	l, err := c.await(ctx, w, q)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return c.dial(ctx, q)
	}
	q.peer = l.peer
	return l, nil
}

// await waits until one of the places is free: it gives the connection there, or nil
// for a place to open one in.
func (c *client) await(ctx context.Context, w *waiter, q *call) (*link, error) {
	timer := time.NewTimer(q.start + c.settings.Timeout - conn.Now())
	defer timer.Stop()
	select {
	case l, ok := <-w.ready:
		if !ok {
			return nil, c.ended()
		}
		return l, nil
	case <-ctx.Done():
		c.giveUp(w)
		return nil, ctx.Err()
	case <-timer.C:
		c.giveUp(w)
		return nil, errNoFree
	}
}

// giveUp ends w's waiting. What w was given in the last moment goes on to the next.
func (c *client) giveUp(w *waiter) {
	c.mu.Lock()
	i := slices.Index(c.waiters, w)
	if i >= 0 {
		c.waiters = slices.Delete(c.waiters, i, i+1)
	}
	c.mu.Unlock()
	if i >= 0 {
		return
	}
	switch l, ok := <-w.ready; {
	case l == nil && ok:
		c.leave()
	case l != nil && c.settings.HTTP2:
		c.mu.Lock()
		m := c.muxOf(l)
		c.mu.Unlock()
		m.cc.Release()
		c.unmux(m)
	case l != nil:
		c.put(l)
	}
}

var errNoFree = &net.OpError{Op: "wait for one of MaxConns connections", Err: os.ErrDeadlineExceeded}

// put takes a connection back that brought a whole answer and may bring another.
func (c *client) put(l *link) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		c.finish(l)
		return
	}
	if len(c.waiters) == 0 {
		l.below, c.idle = c.idle, l
		c.mu.Unlock()
		return
	}
	w := c.waiters[0]
	c.waiters = c.waiters[1:]
	if w.target.origin == l.target.origin {
		w.ready <- l
		c.mu.Unlock()
		return
	}
	c.forget(l)
	w.ready <- nil
	c.mu.Unlock()
	l.Close()
}

// finish ends a connection that served, and leaves its place.
func (c *client) finish(l *link) {
	l.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(l)
	c.vacate()
}

// drop ends a connection that failed, and leaves its place.
func (c *client) drop(l *link) {
	c.lose(l)
	c.leave()
}

// lose ends a connection that failed and keeps its place, for another one.
func (c *client) lose(l *link) {
	l.Drop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(l)
}

// leave leaves a place.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vacate()
}

// vacate gives a place to the first waiter. The caller holds mu.
func (c *client) vacate() {
	if len(c.waiters) == 0 {
		c.open--
		return
	}
	w := c.waiters[0]
	c.waiters = c.waiters[1:]
	w.ready <- nil
}
