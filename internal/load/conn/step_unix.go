//go:build unix

package conn

import (
	"io"
	"syscall"
)

// canReadRaw means that this package reads and writes sockets by its own system calls, and
// that package net only waits.
const canReadRaw = true

// readRaw tries to read and reports whether it is done; false makes the runtime wait until the
// socket is readable and call it again. The result is in c.buf, or c.got for a direct read, or
// c.err. While it waits, a connection with nothing unread owns no buffer. It must have no
// large local variable: it runs on the small stack of a user's goroutine.
func (c *Conn) readRaw(fd uintptr) bool {
	switch {
	case c.asking != nil:
		return c.askRaw(fd)
	case c.direct:
		n, err := c.receive(fd, c.into)
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
	n, err := c.receive(fd, b.data[b.w:])
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

// receive reads as sysRead does, and stores when the kernel had the last of the bytes.
func (c *Conn) receive(fd uintptr, p []byte) (n int, err error) {
	if c.stamps {
		n, c.stamp, err = sysReadStamped(fd, p)
	} else {
		n, err = sysRead(fd, p)
	}
	if n > 0 {
		c.parts++
	}
	return n, err
}

// end stores err, that of a read of n bytes, in c.err; or io.EOF if n is 0 without an error.
func (c *Conn) end(n int, err error) {
	if n == 0 && err == nil {
		err = io.EOF
	}
	c.err = err
}

// askRaw writes the request of Ask. When all of it is written, it returns false, so that the
// runtime waits until something can be read. It returns true if the check of AskIdle fails, if
// the socket has no room for the rest, which stays in c.asking, and on an error, in c.err.
func (c *Conn) askRaw(fd uintptr) bool {
	if c.checking {
		if used(fd) {
			return true
		}
		c.checking = false
	}
	n, err := sysWrite(fd, c.asking)
	if err != nil {
		if err != syscall.EAGAIN {
			c.err = err
		}
		return true
	}
	if c.sent == 0 {
		c.sent = Now()
	}
	c.out += int64(n)
	if c.asking = c.asking[n:]; len(c.asking) > 0 {
		return true
	}
	c.asking = nil
	return false
}

// writeRaw writes until everything is written or the socket's buffer is full; it then returns
// false, so that the runtime waits for room. It stores an error in c.werr and the rest in
// c.from.
func (c *Conn) writeRaw(fd uintptr) bool {
	for len(c.from) > 0 {
		n, err := sysWrite(fd, c.from)
		if err == syscall.EAGAIN {
			c.full++
			return false
		}
		if err != nil {
			c.werr = err
			return true
		}
		if c.from = c.from[n:]; c.sent == 0 {
			c.sent = Now()
		}
	}
	return true
}

// used reports whether an idle connection has ended or has received unrequested bytes.
// Unlike Gone it consumes a byte, so the connection must then be dropped.
func used(fd uintptr) bool {
	var b [1]byte
	_, err := sysRead(fd, b[:])
	return err != syscall.EAGAIN
}

// Gone reports whether an idle connection is unusable: the other side has closed it or has
// sent unrequested bytes. It costs one system call and does not wait. After false the other
// side may still close it at any moment. It is false if the connection is no socket.
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
