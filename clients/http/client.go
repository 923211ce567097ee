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
)

var errClosed = errors.New("http client is closed")

// client is what an HttpClient points to. There may be a million of them: what
// they have in common is kept in family and settings.
type client struct {
	// What each call needs comes first, in two cache lines: see conn.Conn.
	ctx      context.Context // how long the client lasts
	done     <-chan struct{} // ctx's
	recorder *executor.Recorder
	family   *family
	settings *settings
	last     atomic.Pointer[template] // the request sent last, if it was sent before
	seen     atomic.Uint64            // id of the request rendered last

	mu      sync.Mutex
	open    int                    // places taken of MaxConns: connections open or being opened
	idle    *link                  // those that serve no call; the one used last comes first
	waiters []*waiter              // calls that wait for a place, the first come first
	outage  atomic.Pointer[outage] // since when calls fail; nil: they don't
	closed  bool

	all   *link       // open connections
	stop  func() bool // ends the watch of ctx, which begins with the first connection
	extra *extra      // what only some clients need; nil: none of it yet
	_     [40]byte    // makes it a number of lines, so that each begins one
}

// extra is made when something of it is needed first. client.mu guards it.
type extra struct {
	sessions tls.ClientSessionCache // of TLS; made with the first secure connection
	muxes    []*mux                 // connections of HTTP/2 that take calls
	byLink   map[*link]*mux         // all of them
	jar      *cookiejar.Jar         // made with the first cookie
	nonces   map[string]*nonce      // for Digest, by origin
}

// more gives extra. The caller holds mu.
func (c *client) more() *extra {
	if c.extra == nil {
		c.extra = &extra{}
	}
	return c.extra
}

// do sends q's request, records what became of it and leaves the answer in q.
func (c *client) do(ctx context.Context, q *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.foreign = ctx.Done() != c.done; q.foreign && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if err := c.prepare(q); err != nil {
		return err // a wrong call, not a measurement
	}
	if q.upload != nil {
		defer q.done()
	}
	if err := c.recorder.Begin(); err != nil {
		return err
	}
	defer c.recorder.End()
	q.client, q.maxBody = c, c.settings.MaxBody
	q.start = conn.Now()
	q.now = q.start
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

// ended is why the client does no more.
func (c *client) ended() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return errClosed
}

// close ends the client: idle connections, calls that wait for one, and with abort
// the calls in flight.
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
