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
	peer   *peer         // the remote address; nil: not counted
	used   time.Duration // when its last answer was complete, on the clock of conn.Now; 0: no answer yet
	took   time.Duration // how long that answer took
	below  *link         // next in the stack of idle ones

	prev, next *link // in the list of all connections
}

// reused reports whether the connection has received an answer before.
func (l *link) reused() bool { return l.used != 0 }

// checkAfter is how long a connection must be idle before the client checks, with one system
// call, whether the server has closed it. If sending includes the check (conn.Conn.AskIdle)
// there is no extra call.
const checkAfter = 100 * time.Millisecond

// A waiter waits for one of MaxConns places.
type waiter struct {
	target *target
	// ready receives a connection to the waiter's target, or nil: a place to open one in. It is
	// closed with the client. Its capacity is one, so that sending never blocks.
	ready chan *link
}

// link returns a connection to q's target: the one that became idle last, or a new one. When
// MaxConns are open, it closes the oldest idle one, of another target, or waits for the next
// that becomes free. An idle one is checked only after checkAfter, and unless sending does so,
// and dropped if the server has closed it. The errors are those of dial, await and ended. The
// caller must put, finish or drop the connection.
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
	if old := c.oldest(); old != nil { // of another target, since q's has no idle one
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

// oldest removes the connection that has been idle longest from the stack and returns it; nil
// if all are in use. The caller must hold mu, and forget and close the connection.
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

// wait waits for a free place, and opens a connection in it, unless the place has one to q's
// target. The errors are those of await and dial.
func (c *client) wait(ctx context.Context, w *waiter, q *call) (*link, error) {
	l, err := c.await(ctx, w, q)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return c.dial(ctx, q)
	}
	q.peer = l.peer
	q.linkedNow()
	return l, nil
}

// await waits for a free place. It returns the connection in it, or nil for a place to open
// one in. It returns ctx's error, errNoFree at q's time limit, or that of ended; w is then no
// longer among the waiters.
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
		c.stopWaiting(w)
		return nil, ctx.Err()
	case <-timer.C:
		c.stopWaiting(w)
		return nil, errNoFree
	}
}

// stopWaiting removes w from the waiters. If w received a connection or a place in the
// meantime, the next waiter gets it. The caller must not hold mu.
func (c *client) stopWaiting(w *waiter) {
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

// put makes a connection idle that has received a whole answer and may be used again. The
// first waiter gets it, or, if it is for another target, its place: the connection is then
// closed, as it is by a closed client. The caller must not use it afterwards.
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

// finish closes a connection that has served, and releases its place, which the first waiter
// gets.
func (c *client) finish(l *link) {
	l.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(l)
	c.vacate()
}

// drop closes a connection that failed, and releases its place.
func (c *client) drop(l *link) {
	c.lose(l)
	c.leave()
}

// lose closes a connection that failed, but does not release its place: the caller opens a new
// connection in it, or calls leave.
func (c *client) lose(l *link) {
	l.Drop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(l)
}

// leave releases a place without a connection, which the first waiter gets.
func (c *client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vacate()
}

// vacate releases a place: the first waiter gets it, to open a connection in, or without
// waiters it is free. The caller must hold mu.
func (c *client) vacate() {
	if len(c.waiters) == 0 {
		c.open--
		return
	}
	w := c.waiters[0]
	c.waiters = c.waiters[1:]
	w.ready <- nil
}
