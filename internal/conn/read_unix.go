//go:build unix

package conn

import (
	"io"
	"syscall"
)

const canReadRaw = true

// readRaw reads what is there and reports whether it is done; false makes the
// runtime wait until the socket is readable and call again. While it waits, a
// connection with nothing unread owns no buffer. There must be no large local
// variable here: this runs on the small stack of a user's goroutine.
func (c *Conn) readRaw(fd uintptr) bool {
	if c.asking != nil {
		return c.writeRaw(fd)
	}
	b := c.buf
	if b == nil {
		b = newBuffer()
	}
	n, err := syscall.Read(int(fd), b.data[b.w:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), b.data[b.w:])
	}
	if n > 0 {
		b.w += n
		c.in += int64(n)
		c.buf = b
		return true
	}
	if c.buf == nil {
		b.free()
	}
	switch err {
	case syscall.EAGAIN:
		return false
	case nil:
		err = io.EOF
	}
	c.err = err
	return true
}

// writeRaw writes what Ask wants written. It reports false, and so waits until
// something can be read, when all of it is.
func (c *Conn) writeRaw(fd uintptr) bool {
	n, err := syscall.Write(int(fd), c.asking)
	for err == syscall.EINTR {
		n, err = syscall.Write(int(fd), c.asking)
	}
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
