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

// Dialer opens stream connections. [NewDialer] returns one; the zero value connects directly
// over TCP and resolves names at each Dial. Any number of goroutines may use a Dialer at once.
// It need not be closed.
type Dialer struct {
	sources *sources // local addresses, in turn; nil: the system chooses
	names   *names   // nil: the system resolves names, at each Dial
	unix    string   // path of a Unix socket to connect to, whatever the address
	proxy   *Proxy   // nil: direct; never together with unix

	allowed *allowlist.List // permitted destinations; nil: those of the process
}

// Proxy returns the proxy that d connects through; nil if it connects directly.
func (d *Dialer) Proxy() *Proxy { return d.proxy }

// Through returns a copy of d that connects through p, or directly if p is nil. The copy
// shares d's sources and names. d is not changed, and must not connect to a Unix socket.
func (d *Dialer) Through(p *Proxy) *Dialer {
	c := *d
	c.proxy = p
	return &c
}

// process lists the destinations that this process may connect to. If the environment variable
// is malformed, nothing is permitted.
var process, errProcess = allowlist.Parse(os.Getenv(allowlist.Env))

// blocked wraps a refusal in an Error of the class Blocked; nil stays nil.
func blocked(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Class: Blocked, Err: err}
}

// Times holds the durations of the parts of a Dial.
type Times struct {
	Lookup  time.Duration // name lookup; 0: there was no name to look up
	Connect time.Duration // the rest: connecting, and the proxy's part of it
}

// Dial connects to addr ("host:port"). It fails after timeout or when ctx ends; a timeout of 0
// or less has passed at once. The caller owns the connection and must Close or Drop it.
//
// The class of the error is Timeout if the time is over, DNS if it was over before the name
// was resolved, Canceled if ctx was canceled, Blocked if the run may not connect to that
// address, ByProxy if the proxy fails. After a success *took holds the durations, unless took
// is nil; after an error it is unchanged.
//
// If a name has several addresses, Dial tries the next one when one fails. The kernel sends no
// keep-alive probes: a client's own timeouts detect a dead peer, and each connection saves
// three system calls.
func (d *Dialer) Dial(ctx context.Context, addr string, timeout time.Duration, took *Times) (*Conn, error) {
	return d.dial(ctx, addr, timeout, took, true)
}

// DialProxy connects to the proxy only, for a client that then sends addr to the proxy in its
// own protocol, as HTTP does with whole URLs. addr must still be permitted. Otherwise it is
// like Dial, also for a Dialer without a proxy.
func (d *Dialer) DialProxy(ctx context.Context, addr string, timeout time.Duration, took *Times) (*Conn, error) {
	return d.dial(ctx, addr, timeout, took, false)
}

