//go:build unix

package conn

import (
	"io"
	"syscall"
)

// canReadRaw tells that sockets are read and written by this package's own system
// calls, and package net only waits.
const canReadRaw = true

// readRaw tries to read what is there, and reports whether it is done; false makes
// the runtime wait until the socket is readable and call again. While it waits, a
// connection with nothing unread owns no buffer. There must be no large local
// variable here: this runs on the small stack of a user's goroutine.
func (c *Conn) readRaw(fd uintptr) bool {
	switch {
	case c.asking != nil:
		return c.askRaw(fd)
	case c.direct:
		n, err := sysRead(fd, c.into)
		if err == syscall.EAGAIN {
			return false
		}
		c.got = n
		c.end(n, err)
		return true
	}
	b := c.buf
	if b == nil {
		b = newBuffer()
	}
	n, err := sysRead(fd, b.data[b.w:])
	if n > 0 {
		b.w += n
		c.in += int64(n)
		c.buf = b
		return true
	}
	if c.buf == nil {
		b.free()
	}
	if err == syscall.EAGAIN {
		return false
	}
	c.end(n, err)
	return true
}

// end keeps why reading brought nothing.
func (c *Conn) end(n int, err error) {
	if n == 0 && err == nil {
		err = io.EOF
	}
	c.err = err
}

// askRaw writes what Ask wants written. It reports false, and so waits until
// something can be read, when all of it is.
func (c *Conn) askRaw(fd uintptr) bool {
	if c.looking {
		if used(fd) {
			return true
		}
		c.looking = false
	}
	n, err := sysWrite(fd, c.asking)
	if err != nil {
		if err != syscall.EAGAIN {
			c.err = err
		}
		return true
	}
	c.out += int64(n)
	if c.asking = c.asking[n:]; len(c.asking) > 0 {
		return true
	}
	c.asking = nil
	return false
}

// writeRaw writes until all is written or there is no more room; false makes the
// runtime wait for room.
func (c *Conn) writeRaw(fd uintptr) bool {
	for len(c.from) > 0 {
		n, err := sysWrite(fd, c.from)
		if err == syscall.EAGAIN {
			return false
		}
		if err != nil {
			c.werr = err
			return true
		}
		c.from = c.from[n:]
	}
	return true
}

// used tells whether a connection that was idle has ended, or has brought what nobody
// asked for. It is Gone for a connection that is then dropped: a byte of that is lost.
func used(fd uintptr) bool {
	var b [1]byte
	_, err := sysRead(fd, b[:])
	return err != syscall.EAGAIN
}

// Gone reports that a connection that was idle can't be used again: the other side
// has ended it, or has sent what nobody asked for. It costs one system call and does
// not wait. False is no promise: the other side may end it right after.
func (c *Conn) Gone() bool {
	sc, ok := c.tcp.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = err != syscall.EAGAIN && err != syscall.EINTR
	})
	return gone || err != nil
}
