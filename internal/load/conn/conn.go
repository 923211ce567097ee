package conn

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is a stream connection. One goroutine at a time may use it, except that one may
// call WriteParts while another reads, and that any may call Abort. Its user must call
// Close or Drop.
type Conn struct {
	// The fields used by asking and reading come first, in two cache lines: with very
	// many connections each line that is touched is fetched from memory. TestConnsLines
	// checks that.
	raw      syscall.RawConn    // of tcp; nil where package net reads and writes the socket
	readStep func(uintptr) bool // c.readRaw; bound once, like writeStep, so that a call allocates nothing; see plain
	asking   []byte             // the part of the request that Ask has not written yet
	buf      *buffer            // bytes that arrived and were not taken; nil if empty
	park     bool               // Fill waits without a buffer: raw is set and there is no TLS
	checking bool               // AskIdle must still check the connection before it writes
	direct   bool               // read into into, not buf
	stamps   bool               // reads get the kernel's time stamps

	in, out  int64
	deadline time.Duration // of the operation, on the clock of Now; 0: none
	set      time.Duration // of tcp: the same, or an earlier one set by ArmAsk
	recheck  time.Duration // an earlier one for reading, set by Ask; 0: none
	err      error         // of reading, or of writing within Ask

	sent  time.Duration // when the system had accepted the first bytes written since Arm, on the clock of Now; 0: none
	stood time.Duration // what delay.Stood was at Arm
	parts int           // reads since Arm that returned bytes
	full  int           // writes since Arm that had to wait for room; only the writer's goroutine may use it until its end
	stamp int64         // when the kernel received the last bytes read, Unix time in ns; 0: unknown

	nc        net.Conn           // reads and writes: the socket, or TLS on it
	tcp       net.Conn           // the socket as package net sees it
	writeStep func(uintptr) bool // c.writeRaw
	into      []byte             // destination of a direct read
	from      []byte             // bytes to write
	got       int                // bytes read into into
	werr      error              // of writing
	guard     guard
	_         [16]byte // rounds the size up to whole cache lines, so that each Conn begins one
}

// New returns a Conn on an established connection and takes ownership of nc: the caller closes
// only the Conn. Waiting needs no buffer if nc is a socket of the operating system, on Unix.
func New(nc net.Conn) *Conn {
	c := &Conn{nc: nc, tcp: nc}
	if sc, ok := nc.(syscall.Conn); ok && canReadRaw {
		if raw, err := sc.SyscallConn(); err == nil {
			c.nc, c.raw, c.park = (*plain)(c), raw, true
			c.readStep, c.writeStep = c.readRaw, c.writeRaw
			_, local := nc.(*net.UnixConn)
			if c.stamps = canStamp && !local; c.stamps {
				_ = raw.Control(func(fd uintptr) { stampReads(int(fd)) })
			}
		}
	}
	return c
}

// Unread returns the bytes that arrived and were not taken yet; nil if all were taken. They
// are valid until the next call of Fill, Take, Read, Close or Drop.
func (c *Conn) Unread() []byte {
	if c.buf == nil {
		return nil
	}
	return c.buf.data[c.buf.r:c.buf.w]
}

// Take consumes the first n unread bytes, of which there must be as many. After the last one
// the buffer returns to the pool.
func (c *Conn) Take(n int) {
	b := c.buf
	if b == nil {
		return // n is 0
	}
	b.r += n
	if b.r >= b.w {
		c.buf = nil
		b.free()
	}
}

// Fill waits for at least one more byte and adds what arrived to the unread bytes. If nothing
// is unread and CanAsk is true, it waits without a buffer. It returns [ErrFull] if MaxUnread
// bytes are unread already, io.EOF if the other side has closed the connection, and an error
// of the class Timeout after the limit set by Arm or the end of Begin's ctx. The unread bytes
// stay after an error.
func (c *Conn) Fill() error {
	if c.buf != nil && !c.buf.room() {
		return ErrFull
	}
	if !c.park {
		return c.fillThrough()
	}
	if c.err == nil { // otherwise Ask has already received something
		if err := c.raw.Read(c.readStep); err != nil {
			if c.early(err) {
				return c.Fill()
			}
			return c.clean("read", closedOrLate(err))
		}
	}
	err := c.err
	c.err = nil
	if err == nil || err == io.EOF {
		return err
	}
	return c.clean("read", os.NewSyscallError("read", err))
}

