package conn

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// epoch is where the clock of this package starts.
var epoch = time.Now()

// Now is the monotonic clock, in nanoseconds since the program started. It costs
// half of time.Now, which reads the wall clock too.
func Now() time.Duration { return time.Since(epoch) }

// past is a deadline that ends all waiting at once.
var past = time.Unix(1, 0)

// Arm makes waiting end with os.ErrDeadlineExceeded timeout after start, on the
// clock of Now. So that the runtime's timer is touched rarely, a deadline stays
// as it is while it is at most one hundredth of timeout later than asked for: an
// operation never ends before its time, and at most 1 % after it. Call it before
// Begin.
func (c *Conn) Arm(start, timeout time.Duration) {
	at, slack := start+timeout, timeout/100
	if c.set >= at && c.set <= at+slack {
		c.deadline = c.set
		return
	}
	c.deadline = at + slack
	c.setDeadline()
}

// ArmAsk is Arm for an operation that begins with Ask or AskIdle, and only reads then. The
// socket's deadline stays though it is earlier, down to half of timeout: reading moves it
// on when it gets there, which few answers let it.
func (c *Conn) ArmAsk(start, timeout time.Duration) {
	if at := start + timeout; c.park && c.set < at && c.set >= start+timeout/2 {
		c.deadline = at
		return
	}
	c.Arm(start, timeout)
}

// setDeadline gives the socket the deadline.
func (c *Conn) setDeadline() {
	c.set, c.glance = c.deadline, 0
	_ = c.tcp.SetDeadline(epoch.Add(c.deadline)) // it only fails on a closed connection, as reading then will
}

// moved tells whether waiting has ended with err only because the socket's deadline was
// earlier than the operation's: the socket has that now.
func (c *Conn) moved(err error) bool {
	if c.set >= c.deadline || !errors.Is(err, os.ErrDeadlineExceeded) || Now() >= c.deadline || c.guard.state.Load()&cut != 0 {
		return false
	}
	c.setDeadline()
	c.stayCut()
	return true
}

// stayCut leaves an operation cut that was while its deadline was moved.
func (c *Conn) stayCut() {
	if c.guard.state.Load()&cut != 0 {
		_ = c.tcp.SetDeadline(past)
	}
}

// Rearm is Arm within an operation.
func (c *Conn) Rearm(start, timeout time.Duration) {
	c.Arm(start, timeout)
	c.stayCut()
}

// Disarm lets waiting last for ever, as a connection needs that many share.
func (c *Conn) Disarm() {
	c.deadline, c.set, c.glance = 0, 0, 0
	_ = c.tcp.SetDeadline(time.Time{})
}

// guard lets the end of a context end an operation, at no cost an operation while
// the same context is used again.
//
// state holds the number of the watch in force, times 4, plus busy, cut, or 0
// between operations. Only an operation that is busy under the watch's own number
// can be cut, so a context that ends when the connection is idle or serves another
// one does nothing. Who cuts turns busy to cut before it touches the deadline, and
// who ends an operation turns busy to 0: one of the two succeeds.
type guard struct {
	state   atomic.Uint64
	watches uint64          // how many there were; the number of the one in force
	done    <-chan struct{} // of the watched context; nil: none is watched
	stop    func() bool     // ends the watch
}

const (
	busy = 1
	cut  = 2
)

// Begin opens an operation that ends when ctx does: reading or writing that waits
// then returns at once, with an error of the class Timeout. It returns ctx's error
// if ctx is done already; the connection can't be used again then. It goes on
// watching ctx, which costs an entry there, so that the next operation under the
// same ctx costs nothing.
func (c *Conn) Begin(ctx context.Context) error {
	g := &c.guard
	if done := ctx.Done(); done != g.done {
		c.unwatch()
		g.watches++
		if g.done = done; done != nil {
			number := g.watches
			g.stop = context.AfterFunc(ctx, func() { c.cut(number) })
		}
	}
	g.state.Store(g.watches<<2 | busy)
	// A context that ends from here on finds the operation busy; one that ended
	// before is seen here.
	if err := ctx.Err(); err != nil {
		_ = c.End()
		return err
	}
	return nil
}

// End closes the operation. It reports false when the operation was cut: the
// connection can't be used again then, even if the operation has succeeded.
func (c *Conn) End() bool {
	n := c.guard.watches << 2
	return c.guard.state.CompareAndSwap(n|busy, n)
}

func (c *Conn) cut(number uint64) {
	if c.guard.state.CompareAndSwap(number<<2|busy, number<<2|cut) {
		_ = c.tcp.SetDeadline(past)
	}
}

func (c *Conn) unwatch() {
	if c.guard.stop != nil {
		c.guard.stop()
		c.guard.stop = nil
	}
	c.guard.done = nil
}
