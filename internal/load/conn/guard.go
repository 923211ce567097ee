package conn

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// Now is delay.Now: the monotonic time since the program started.
func Now() time.Duration { return delay.Now() }

// past is a deadline that ends all waiting immediately.
var past = time.Unix(1, 0)

// Arm sets the time limit of the next operation: reading and writing fail with
// os.ErrDeadlineExceeded timeout after start, on the clock of Now. To set the runtime's timer
// rarely, an earlier deadline remains in force if it is at most 1 % of timeout later than
// requested; so an operation never ends before its limit, and at most 1 % after it. Call Arm
// before Begin; after it, Rearm.
func (c *Conn) Arm(start, timeout time.Duration) {
	c.forget(start)
	c.limit(start, timeout)
}

// forget forgets what Own and moved know of the operation before.
func (c *Conn) forget(start time.Duration) {
	c.sent, c.stood, c.parts, c.full = 0, delay.Stood(start), 0, 0
}

// limit is Arm within an operation.
func (c *Conn) limit(start, timeout time.Duration) {
	at, slack := start+timeout, timeout/100
	if c.set >= at && c.set <= at+slack {
		c.deadline = c.set
		return
	}
	c.deadline = at + slack
	c.setDeadline()
}

// ArmAsk is Arm for an operation that begins with Ask or AskIdle and only reads after it. It
// leaves the socket's deadline unchanged even if it is earlier than requested, down to half of
// timeout. A read that reaches it moves it; few answers are that slow.
func (c *Conn) ArmAsk(start, timeout time.Duration) {
	if at := start + timeout; c.park && c.set < at && c.set >= start+timeout/2 {
		c.deadline = at
		c.forget(start)
		return
	}
	c.Arm(start, timeout)
}

// setDeadline sets the socket's deadline to the operation's.
func (c *Conn) setDeadline() {
	c.set, c.recheck = c.deadline, 0
	_ = c.tcp.SetDeadline(delay.At(c.deadline)) // it only fails on a closed connection, where the next read fails too
}

// moved reports whether waiting ended with err only because the socket's deadline was
// earlier than the operation's, or because this process was stopped: what the other side had sent
// meanwhile was not read, so the operation has that time more. It has then set the socket to the
// operation's deadline.
func (c *Conn) moved(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.guard.state.Load()&cut != 0 || c.deadline == 0 {
		return false
	}
	now := Now()
	if stopped := delay.Stood(now) - c.stood; stopped >= leastStop {
		c.stood += stopped
		c.deadline = max(c.deadline+stopped, now+leastStop) // what has arrived is read before the deadline counts
		c.setDeadline()
		c.stayCut()
		return true
	}
	if c.set >= c.deadline || now >= c.deadline {
		return false
	}
	c.setDeadline()
	c.stayCut()
	return true
}

// stayCut ends waiting again if the operation was canceled while its deadline was moved.
func (c *Conn) stayCut() {
	if c.guard.state.Load()&cut != 0 {
		_ = c.tcp.SetDeadline(past)
	}
}

// leastStop is the shortest stop of this process by which an operation may last longer.
const leastStop = time.Millisecond

// Rearm is Arm between Begin and End, for the rest of the operation. Another goroutine may be
// writing.
func (c *Conn) Rearm(start, timeout time.Duration) {
	c.limit(start, timeout)
	c.stayCut()
}

// Disarm removes the time limit, for a connection that several operations share: the kernel's time
// stamp of what was read last then says nothing of one, and is no longer read. Own must not be
// called afterwards.
func (c *Conn) Disarm() {
	c.deadline, c.set, c.recheck = 0, 0, 0
	c.stamps, c.stamp = false, 0
	_ = c.tcp.SetDeadline(time.Time{})
}

// guard ends an operation when its context ends, at no cost per operation while the same
// context is used again.
//
// state holds the number of the current watch, times 4, plus busy, cut, or 0 between
// operations. Only an operation that is busy under the watch's own number can be cut, so
// a context that ends while the connection is idle, or under another context, has no
// effect. The watch turns busy to cut before it changes the deadline; End turns busy to 0.
// Exactly one of the two succeeds.
type guard struct {
	state   atomic.Uint64
	watches uint64          // the number of watches so far, which numbers the current one
	done    <-chan struct{} // of the watched context, or nil
	stop    func() bool     // ends the watch
}

const (
	busy = 1
	cut  = 2
)

// Begin starts an operation that ends when ctx does: a waiting read or write then returns
// immediately, with an error of the class Timeout. If ctx is done already, Begin returns
// its error and the connection can't be used again. After End the connection still watches
// ctx, so that the next operation under the same ctx costs nothing; Close and Drop end the
// watch.
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
	// A context that ends after this line finds the operation busy; one that ended
	// before is detected here.
	if err := ctx.Err(); err != nil {
		_ = c.End()
		return err
	}
	return nil
}

// End ends the operation. It returns false if ctx ended first; the connection can't be
// used again then, even if the operation succeeded.
func (c *Conn) End() bool {
	n := c.guard.watches << 2
	return c.guard.state.CompareAndSwap(n|busy, n)
}

// cut ends the operation if it belongs to the watch with that number and has not ended: its
// waiting ends at once. The end of the watched ctx calls it, in any goroutine.
func (c *Conn) cut(number uint64) {
	if c.guard.state.CompareAndSwap(number<<2|busy, number<<2|cut) {
		_ = c.tcp.SetDeadline(past)
	}
}

// unwatch ends the watch of a ctx, if there is one. The next Begin starts another.
func (c *Conn) unwatch() {
	if c.guard.stop != nil {
		c.guard.stop()
		c.guard.stop = nil
	}
	c.guard.done = nil
}