// dial is Dial, or DialProxy if tunnel is false. If addr is straight, it connects in the
// caller's goroutine.
func (d *Dialer) dial(ctx context.Context, addr string, timeout time.Duration, took *Times, tunnel bool) (*Conn, error) {
	if timeout <= 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	allowed := d.allowed
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

// dialAside is dial in another goroutine, for which it waits; allowed are the destinations
// that are permitted. The errors are those of Dial.
func (d *Dialer) dialAside(ctx context.Context, allowed *allowlist.List, addr string, timeout time.Duration, took *Times, tunnel bool) (*Conn, error) {
	began := Now()
	a := attempt{Dialer: d, permitted: allowed, began: began, deadline: began + timeout}
	var c *Conn
	var err error
	aside(func() {
		if d.proxy != nil {
			c, err = a.through(ctx, d.proxy, addr, tunnel)
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

// straight reports whether addr is an IP address that reach can connect to for d: it is
// direct, and d has no proxy, Unix socket, sources, fixed addresses for it or DNS cache. It
// returns the address unmapped (IPv4 as 4 bytes).
//
//go:noinline
func (d *Dialer) straight(addr string) (to netip.AddrPort, ok bool) {
	if d.proxy != nil || d.unix != "" || d.sources != nil || d.names.decides(addr) {
		return to, false
	}
	to, err := netip.ParseAddrPort(addr)
	if err != nil || !direct(to) {
		return to, false
	}
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), true
}

// attempt is the state of one Dial.
type attempt struct {
	*Dialer
	permitted       *allowlist.List
	began, deadline time.Duration // on the clock of Now
	lookup          atomic.Int64  // time spent on lookups, in ns
}

// connect connects to addr without a proxy, until the attempt's deadline. If it resolves the
// name itself, it tries the addresses in turn, each with an equal part of the time left, and
// returns the first error, even if ctx has ended since; a fault of this host (not an address
// that is not permitted) or the end of ctx ends the attempts. A Unix socket that does not
// exist is of the class Refused.
func (a *attempt) connect(ctx context.Context, addr string) (*Conn, error) {
	if a.unix != "" {
		if err := a.permitted.Unix(a.unix); err != nil {
			return nil, blocked(err)
		}
		nc, err := a.open(ctx, "unix", a.unix, a.deadline, nil, "")
		if errors.Is(err, syscall.ENOENT) {
			return nil, &Error{Class: Refused, Err: err}
		}
		return made(nc, err)
	}
	if a.sources == nil && !a.names.decides(addr) {
		return made(a.open(ctx, "tcp", addr, a.deadline, nil, a.nameOf(addr)))
	}
	name := a.names.systemName(addr)
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

// resolve returns the addresses of "host:port", at least one, in the order in which to try
// them, and adds the time of a lookup to a.lookup. The error is a *net.OpError.
func (a *attempt) resolve(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	began := Now()
	ctx, cancel := context.WithTimeout(ctx, a.deadline-began)
	defer cancel()
	addrs, looked, err := a.names.resolve(ctx, addr)
	if looked {
		a.lookup.Add(int64(Now() - began))
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return addrs, nil
}

// from connects to an address, from the next source in rotation, until deadline, on the clock
// of Now, or the end of ctx. name is as for allowlist.List.Address. The class of the error is
// Blocked if the address is not permitted, and LocalPort if no source is of its IP version.
func (a *attempt) from(ctx context.Context, to netip.AddrPort, name string, deadline time.Duration) (*Conn, error) {
	if err := a.permitted.Address(to, name); err != nil {
		return nil, blocked(err)
	}
	var ip netip.Addr
	var local net.Addr
	if a.sources != nil {
		var ok bool
		if ip, ok = a.sources.next(to.Addr().Is4()); !ok {
			return nil, &Error{Class: LocalPort, Err: errors.New("dial tcp " + to.String() + ": no source address of its family")}
		}
		local = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	if direct(to) && ip.Zone() == "" {
		return reach(ctx, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), ip, deadline)
	}
	return made(a.open(ctx, "tcp", to.String(), deadline, local, ""))
}

// nameOf returns the host name in addr; "" if addr is malformed, or an IP address with a
// number as its port.
func (a *attempt) nameOf(addr string) string {
	if _, err := netip.ParseAddrPort(addr); err == nil {
		return ""
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// open connects by package net, until deadline, on the clock of Now, or the end of ctx. If
// addr has a name to look up, named, the time until the first socket counts as lookup. On
// network tcp without a local address, each address is checked against the permitted ones
// before open connects to it; otherwise the caller has checked it. The caller closes the
// connection. The error is a *net.OpError, or an *Error of the class Blocked.
func (a *attempt) open(ctx context.Context, network, addr string, deadline time.Duration, local net.Addr, named string) (net.Conn, error) {
	nd := net.Dialer{Timeout: deadline - Now(), KeepAlive: -1, LocalAddr: local}
	if nd.Timeout <= 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	if named != "" {
		nd.Resolver = a.names.resolver()
	}
	began, name := Now(), ""
	if named != "" {
		name = a.names.systemName(addr)
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
				err = a.permitted.Address(to, name)
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

// made returns a Conn on nc, or err if that is not nil.
func made(nc net.Conn, err error) (*Conn, error) {
	if err != nil {
		return nil, err
	}
	return New(nc), nil
}

// splitPort is net.SplitHostPort with the port as a number. The port may be the name of a
// service, which is looked up until ctx ends.
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

// aside runs f in another goroutine and waits for it, however long it takes; a panic in f ends
// the process. Connecting and TLS handshakes need a deep stack; the stack of the user's
// goroutine, of which there may be a million, would grow for them and stay large.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
