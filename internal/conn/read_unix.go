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

// Gone reports that an idle connection can't be used again: the other side has
// ended it, or has sent what nobody asked for. It costs one system call and does
// not wait. A TLS connection may have records of its own to read, so there only
// the end counts. False is no promise: the other side may end it right after.
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
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN, err == syscall.EINTR:
		case err != nil, n == 0:
			gone = true
		default:
			gone = c.raw != nil
		}
	})
	return gone || err != nil
}
