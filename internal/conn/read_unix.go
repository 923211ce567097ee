//go:build unix

package conn

import (
	"io"
	"syscall"
	"unsafe"
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
	n, err := transfer(syscall.SYS_READ, fd, b.data[b.w:])
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
	case 0:
		c.err = io.EOF
	default:
		c.err = err
	}
	return true
}

// writeRaw writes what Ask wants written. It reports false, and so waits until
// something can be read, when all of it is.
func (c *Conn) writeRaw(fd uintptr) bool {
	n, err := transfer(syscall.SYS_WRITE, fd, c.asking)
	c.out += int64(n)
	c.asking = c.asking[n:]
	if len(c.asking) == 0 {
		c.asking = nil
		return false
	}
	if err != 0 && err != syscall.EAGAIN {
		c.err = err
	}
	return true
}

// transfer reads into p or writes it, by trap, on a socket that does not block; so
// the scheduler need not be told. n is 0 with an error, and at a stream's end.
func transfer(trap, fd uintptr, p []byte) (n int, err syscall.Errno) {
	for {
		r, _, err := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch err {
		case 0:
			return int(r), 0
		case syscall.EINTR:
			continue
		}
		return 0, err
	}
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
