//go:build amd64 || arm64

package conn

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// socket is a TCP connection that this package opened by its own system calls. Package net
// needs three contexts, a goroutine and a timer to open one; this package needs them only
// if connecting has to wait, which it does not within a host. A connection that is opened,
// used for one request and closed takes a third less processor time.
type socket struct {
	*os.File // uses the runtime's poller, like connections of package net
	peer     netip.AddrPort
}

func (s *socket) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(s.peer) }

// LocalAddr returns the socket's own address, a *net.TCPAddr; an empty one if it is closed.
func (s *socket) LocalAddr() net.Addr {
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	var own netip.AddrPort
	_ = raw.Control(func(fd uintptr) { own = ownAddr(int(fd)) })
	return net.TCPAddrFromAddrPort(own)
}

// direct reports whether reach can connect to an address.
func direct(to netip.AddrPort) bool { return to.Addr().IsValid() && to.Addr().Zone() == "" }

// reach connects to an unmapped address for which direct is true, from the address from unless
// that is the zero value. It fails when ctx ends or at deadline, on the clock of Now. The
// error is a *net.OpError. A socket that is connected to itself is tried again, three times in
// all, and then counts as refused. The caller owns the connection.
//
// Its frame and those of its callers are small, and large ones are in functions of their own:
// a user's stack is nowhere deeper, and must fit in 4 KB (see aside).
func reach(ctx context.Context, to netip.AddrPort, from netip.Addr, deadline time.Duration) (*Conn, error) {
	for tries := 0; ; tries++ {
		fd, pending, err := begin(ctx, to, from)
		if err != nil {
			return nil, unreached(to, err)
		}
		// The socket is registered with the poller only now, because the poller would
		// report one that is not connecting yet as closed.
		c := New(&socket{File: os.NewFile(uintptr(fd), ""), peer: to})
		if pending {
			err = c.connected(ctx, to, fd, deadline)
		}
		if err == nil {
			if !toItself(fd, to) {
				return c, nil
			}
			err = errSelf
		}
		c.Drop()
		if err != errSelf || tries == 2 {
			return nil, unreached(to, err)
		}
	}
}

// unreached returns the error of reach for a connection to an address that failed with err.
//
//go:noinline
func unreached(to netip.AddrPort, err error) error {
	if err == errSelf {
		err = syscall.ECONNREFUSED
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
}

// errSelf means that nothing listens on the port, and that the kernel chose the same port
// as the local one: the socket is connected to itself (RFC 9293, section 3.5, simultaneous
// open).
var errSelf = errors.New("the socket is connected to itself")

// begin opens a socket and starts to connect it to an address. pending reports that it is not
// connected yet. The caller closes fd; after an error the socket is closed already. The error
// is ctx's, or an *os.SyscallError.
//
//go:noinline
func begin(ctx context.Context, to netip.AddrPort, from netip.Addr) (fd int, pending bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	family := syscall.AF_INET
	if to.Addr().Is6() {
		family = syscall.AF_INET6
	}
	fd, err = syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, false, os.NewSyscallError("socket", err)
	}
	var addr sockaddr
	if from.IsValid() {
		bindSocketLate(fd)
		if err := addr.set(netip.AddrPortFrom(from, 0)).call(syscall.SYS_BIND, fd); err != nil {
			syscall.Close(fd)
			return 0, false, os.NewSyscallError("bind", err)
		}
	}
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1) // on an error it is only slower
	switch err := addr.set(to).call(syscall.SYS_CONNECT, fd); err {
	case nil:
		return fd, false, nil
	case syscall.EINPROGRESS, syscall.EINTR:
		return fd, true, nil
	default:
		syscall.Close(fd)
		return 0, false, os.NewSyscallError("connect", err)
	}
}

// toItself reports whether a socket is connected to itself; false if its address is unknown.
//
//go:noinline
func toItself(fd int, to netip.AddrPort) bool {
	own := ownAddr(fd)
	return own.Port() == to.Port() && (own.Addr() == to.Addr() || to.Addr().IsUnspecified())
}

// connected waits until a socket is connected to an address. A second connect(2) returns the
// result of the first. The error is ctx's, os.ErrDeadlineExceeded at deadline, or an
// *os.SyscallError; the caller then drops c.
func (c *Conn) connected(ctx context.Context, to netip.AddrPort, fd int, deadline time.Duration) error {
	var addr sockaddr
	err := addr.set(to).call(syscall.SYS_CONNECT, fd)
	if err == syscall.EALREADY || err == syscall.EINTR {
		now := Now()
		if deadline <= now {
			return os.ErrDeadlineExceeded
		}
		if err := c.Begin(ctx); err != nil {
			return err
		}
		c.Rearm(now, deadline-now)
		waited := c.raw.Write(func(fd uintptr) bool {
			err = addr.call(syscall.SYS_CONNECT, int(fd))
			return err != syscall.EALREADY && err != syscall.EINTR
		})
		whole := c.End()
		c.unwatch()
		if !whole {
			return ctx.Err()
		}
		if waited != nil {
			return closedOrLate(waited)
		}
	}
	if err == nil || err == syscall.EISCONN {
		return nil
	}
	return os.NewSyscallError("connect", err)
}

// bindSocketLate is bindLate for a socket that package net does not know.
func bindSocketLate(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.SOL_IP, ipBindAddressNoPort, 1)
}

// sockaddr is a struct sockaddr_in or sockaddr_in6, as system calls want it.
type sockaddr struct {
	bytes [syscall.SizeofSockaddrInet6]byte
	size  uintptr
}

// set stores an address, without its zone, and returns s.
func (s *sockaddr) set(a netip.AddrPort) *sockaddr {
	clear(s.bytes[:])
	binary.BigEndian.PutUint16(s.bytes[2:], a.Port())
	if ip := a.Addr(); ip.Is4() {
		binary.NativeEndian.PutUint16(s.bytes[:], syscall.AF_INET)
		ip4 := ip.As4()
		copy(s.bytes[4:], ip4[:])
		s.size = syscall.SizeofSockaddrInet4
	} else {
		binary.NativeEndian.PutUint16(s.bytes[:], syscall.AF_INET6)
		ip16 := ip.As16()
		copy(s.bytes[8:], ip16[:])
		s.size = syscall.SizeofSockaddrInet6
	}
	return s
}

// call calls connect(2) or bind(2) without notifying Go's scheduler; see sysRead. On Linux
// neither blocks. The error is a syscall.Errno. Call set before.
func (s *sockaddr) call(trap uintptr, fd int) error {
	_, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(&s.bytes)), s.size)
	if errno != 0 {
		return errno
	}
	return nil
}

// ownAddr returns the local address of a socket; the zero AddrPort if fd is not a socket.
func ownAddr(fd int) netip.AddrPort {
	var s sockaddr
	size := uint32(len(s.bytes))
	_, _, errno := syscall.RawSyscall(syscall.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&s.bytes)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return netip.AddrPort{}
	}
	port := binary.BigEndian.Uint16(s.bytes[2:])
	if binary.NativeEndian.Uint16(s.bytes[:]) == syscall.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(s.bytes[4:8])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(s.bytes[8:24])), port)
}
