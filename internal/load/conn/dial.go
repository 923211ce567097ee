package conn

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/load/allowlist"
)

// Dialer opens stream connections. The zero value connects straight, over TCP, with
// names looked up at each Dial. Any number of goroutines may use it at once.
type Dialer struct {
	Sources *Sources // where connections come from, in turn; nil: the system chooses
	Names   *Names   // how names are looked up; nil: by the system, at each Dial
	Unix    string   // path of a Unix socket to connect to, whatever the address; "": none
	Proxy   *Proxy   // to connect through; nil: straight. Not together with Unix

	Allowed *allowlist.List // where connections may go; nil: where the process's may
}

// process says where connections of this process may go. An environment that can't be
// read allows nothing.
var process, errProcess = allowlist.Parse(os.Getenv(allowlist.Env))

// blocked gives a refusal its class.
func blocked(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Class: Blocked, Err: err}
}

// Times are what the parts of a Dial took.
type Times struct {
	Lookup  time.Duration // looking names up; 0: there was nothing to look up
	Connect time.Duration // the rest: TCP, and what a proxy took to open the way
}

// Dial connects to addr ("host:port") within timeout, and not longer than ctx
// lasts. The error is of the class Timeout when the time is over, DNS when that was
// spent on looking up the name. took, unless nil, gets what a success took.
//
// Of several addresses of a name the next is tried when one fails. The kernel sends
// no keep-alive probes: a client's own timeouts find a dead peer, and each
// connection is spared three system calls.
func (d *Dialer) Dial(ctx context.Context, addr string, timeout time.Duration, took *Times) (*Conn, error) {
	return d.dial(ctx, addr, timeout, took, true)
}

// DialProxy connects to the proxy alone, for a protocol that tells the proxy itself that
// it wants to go to addr.
func (d *Dialer) DialProxy(ctx context.Context, addr string, timeout time.Duration, took *Times) (*Conn, error) {
	return d.dial(ctx, addr, timeout, took, false)
}

func (d *Dialer) dial(ctx context.Context, addr string, timeout time.Duration, took *Times, tunnel bool) (*Conn, error) {
	if timeout <= 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	allowed := d.Allowed
	if allowed == nil {
		if allowed = process; errProcess != nil {
			return nil, blocked(errProcess)
		}
	}
	if to, ok := d.straight(addr); ok {
		if err := allowed.Address(to, ""); err != nil {
			return nil, blocked(err)
		}
		began := Now()
		c, err := reach(ctx, to, netip.Addr{}, began+timeout)
		if took != nil && err == nil {
			*took = Times{Connect: Now() - began}
		}
		return c, err
	}
	return d.dialAside(ctx, allowed, addr, timeout, took, tunnel)
}

func (d *Dialer) dialAside(ctx context.Context, allowed *allowlist.List, addr string, timeout time.Duration, took *Times, tunnel bool) (*Conn, error) {
	began := Now()
	a := attempt{Dialer: d, allowed: allowed, began: began, deadline: began + timeout}
	var c *Conn
	var err error
	aside(func() {
		if d.Proxy != nil {
			c, err = a.through(ctx, d.Proxy, addr, tunnel)
		} else {
			c, err = a.connect(ctx, addr)
		}
	})
	if took != nil && err == nil {
		took.Lookup = time.Duration(a.lookup.Load())
		took.Connect = Now() - a.began - took.Lookup
	}
	return c, err
}

// straight reports whether addr is an address that nothing stands before.
//
//go:noinline
func (d *Dialer) straight(addr string) (to netip.AddrPort, ok bool) {
	if d.Proxy != nil || d.Unix != "" || d.Sources != nil || d.Names.decides(addr) {
		return to, false
	}
	to, err := netip.ParseAddrPort(addr)
	if err != nil || !direct(to) {
		return to, false
	}
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), true
}

// attempt is one Dial.
type attempt struct {
	*Dialer
	allowed         *allowlist.List
	began, deadline time.Duration // on the clock of Now
	lookup          atomic.Int64  // time spent on looking names up, in ns
}

