package http

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/cookiejar"
	"sync"
	"sync/atomic"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

var errClosed = errors.New("http client is closed")

// client is what an HttpClient points to. There may be a million of them, so the parts that
// clients share are in family and settings. Methods that need mu say so; the others must not
// be called while it is held.
type client struct {
	// The fields that each call needs come first, in two cache lines: see conn.Conn.
	ctx      context.Context // the client's lifetime
	done     <-chan struct{} // ctx.Done()
	recorder *executor.Recorder
	family   *family
	settings *settings
	last     atomic.Pointer[template] // the request sent last, if it was sent more than once
	seen     atomic.Uint64            // id of the last rendered request

	mu      sync.Mutex
	open    int                    // used places of MaxConns: connections open or being opened
	idle    *link                  // connections that serve no call, the most recently used first
	waiters []*waiter              // calls that wait for a place, in order of arrival
	outage  atomic.Pointer[outage] // set while calls fail
	closed  bool

	all   *link       // open connections
	stop  func() bool // stops the watch of ctx, which starts with the first connection
	extra *extra      // what only some clients need; nil until then
	_     [40]byte    // pads it to a whole number of cache lines
}

// extra is created when one of its fields is first needed. client.mu guards it.
type extra struct {
	sessions tls.ClientSessionCache // of TLS; created with the first secure connection
	muxes    []*mux                 // HTTP/2 connections that accept calls
	byLink   map[*link]*mux         // all HTTP/2 connections
	jar      *cookiejar.Jar         // created with the first cookie
	nonces   map[string]*nonce      // for Digest, by origin
}

// more returns extra, and creates it if it is nil. The caller must hold mu.
func (c *client) more() *extra {
	if c.extra == nil {
		c.extra = &extra{}
	}
	return c.extra
}

// do sends the request of a new q, whose Method is set, records the outcome and leaves the
// answer in q. It does what Get describes: an error without a record is one of the call
// itself, of a ctx that has ended before, of a closed client, or of a run that is stopping.
// Any other error is a *callError. q has no body after an error.
func (c *client) do(ctx context.Context, q *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.foreign = ctx.Done() != c.done; q.foreign && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if err := c.prepare(q); err != nil {
		(*meter.Scope)(c.recorder).Unsent(ctx)
		return err // an invalid call, not a measurement
	}
	if q.upload != nil {
		defer q.done()
	}
	if err := (*meter.Scope)(c.recorder).Begin(c.settings.Timeout); err != nil {
		return err
	}
	defer c.recorder.End()
	q.client, q.maxBody = c, c.settings.MaxBody
	q.start = conn.Now()
	q.now = q.start
	(*meter.Scope)(c.recorder).BeginTime(q.start)
	q.phase = (*meter.Scope)(c.recorder).Phase()
	c.family.meters.begun.RecordIn(q.phase, 1)
	var err error
	if q.follow == nil {
		err = c.exchange(ctx, q)
	} else {
		err = c.exchanges(ctx, q)
	}
	if err == nil && q.follow != nil && q.follow.coding != "" && len(q.body) > 0 {
		q.body, err = decode(q.body, q.follow.coding, q.maxBody)
	}
	if err != nil {
		q.body = nil
		return c.failed(ctx, q, err)
	}
	c.answered(q)
	return nil
}

// ended returns the error for a call to a client that has ended: that of the client's ctx, or
// errClosed if only Close was called.
func (c *client) ended() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return errClosed
}

// close ends the client: later calls fail. It closes idle connections, ends the calls that
// wait for one and, if abort is set, aborts the calls in flight. Otherwise these keep their
// connections until they end. It does not wait for them, and may be called more than once.
func (c *client) close(abort bool) {
	c.mu.Lock()
	c.closed = true
	idle := c.idle
	c.idle = nil
	for l := idle; l != nil; l = l.below {
		c.forget(l)
	}
	for _, w := range c.waiters {
		close(w.ready)
	}
	c.waiters = nil
	ended := c.endMuxes()
	if abort {
		for l := c.all; l != nil; l = l.next {
			l.Abort()
		}
	}
	c.mu.Unlock()
	for l := idle; l != nil; l = l.below {
		l.Close()
	}
	for _, m := range ended {
		c.shut(m)
	}
}
