package conn

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// Dialer opens TCP connections. The zero value works.
type Dialer struct {
	Local    net.Addr      // where connections come from; nil: the system chooses
	Resolver *net.Resolver // looks names up, at each Dial; nil: the system's
}

// Dial connects to addr ("host:port") within timeout, and not longer than ctx
// lasts. The error is of the class Timeout when the time is over, DNS when that was
// spent on looking up the name.
//
// The kernel sends no keep-alive probes: a client's own timeouts find a dead peer,
// and each connection is spared three system calls.
func (d *Dialer) Dial(ctx context.Context, addr string, timeout time.Duration) (*Conn, error) {
	if timeout <= 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	nd := net.Dialer{Timeout: timeout, KeepAlive: -1, LocalAddr: d.Local, Resolver: d.Resolver}
	var nc net.Conn
	var err error
	aside(func() { nc, err = nd.DialContext(ctx, "tcp", addr) })
	if err != nil {
		if oe, ok := errors.AsType[*net.OpError](err); ok {
			oe.Source = nil // see Text
		}
		return nil, err
	}
	return New(nc), nil
}

// aside runs f in a goroutine of its own and waits for it. To connect and to shake
// hands takes a deep stack; the stack of a user's goroutine, of which there may be
// a million, would grow for it and stay large.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
