// Package conn is what every client's connections have in common.
//
// A [Dialer] opens a [Conn], which reads without owning a buffer: a connection
// that waits with nothing unread costs its socket and this struct, and takes a
// buffer from a pool only once bytes are there. A context ends an operation in
// flight at once (Begin, End); deadlines are moved rarely (Arm). [Classify] tells
// what kind of failure an error is, [Text] gives a text by which equal failures
// can be counted together.
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

// Conn is a stream connection. One goroutine at a time may use it, though one may
// call WriteParts while another reads; Abort may be called from any.
type Conn struct {
	// What asking and reading need comes first, in two cache lines: with very many
	// connections each line that is touched is fetched from memory. TestConnsLines
	// holds them there.
	raw      syscall.RawConn    // of tcp; nil where sockets are not read and written past package net
	readStep func(uintptr) bool // c.readRaw; bound once, as writeStep is, so that a call allocates nothing; see plain
	asking   []byte             // what Ask has yet to write
	buf      *buffer            // bytes that came and were not taken; nil when there are none
	park     bool               // Fill waits without a buffer, as it can with raw and without TLS
	looking  bool               // before that AskIdle has yet to look
	direct   bool               // reading is to into, not to buf

	in, out  int64
	deadline time.Duration // of the operation, on the clock of Now; 0: none
	set      time.Duration // that which tcp has: that, or an earlier one of ArmAsk
	glance   time.Duration // an earlier one that Ask has set for reading; 0: none
	err      error         // what reading, or Ask's writing, met

	nc        net.Conn           // reads and writes: the socket, or TLS on it
	tcp       net.Conn           // the socket as package net knows it
	writeStep func(uintptr) bool // c.writeRaw
	into      []byte             // where to read to
	from      []byte             // what is yet to be written
	got       int                // bytes read into into
	werr      error              // what writing met
	guard     guard
	_         [56]byte // makes it a number of lines, so that each begins one
}

// New makes a Conn of an established connection, which it then owns. Reading is
// bufferless where nc is a socket of the operating system.
func New(nc net.Conn) *Conn {
	c := &Conn{nc: nc, tcp: nc}
	if sc, ok := nc.(syscall.Conn); ok && canReadRaw {
		if raw, err := sc.SyscallConn(); err == nil {
			c.nc, c.raw, c.park = (*plain)(c), raw, true
			c.readStep, c.writeStep = c.readRaw, c.writeRaw
		}
	}
	return c
}

// Unread gives the bytes that came and were not taken yet. They stay valid until
// the next call of Fill, Take or Read.
func (c *Conn) Unread() []byte {
	if c.buf == nil {
		return nil
	}
	return c.buf.data[c.buf.r:c.buf.w]
}

// Take marks the first n unread bytes as used. When none is left the buffer goes
// back to the pool.
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

// Fill waits until at least one more byte came, and adds what came to the unread
// ones. With nothing unread it waits without a buffer. [ErrFull] means that
// MaxUnread bytes are unread already; io.EOF that the other side has ended.
func (c *Conn) Fill() error {
	if c.buf != nil && !c.buf.room() {
		return ErrFull
	}
	if !c.park {
		return c.fillThrough()
	}
	if c.err == nil { // else Ask has met it
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

// fillThrough is Fill for connections that have to be read through nc: the buffer
// is held while it waits.
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
	return nil // an error beside bytes comes again at the next read
}

// Read takes unread bytes if there are any, else waits for some, straight into p.
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

// Write sends p whole. The count of an error is how much of p was handed over.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.nc.Write(p)
	c.out += int64(n)
	if err != nil {
		return n, c.clean("write", err)
	}
	return n, nil
}

// WriteParts sends the parts whole, one after the other, with as few system calls
// as the connection allows. It changes parts.
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

// StopWriting makes a WriteParts that another goroutine waits in give up, unless it
// has handed everything over. The next Arm lets write again.
func (c *Conn) StopWriting() {
	c.deadline, c.set = 0, 0
	_ = c.tcp.SetWriteDeadline(past)
}

// In gives how many bytes were read; of TLS, after decryption.
func (c *Conn) In() int64 { return c.in }

// Out gives how many bytes were written; of TLS, before encryption.
func (c *Conn) Out() int64 { return c.out }

// Handshake turns the connection into TLS. Bytes that came before are lost, so
// call it before any Fill. An error that is TLS's own has the class TLS.
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

// TLS gives the state of a secure connection's handshake; nil without one.
func (c *Conn) TLS() *tls.ConnectionState {
	tc, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	state := tc.ConnectionState()
	return &state
}

// Peer gives the address that the socket is connected to: a proxy's, if there is one.
func (c *Conn) Peer() net.Addr { return c.tcp.RemoteAddr() }

// Close ends the connection in order: TLS says goodbye first.
func (c *Conn) Close() {
	c.nc.Close()
	c.release()
}

// Drop ends a connection that failed, without a word.
func (c *Conn) Drop() {
	c.tcp.Close()
	c.release()
}

// Abort ends the connection under the hands of its user, whose reading and writing
// then fails with net.ErrClosed; the user still has to call Drop. Any goroutine
// may call it.
func (c *Conn) Abort() { c.tcp.Close() }

func (c *Conn) release() {
	c.unwatch()
	if c.buf != nil {
		c.buf.free()
		c.buf = nil
	}
}

// closedOrLate gives an error with which waiting on a socket ended one shape: the time
// is over, or the socket was closed, which package os has no exported error for.
func closedOrLate(err error) error {
	if _, own := errors.AsType[*os.SyscallError](err); err == nil || own || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}

// clean gives err the shape that all of a connection's errors have: what was done,
// to which address, and why it failed; without the ephemeral local port that net's
// own errors name, so that equal failures read alike.
func (c *Conn) clean(op string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return err
	}
	_, secure := c.nc.(*tls.Conn)
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Addr != nil {
		err = oe.Err // of the network; TLS's own have no address
	}
	addr := c.tcp.RemoteAddr()
	err = &net.OpError{Op: op, Net: addr.Network(), Addr: addr, Err: err}
	if secure && Classify(err) == Other {
		return &Error{Class: TLS, Err: err}
	}
	return err
}
