package http

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// mux is an HTTP/2 connection, which serves several calls at once. It takes one of MaxConns
// places.
type mux struct {
	target *target
	ready  chan struct{} // closed when the fields below are set, by the call that opens it
	link   *link
	wire   *wire
	cc     *nethttp.ClientConn
	err    error // of opening it

	used atomic.Bool // it has received an answer

	// Guarded by the client's mu.
	calls int  // calls that use it
	ended bool // it accepts no more calls, and is not in the client's list
	gone  bool // its place is released
}

// mux returns an open connection with room for q's call: the first with room, or a new one. If
// MaxConns are open, it closes an idle one of another target, or waits for the next that has
// room, until ctx ends or q's time limit. The caller must call unmux after its call. If
// another call fails to open the connection, mux returns the same error, unless only that call
// was canceled; its other errors are those of pickMux and awaitMux.
func (c *client) mux(ctx context.Context, q *call) (*mux, error) {
	for {
		m, mine, err := c.pickMux(ctx, q)
		if err != nil {
			return nil, err
		}
		if mine {
			c.openMux(ctx, q, m)
		} else if err := c.awaitMux(ctx, q, m); err != nil {
			c.unmux(m)
			return nil, err
		}
		if m.err == nil {
			q.peer = m.link.peer
			return m, nil
		}
		c.unmux(m)
		if mine || conn.Classify(m.err) != conn.Canceled {
			return nil, m.err
		}
		// The context of the call that opened it ended, which does not concern this call.
	}
}

// pickMux returns a connection on which it has reserved a place for the call; it may wait for
// one, as await does. If mine is set the caller must open it, with openMux; if not, another
// call may still be opening it. With an error, that of await or ended, nothing is reserved.
func (c *client) pickMux(ctx context.Context, q *call) (m *mux, mine bool, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, false, c.ended()
	}
	for _, m := range c.more().muxes {
		if m.target.origin == q.target.origin && c.enter(m) {
			c.mu.Unlock()
			return m, false, nil
		}
	}
	if c.open < c.settings.MaxConns {
		c.open++
		m = c.newMux(q.target)
		c.mu.Unlock()
		return m, true, nil
	}
	if i := slices.IndexFunc(c.extra.muxes, func(m *mux) bool { return m.calls == 0 }); i >= 0 { // of another target
		old := c.extra.muxes[i]
		c.retire(old)
		old.gone = true
		m = c.newMux(q.target)
		c.mu.Unlock()
		c.shut(old)
		return m, true, nil
	}
	w := &waiter{target: q.target, ready: make(chan *link, 1)}
	c.waiters = append(c.waiters, w)
	c.mu.Unlock()
	l, err := c.await(ctx, w, q)
	if err != nil {
		return nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l == nil {
		return c.newMux(q.target), true, nil
	}
	return c.muxOf(l), false, nil
}

// newMux registers a connection that its caller opens, in one of MaxConns places that it
// holds, and returns it with the caller's call on it. The caller must hold mu.
func (c *client) newMux(t *target) *mux {
	m := &mux{target: t, ready: make(chan struct{}), calls: 1}
	x := c.more()
	x.muxes = append(x.muxes, m)
	return m
}

// enter takes a call's place on m and reports whether there was one. On an open connection it
// makes a reservation, which a RoundTrip uses up and Release returns. The caller must hold mu.
func (c *client) enter(m *mux) bool {
	if m.ended || m.calls >= c.settings.MaxStreams {
		return false
	}
	select {
	case <-m.ready:
		if m.err != nil || m.cc.Reserve() != nil { // the server's limit is reached, or the connection is broken
			return false
		}
	default: // it is being opened
	}
	m.calls++
	return true
}

// muxOf returns the connection that uses l. The caller must hold mu.
func (c *client) muxOf(l *link) *mux { return c.extra.byLink[l] }

// openMux opens a new m and notifies the calls that wait for it, by closing m.ready. If it
// fails, it sets m.err and releases m's place of MaxConns. The caller must still call unmux.
func (c *client) openMux(ctx context.Context, q *call, m *mux) {
	defer close(m.ready)
	l, err := c.dial(ctx, q)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		m.err, m.gone = err, true // dial has released its place
		c.retire(m)
		return
	}
	l.Disarm() // each call has its own limit
	w := &wire{Conn: l.Conn, settled: make(chan struct{})}
	cc, err := c.settings.http2.NewClientConn(context.WithValue(ctx, wireKey{}, w), "http", "wire:80")
	if err == nil {
		// A call sent before the server has announced its limit of streams may be refused
		// because of it.
		err = c.settle(ctx, q, w)
	}
	if err != nil {
		l.Abort()
		if cc != nil {
			_ = cc.Close()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		m.err, m.gone = w.fault(err), true
		c.retire(m)
		l.Drop()
		c.forget(l)
		c.vacate()
		return
	}
	m.link, m.wire, m.cc = l, w, cc
	x := c.more()
	if x.byLink == nil {
		x.byLink = map[*link]*mux{}
	}
	x.byLink[l] = m
	cc.SetStateHook(func(cc *nethttp.ClientConn) {
		if cc.Err() != nil {
			go c.reap(m) // this may be called with mu held
		}
	})
}

