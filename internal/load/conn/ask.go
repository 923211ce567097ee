package conn

import (
	"errors"
	"os"
	"time"
)

// glanceAfter is after how long at most Ask looks whether the answer came unnoticed.
const glanceAfter = 100 * time.Millisecond

// Ask sends p whole and waits for the first bytes of the answer, as Write and Fill
// do, with a system call less: it does not begin the wait by asking for bytes that
// can't have come yet. What came is unread afterwards; if nothing is, call Fill,
// which tells why. An error is that of writing.
//
// Bytes or an end that came before Ask are not news to the system, which wakes the
// reader of a socket only when something happens. So Ask is for a connection whose
// last answer was read to its end a moment ago, and that answers within a few
// milliseconds; if an end does fall in between, Ask finds it within 100 ms. now is
// the time by Now.
func (c *Conn) Ask(p []byte, now time.Duration) error {
	if !c.park || c.buf != nil || len(p) == 0 || c.deadline < now+glanceAfter {
		return c.write(p)
	}
	if c.glance < now+glanceAfter/2 {
		c.glance = now + glanceAfter
		c.setRead(c.glance)
	}
	return c.ask(p)
}

// errIdle is what a connection met that the other side had ended, or filled with what
// nobody asked for, while it was idle.
var errIdle = &Error{Class: EOF, Err: errors.New("the server closed the connection while it was idle")}

// AskIdle is Ask for a connection that was idle, however long, and for answers that
// take their time: it looks first whether the connection can still be used, as Gone
// does, and fails with class EOF, having sent nothing, if it can't. Where CanAsk is
// false it is Write.
func (c *Conn) AskIdle(p []byte) error {
	if !c.CanAsk() || c.buf != nil || len(p) == 0 {
		return c.write(p)
	}
	c.looking = true
	return c.ask(p)
}

// CanAsk reports whether AskIdle looks before it sends.
func (c *Conn) CanAsk() bool { return c.park }

// ask writes p and waits until something can be read.
func (c *Conn) ask(p []byte) error {
	c.asking = p
	err := c.raw.Read(c.readStep)
	rest := c.asking
	c.asking = nil
	switch {
	case c.looking: // it waited for nothing, and wrote nothing
		c.looking = false
		if err == nil {
			return errIdle
		}
		if !c.early(err) {
			return c.clean("write", closedOrLate(err))
		}
	case rest == nil: // written; what the wait met, Fill meets again
		return nil
	case err != nil && !c.early(err):
		return c.clean("write", closedOrLate(err))
	case c.err != nil:
		err, c.err = c.err, nil
		return c.clean("write", os.NewSyscallError("write", err))
	}
	// There was no room for all of it, or this goroutine came too late to glance.
	return c.write(rest)
}

// write is Write, with all the operation's time.
func (c *Conn) write(p []byte) error {
	if c.set < c.deadline {
		c.setDeadline()
		c.stayCut()
	}
	_, err := c.Write(p)
	return err
}

// early reports that reading has ended with err before the operation's time: Ask wanted to
// look again soon, or the socket's deadline was an earlier one. Reading then has the whole
// time again.
func (c *Conn) early(err error) bool {
	if c.glance == 0 {
		return c.moved(err)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.glance = 0
	c.setRead(c.deadline)
	return true
}

// setRead moves the deadline of reading, but leaves an operation cut that was.
func (c *Conn) setRead(at time.Duration) {
	_ = c.tcp.SetReadDeadline(epoch.Add(at))
	if c.guard.state.Load()&cut != 0 {
		_ = c.tcp.SetReadDeadline(past)
	}
}
