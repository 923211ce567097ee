package conn

import (
	"errors"
	"os"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// recheckAfter is the longest time after which Ask reads although the system reported no
// event.
const recheckAfter = 100 * time.Millisecond

// Ask sends all of p and waits for the first bytes of the answer. It does what Write and Fill
// do with one system call less: it does not try to read before it waits, since nothing can
// have arrived yet. Afterwards the bytes are unread; if nothing arrived, call Fill, which
// waits further or returns the reason. The error is that of writing. now is the current time
// by Now.
//
// Ask only writes, and does not wait, if CanAsk is false, bytes are unread, p is empty, the
// operation has no time limit or one that ends within 100 ms of now, or the socket's buffer
// has no room for all of p. It blocks until the limit set by ArmAsk or Arm at the latest.
//
// The system wakes the reader of a socket only for a new event, not for bytes or an end that
// arrived before Ask. So use Ask only on a connection whose last answer was read to its end a
// moment ago and that answers within milliseconds. If the server closes in between
// anyway, Ask notices within 100 ms.
func (c *Conn) Ask(p []byte, now time.Duration) error {
	if !c.park || c.buf != nil || len(p) == 0 || c.deadline < now+recheckAfter {
		return c.write(p)
	}
	if c.recheck < now+recheckAfter/2 {
		c.recheck = now + recheckAfter
		c.setRead(c.recheck)
	}
	return c.ask(p)
}

// errIdle is the error for a connection that the other side closed, or sent unrequested
// bytes on, while it was idle.
var errIdle = &Error{Class: EOF, Err: errors.New("the server closed the connection while it was idle")}

// AskIdle is Ask for a connection that was idle for any time, and for slow answers. It first
// checks whether the connection is still usable, as Gone does; if not, it sends nothing and
// returns an error of the class EOF. If CanAsk is false, bytes are unread or p is empty, it
// only writes, without a check.
func (c *Conn) AskIdle(p []byte) error {
	if !c.CanAsk() || c.buf != nil || len(p) == 0 {
		return c.write(p)
	}
	c.checking = true
	return c.ask(p)
}

// CanAsk reports whether AskIdle checks the connection before it sends. It is false with TLS,
// for connections that are no sockets, and on systems other than Unix.
func (c *Conn) CanAsk() bool { return c.park }

// ask writes p and waits until something can be read, or the limit, which Fill then reports.
// CanAsk must be true. If c.checking is set, it checks the connection first. If the socket has
// no room for all of p, it writes the rest and does not wait. An error is one of writing, or
// errIdle.
func (c *Conn) ask(p []byte) error {
	c.asking = p
	err := c.raw.Read(c.readStep)
	rest := c.asking
	c.asking = nil
	switch {
	case c.checking: // it did not wait and wrote nothing
		c.checking = false
		if err == nil {
			return errIdle
		}
		if !c.early(err) {
			return c.clean("write", closedOrLate(err))
		}
		return c.AskIdle(p) // a deadline that had passed is moved: now it can be checked
	case rest == nil: // written; Fill returns the error of the wait again
		return nil
	case err != nil && !c.early(err):
		return c.clean("write", closedOrLate(err))
	case c.err != nil:
		err, c.err = c.err, nil
		return c.clean("write", os.NewSyscallError("write", err))
	}
	// The socket buffer had no room for all of it, or the recheck time of Ask had passed already.
	return c.write(rest)
}

// write is Write with the operation's whole time limit, also where ArmAsk has left an earlier
// deadline.
func (c *Conn) write(p []byte) error {
	if c.set < c.deadline {
		c.setDeadline()
		c.stayCut()
	}
	_, err := c.Write(p)
	return err
}

// early reports whether reading ended with err before the operation's deadline: at Ask's
// recheck time, or at an earlier deadline of the socket. It has then set the socket to the
// operation's deadline, and the caller should read again.
func (c *Conn) early(err error) bool {
	if c.recheck == 0 {
		return c.moved(err)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.recheck = 0
	c.setRead(c.deadline)
	return true
}

// setRead sets the deadline of reading, on the clock of Now; if the operation was canceled,
// reading stays ended.
func (c *Conn) setRead(at time.Duration) {
	_ = c.tcp.SetReadDeadline(delay.At(at))
	if c.guard.state.Load()&cut != 0 {
		_ = c.tcp.SetReadDeadline(past)
	}
}