// settle waits until the server's settings are received and applied, at most ConnectTimeout
// and not beyond q's time limit. It returns why the connection can't be used, ctx's error, or
// one of the class Timeout.
func (c *client) settle(ctx context.Context, q *call, w *wire) error {
	timer := time.NewTimer(min(c.settings.ConnectTimeout, q.start+c.settings.Timeout-conn.Now()))
	defer timer.Stop()
	select {
	case <-w.settled:
		if why := w.broken.Load(); why != nil {
			if *why == io.EOF {
				return errSilent
			}
			return *why
		}
		if w.foreign.Load() {
			return errNoHTTP2
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return &net.OpError{Op: "read", Net: "tcp", Addr: w.Peer(), Err: os.ErrDeadlineExceeded}
	}
}

// awaitMux waits until another call has opened m, or failed to: see m.err. It returns ctx's
// error, or one of the class Timeout at q's time limit.
func (c *client) awaitMux(ctx context.Context, q *call, m *mux) error {
	select {
	case <-m.ready:
		return nil
	default:
	}
	timer := time.NewTimer(q.start + c.settings.Timeout - conn.Now())
	defer timer.Stop()
	select {
	case <-m.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
}

// unmux releases a call's place on m, whether it is open or not. If m can serve a waiting
// call, that call gets the place; if all waiting calls are for other targets and m serves no
// call, m is closed for them. An m that has ended is closed after its last call.
func (c *client) unmux(m *mux) {
	select {
	case <-m.ready:
	default: // the caller no longer waits for it
		c.mu.Lock()
		m.calls--
		c.mu.Unlock()
		return
	}
	c.mu.Lock()
	m.calls--
	if m.err == nil && (c.closed || m.cc.Err() != nil) {
		c.retire(m)
	}
	if !m.ended && len(c.waiters) > 0 {
		i := slices.IndexFunc(c.waiters, func(w *waiter) bool { return w.target.origin == m.target.origin })
		switch {
		case i >= 0 && c.enter(m):
			w := c.waiters[i]
			c.waiters = slices.Delete(c.waiters, i, i+1)
			w.ready <- m.link
		case i < 0 && m.calls == 0:
			c.retire(m)
		}
	}
	shut := c.leaveMux(m)
	c.mu.Unlock()
	if shut {
		c.shut(m)
	}
}

// retire removes m from the list, so that it gets no more calls. The caller must hold mu.
func (c *client) retire(m *mux) {
	if !m.ended {
		m.ended = true
		c.extra.muxes = slices.DeleteFunc(c.extra.muxes, func(o *mux) bool { return o == m })
	}
}

// leaveMux releases the place of an m that has ended and serves no call. It reports whether the
// caller must shut m, after unlocking mu. The caller must hold mu.
func (c *client) leaveMux(m *mux) bool {
	if !m.ended || m.calls > 0 || m.gone {
		return false
	}
	m.gone = true
	c.vacate()
	return true
}

// shut closes the connection of an m whose place is released, and counts its last bytes. It is
// called once for an m, without mu.
func (c *client) shut(m *mux) {
	_ = m.cc.Close()
	m.link.Drop()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.extra.byLink, m.link)
	c.forget(m.link)
	c.family.meters.bytesIn.Add(m.wire.in.Swap(0))
	c.family.meters.bytesOut.Add(m.wire.out.Swap(0))
}

// reap retires a connection that the server has closed, and closes it if it serves no call;
// the last of its calls does so otherwise.
func (c *client) reap(m *mux) {
	c.mu.Lock()
	c.retire(m)
	shut := c.leaveMux(m)
	c.mu.Unlock()
	if shut {
		c.shut(m)
	}
}

// endMuxes ends the connections that serve no call, and returns those that the caller must shut
// after unlocking mu. The others end after their calls. The caller must hold mu.
func (c *client) endMuxes() (ended []*mux) {
	if c.extra == nil {
		return nil
	}
	for _, m := range slices.Clone(c.extra.muxes) {
		if m.calls > 0 {
			continue
		}
		c.retire(m)
		if c.leaveMux(m) {
			ended = append(ended, m)
		}
	}
	return ended
}
