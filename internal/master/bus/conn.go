package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// conn is a connection with its state.
type conn struct {
	nc    *nats.Conn
	log   *slog.Logger
	times Times

	mu    sync.Mutex
	up    bool
	since time.Time       // of the last change of up
	life  context.Context // ends when the connection is lost; replaced when it is up again
	end   context.CancelFunc
	back  chan struct{} // closed when the connection is up; replaced when it is lost
}

// connect returns a connection. It tries each address once, for up to Times.Connect; if all
// fail, it returns an error or, with nats.RetryOnFailedConnect, a connection that is not up
// yet. Zero fields of t become the defaults; log must not be nil. The caller must close c.nc.
func connect(address, name string, log *slog.Logger, t Times, more ...nats.Option) (*conn, error) {
	t = t.withDefaults()
	c := &conn{log: log, times: t, since: time.Now(), back: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.Background())
	c.end()
	nc, err := natsConnect(address, append(options(name, log, t, c.setUp, c.setDown), more...)...)
	if err != nil {
		return nil, err
	}
	c.nc = nc
	if nc.IsConnected() {
		c.setUp()
	}
	return c, nil
}

// natsConnect is nats.Connect, but tries again, twice at most, if the server's first ping arrived
// before its answer to the client's, as on a slow host: nats.go refuses that.
func natsConnect(address string, options ...nats.Option) (nc *nats.Conn, err error) {
	for range 3 {
		nc, err = nats.Connect(address, options...)
		if err == nil || !strings.Contains(err.Error(), "expected 'PONG', got 'PING'") {
			break
		}
	}
	return nc, err
}

// setUp records that the connection is up and wakes those in wait. It does nothing if it is up
// already. The NATS client calls it and setDown.
func (c *conn) setUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up {
		c.up, c.since = true, time.Now()
		c.life, c.end = context.WithCancel(context.Background())
		close(c.back)
	}
}

// setDown records that the connection is lost and ends the contexts of attempt.
func (c *conn) setDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up {
		c.up, c.since, c.back = false, time.Now(), make(chan struct{})
		c.end()
	}
}

// state reports whether the connection is up, and since when it is or is not.
func (c *conn) state() (up bool, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up, c.since
}

// wait waits until the connection is up and returns nil. If ctx ends first, the error wraps
// ctx's and has the text of the last failed attempt to connect. It does not return because the
// connection is closed.
func (c *conn) wait(ctx context.Context) error {
	c.mu.Lock()
	back := c.back
	c.mu.Unlock()
	select {
	case <-back:
		return nil
	case <-ctx.Done():
		return because(ctx, "connect to the bus", c.nc.LastError())
	}
}

// attempt returns a context for one request. It ends with ctx, after d, or when the connection
// is lost (at once if it is down), as no answer can arrive then. The caller must call the
// CancelFunc.
func (c *conn) attempt(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	life := c.life
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// listen subscribes to a subject and calls f with each message, one after the other, until ctx
// ends. It returns nil after the last call of f, or at once an error if it can't subscribe. Up
// to 4096 messages wait for f; further ones are dropped.
func (c *conn) listen(ctx context.Context, subject string, f func(*nats.Msg)) error {
	l, err := c.subscribe(subject)
	if err != nil {
		return err
	}
	l.each(ctx, f)
	return nil
}

// listener is a subscription. The caller must call end, or each, which does.
type listener struct {
	c   *conn
	sub *nats.Subscription
	in  chan *nats.Msg
}

// subscribe returns a subscription to a subject. Up to 4096 messages wait in it; further ones
// are dropped. A lost connection is subscribed again when it is back.
func (c *conn) subscribe(subject string) (*listener, error) {
	l := &listener{c: c, in: make(chan *nats.Msg, 4096)}
	var err error
	if l.sub, err = c.nc.ChanSubscribe(subject, l.in); err != nil {
		return nil, fmt.Errorf("bus: listen to %s: %w", subject, err)
	}
	return l, nil
}

// each calls f with each message, one after the other, until ctx ends; then it ends the
// subscription and drops the waiting messages. Call it once.
func (l *listener) each(ctx context.Context, f func(*nats.Msg)) {
	for {
		select {
		case m := <-l.in:
			f(m)
		case <-ctx.Done():
			l.end()
			return
		}
	}
}

// end ends the subscription.
func (l *listener) end() { _ = l.sub.Unsubscribe() } // fails on a closed connection