// connect makes a connection to addr without a proxy.
func (a *attempt) connect(ctx context.Context, addr string) (*Conn, error) {
	if a.Unix != "" {
		if err := a.allowed.Unix(a.Unix); err != nil {
			return nil, blocked(err)
		}
		nc, err := a.open(ctx, "unix", a.Unix, a.deadline, nil, "")
		if errors.Is(err, syscall.ENOENT) {
			return nil, &Error{Class: Refused, Err: err}
		}
		return made(nc, err)
	}
	if a.Sources == nil && !a.Names.decides(addr) {
		return made(a.open(ctx, "tcp", addr, a.deadline, nil, a.nameOf(addr)))
	}
	name := a.Names.own(addr)
	addrs, err := a.resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	var first error
	for i, to := range addrs {
		share := (a.deadline - Now()) / time.Duration(len(addrs)-i)
		c, err := a.from(ctx, to, name, Now()+share)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if class := Classify(err); ctx.Err() != nil || class.Local() && class != Blocked {
			break
		}
	}
	return nil, first
}

// resolve gives the addresses behind "host:port".
func (a *attempt) resolve(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	began := Now()
	ctx, cancel := context.WithTimeout(ctx, a.deadline-began)
	defer cancel()
	addrs, looked, err := a.Names.resolve(ctx, addr)
	if looked {
		a.lookup.Add(int64(Now() - began))
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return addrs, nil
}

// from connects to an address, from the source whose turn it is. Name is as for
// allow.List.Address.
func (a *attempt) from(ctx context.Context, to netip.AddrPort, name string, deadline time.Duration) (*Conn, error) {
	if err := a.allowed.Address(to, name); err != nil {
		return nil, blocked(err)
	}
	var ip netip.Addr
	var local net.Addr
	if a.Sources != nil {
		var ok bool
		if ip, ok = a.Sources.next(to.Addr().Is4()); !ok {
			return nil, &Error{Class: LocalPort, Err: errors.New("dial tcp " + to.String() + ": no source address of its family")}
		}
		local = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	if direct(to) && ip.Zone() == "" {
		return reach(ctx, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), ip, deadline)
	}
	return made(a.open(ctx, "tcp", to.String(), deadline, local, ""))
}

// nameOf is the name in addr; "": it has an address.
func (a *attempt) nameOf(addr string) string {
	if _, err := netip.ParseAddrPort(addr); err == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// open is package net's Dial. If addr has a name that it looks up, named, the time until
// the first socket is noted. Each address is judged before there is a connection to it.
func (a *attempt) open(ctx context.Context, network, addr string, deadline time.Duration, local net.Addr, named string) (net.Conn, error) {
	nd := net.Dialer{Timeout: deadline - Now(), KeepAlive: -1, LocalAddr: local}
	if nd.Timeout <= 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	if named != "" {
		nd.Resolver = a.Names.resolver()
	}
	began, name := Now(), ""
	if named != "" {
		name = a.Names.own(addr)
	}
	switch {
	case local != nil:
		nd.Control = bindLate
	case network == "tcp":
		nd.Control = func(_, addr string, _ syscall.RawConn) error {
			if named != "" {
				a.lookup.CompareAndSwap(0, int64(Now()-began))
			}
			to, err := netip.ParseAddrPort(addr)
			if err == nil {
				err = a.allowed.Address(to, name)
			}
			return blocked(err)
		}
	}
	nc, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return nil, e
		}
		if oe, ok := errors.AsType[*net.OpError](err); ok {
			oe.Source = nil // see Text
		}
		return nil, err
	}
	return nc, nil
}

func made(nc net.Conn, err error) (*Conn, error) {
	if err != nil {
		return nil, err
	}
	return New(nc), nil
}

// splitPort is net.SplitHostPort with the port as a number; services have names too.
func splitPort(ctx context.Context, addr string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		service, lookupErr := net.DefaultResolver.LookupPort(ctx, "tcp", text)
		if lookupErr != nil {
			return "", 0, lookupErr
		}
		n = uint64(service)
	}
	return host, uint16(n), nil
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
