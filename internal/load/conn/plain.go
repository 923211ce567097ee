package conn

import (
	"io"
	"net"
	"os"
	"time"
)

// plain is the socket of a Conn as a net.Conn, for TLS. Read and Write may be called
// concurrently, each by one goroutine. Read returns io.EOF at the end; other errors are those
// that closedOrLate returns.
type plain Conn

// Read waits for bytes, and reads them into b; without room in b it returns 0 at once.
func (p *plain) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.into, p.direct = b, true
	err := p.raw.Read(p.readStep)
	p.into, p.direct = nil, false
	if err != nil {
		return 0, closedOrLate(err)
	}
	if err = p.err; err != nil {
		p.err = nil
		if err != io.EOF {
			err = os.NewSyscallError("read", err)
		}
		return 0, err
	}
	return p.got, nil
}

// Write sends all of b. With an error it returns how many bytes were sent.
func (p *plain) Write(b []byte) (int, error) {
	p.from = b
	err := p.raw.Write(p.writeStep)
	n := len(b) - len(p.from)
	p.from = nil
	err = closedOrLate(err)
	if err == nil && p.werr != nil {
		err = os.NewSyscallError("write", p.werr)
		p.werr = nil
	}
	return n, err
}

func (p *plain) Close() error                       { return p.tcp.Close() }
func (p *plain) LocalAddr() net.Addr                { return p.tcp.LocalAddr() }
func (p *plain) RemoteAddr() net.Addr               { return p.tcp.RemoteAddr() }
func (p *plain) SetDeadline(t time.Time) error      { return p.tcp.SetDeadline(t) }
func (p *plain) SetReadDeadline(t time.Time) error  { return p.tcp.SetReadDeadline(t) }
func (p *plain) SetWriteDeadline(t time.Time) error { return p.tcp.SetWriteDeadline(t) }