// fillThrough is Fill for connections that must be read through nc: it holds a buffer while it
// waits. It does not check whether there is room.
func (c *Conn) fillThrough() error {
	b := c.buf
	if b == nil {
		b = newBuffer()
	}
	n, err := c.nc.Read(b.data[b.w:])
	if n == 0 {
		if c.buf == nil {
			b.free()
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		return c.clean("read", err)
	}
	b.w += n
	c.in += int64(n)
	c.buf = b
	return nil // the next read returns the error again
}

// Read takes unread bytes if there are any; otherwise it waits for some and reads them
// directly into p. It returns 0 and io.EOF if the other side has closed the connection, and 0
// and an error of the class Timeout after the limit set by Arm or the end of Begin's ctx.
func (c *Conn) Read(p []byte) (int, error) {
	if c.buf != nil {
		n := copy(p, c.Unread())
		c.Take(n)
		return n, nil
	}
	n, err := c.nc.Read(p)
	c.in += int64(n)
	if n > 0 || err == nil {
		return n, nil
	}
	if c.early(err) {
		return c.Read(p)
	}
	return 0, c.clean("read", err)
}

// Write sends all of p: it waits until the system has accepted it. With an error it returns
// how many bytes the system accepted. The class is Timeout after the limit set by Arm or the
// end of Begin's ctx.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.nc.Write(p)
	c.out += int64(n)
	if err != nil {
		return n, c.clean("write", err)
	}
	return n, nil
}

// WriteParts sends all of the parts in order, with as few system calls as the connection
// allows. It modifies the slice parts, not the bytes. Another goroutine may read at the same
// time. After an error some of the bytes may have been sent; the errors are those of Write.
func (c *Conn) WriteParts(parts net.Buffers) error {
	var n int64
	var err error
	if c.park {
		n, err = c.writeParts(parts)
		err = closedOrLate(err)
	} else {
		n, err = parts.WriteTo(c.nc)
	}
	c.out += n
	if err != nil {
		return c.clean("write", err)
	}
	return nil
}

// StopWriting makes a WriteParts in another goroutine return with an error, unless the
// system has accepted all its bytes. Writing is possible again after the next Arm.
func (c *Conn) StopWriting() {
	c.deadline, c.set = 0, 0
	_ = c.tcp.SetWriteDeadline(past)
}

// In returns the number of bytes read; with TLS, after decryption.
func (c *Conn) In() int64 { return c.in }

// Out returns the number of bytes written; with TLS, before encryption.
func (c *Conn) Out() int64 { return c.out }

// Handshake performs a TLS handshake as the client; all later reading and writing is
// encrypted. Unread bytes are lost, so call it before any Fill. If TLS itself fails, the error
// has the class TLS. Arm and Begin limit it like any operation. After an error the connection
// can only be dropped. config must not be changed afterwards.
func (c *Conn) Handshake(config *tls.Config) error {
	tc := tls.Client(c.nc, config)
	c.nc, c.park = tc, false
	var err error
	aside(func() { err = tc.Handshake() })
	if err != nil {
		return c.clean("handshake", err)
	}
	return nil
}

// TLS returns a copy of the state of the connection's TLS; nil before Handshake.
func (c *Conn) TLS() *tls.ConnectionState {
	tc, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	state := tc.ConnectionState()
	return &state
}

// Peer returns the address that the socket is connected to: that of the proxy, if there is
// one.
func (c *Conn) Peer() net.Addr { return c.tcp.RemoteAddr() }

// Close closes the connection; TLS sends its close_notify first. The Conn must not be
// used again.
func (c *Conn) Close() {
	c.nc.Close()
	c.release()
}

// Drop closes a connection that failed, without a close_notify. The Conn must not be used
// again.
func (c *Conn) Drop() {
	c.tcp.Close()
	c.release()
}

// Abort closes the socket while another goroutine uses the connection: that goroutine's
// reads and writes fail with net.ErrClosed, and it must still call Drop. Any goroutine may
// call it.
func (c *Conn) Abort() { c.tcp.Close() }

// release ends the watch of Begin's ctx and frees the unread bytes. It may be called twice.
func (c *Conn) release() {
	c.unwatch()
	if c.buf != nil {
		c.buf.free()
		c.buf = nil
	}
}

// closedOrLate returns os.ErrDeadlineExceeded, a system call's error, or net.ErrClosed for the
// error with which waiting on a socket ended, and nil for nil; package os exports no error for
// a closed one.
func closedOrLate(err error) error {
	if _, own := errors.AsType[*os.SyscallError](err); err == nil || own || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}

// clean returns err, which must not be nil, in the form that all errors of a connection have:
// the operation, the remote address and the cause, without the ephemeral local port that net's
// own errors contain, so that equal failures have equal texts. io.EOF and io.ErrUnexpectedEOF
// are returned unchanged. With TLS an error without another class gets the class TLS.
func (c *Conn) clean(op string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return err
	}
	_, secure := c.nc.(*tls.Conn)
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Addr != nil {
		err = oe.Err // of the network; errors of TLS have no address
	}
	addr := c.tcp.RemoteAddr()
	err = &net.OpError{Op: op, Net: addr.Network(), Addr: addr, Err: err}
	if secure && Classify(err) == Other {
		return &Error{Class: TLS, Err: err}
	}
	return err
}
