package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loop sends requests with the least possible work, on one thread, for u.during after all
// users are connected, and returns the figures of the second half. Each connection has one
// request at a time, an answer is as long as the first was and is not parsed, and nothing is
// allocated. Its CPU time is what the machine needs for this many connections, whatever the
// client.
//
// An answer of another length or status, or a closed connection, ends it with an error; a
// target that is an IPv6 address panics. It turns the garbage collector off and does not close
// its sockets: the process must end after it.
func (u bareUsers) loop() (l bareLoop, err error) {
	if err := u.check(); err != nil {
		return l, err
	}
	to, err := netip.ParseAddrPort(u.target)
	if err != nil {
		return l, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	debug.SetGCPercent(-1)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return l, err
	}
	sockets := make([]int, u.users)
	for i := range sockets {
		if sockets[i], err = bareSocket(i, to); err != nil {
			return l, err
		}
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: int32(i)}
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, sockets[i], &event); err != nil {
			return l, err
		}
	}
	request := fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: bare\r\n\r\n", u.target)
	size, err := bareSize(u.target, request)
	if err != nil {
		return l, err
	}
	began := now()
	half, end := began+u.during/2, began+u.during
	// Users send their requests in the order in which their pauses end: all pause equally
	// long.
	due, queue := make([]time.Duration, u.users), make([]int32, u.users)
	first, waiting := 0, u.users
	for i := range queue {
		queue[i], due[i] = int32(i), began+u.every*time.Duration(i)/time.Duration(u.users)
	}
	events, answer := make([]unix.EpollEvent, 128), make([]byte, 16<<10)
	got := make([]int, u.users) // bytes received of each user's answer
	var asked, askedHalf int
	var cpuHalf time.Duration
	for {
		t := now()
		if t >= end {
			break
		}
		if cpuHalf == 0 && t >= half {
			cpuHalf, askedHalf, half = threadTime(), asked, t
		}
		for waiting > 0 && due[queue[first]] <= t {
			i := queue[first]
			first, waiting = (first+1)%u.users, waiting-1
			if n, err := bareCall(unix.SYS_SENDTO, sockets[i], request, unix.MSG_NOSIGNAL); err != nil || n != len(request) {
				return l, fmt.Errorf("send: %d bytes, %w", n, err)
			}
		}
		wait := end - t
		if waiting > 0 {
			wait = max(due[queue[first]]-now(), 0)
		}
		n, err := bareWait(poll, events, wait)
		if err != nil {
			return l, fmt.Errorf("epoll_pwait2: %w", err)
		}
		for _, e := range events[:n] {
			n, err := bareCall(unix.SYS_RECVFROM, sockets[e.Fd], answer, 0)
			begins := got[e.Fd] == 0
			got[e.Fd] += n
			switch {
			case err == unix.EAGAIN: // there is nothing left to read
				continue
			case err != nil:
				return l, fmt.Errorf("receive: %w", err)
			case n == 0 || got[e.Fd] > size || begins && !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 ")):
				return l, fmt.Errorf("an answer of %d bytes, the first had %d: %.40q", got[e.Fd], size, answer[:n])
			case got[e.Fd] < size:
				continue
			}
			asked, got[e.Fd] = asked+1, 0
			due[e.Fd] = 0
			if u.every > 0 {
				due[e.Fd] = now() + u.every
			}
			queue[(first+waiting)%u.users] = e.Fd
			waiting++
		}
	}
	took, n := now()-half, float64(asked-askedHalf)
	if n == 0 {
		return l, errors.New("no answer came")
	}
	return bareLoop{Rate: n / took.Seconds(), CPU: float64((threadTime() - cpuHalf).Nanoseconds()) / 1e3 / n}, nil
}

// bareSize sends one request by a connection of its own and returns the length of the whole
// answer, its head included, in bytes. It returns an error unless the answer has status 200
// and a Content-Length. It has no time limit.
func bareSize(target string, request []byte) (int, error) {
	c, err := net.Dial("tcp", target)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &raw))
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK || answer.ContentLength < 0 {
		return 0, fmt.Errorf("status %d, length %d: want 200 and a known length", answer.StatusCode, answer.ContentLength)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, err
	}
	return raw.Len(), nil
}

// bareSocket returns a non-blocking socket that is connected to the IPv4 address to, from one
// of 14 addresses of connsFrom that i, 0 or more, selects in turn. It panics if to is an IPv6
// or zero address. The caller must close the socket; on an error bareSocket returns 0, and a
// socket may remain open.
func bareSocket(i int, to netip.AddrPort) (int, error) {
	from := netip.MustParsePrefix(connsFrom).Addr().As4()
	from[3] += byte(1 + i%14) // neither the network's address nor the last one
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(
		unix.SetsockoptInt(s, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1),
		unix.Bind(s, &unix.SockaddrInet4{Addr: from}),
		unix.Connect(s, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}),
		unix.SetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetNonblock(s, true)); err != nil {
		return 0, err
	}
	return s, nil
}

// bareCall is recvfrom(2) or sendto(2), by trap, without notifying Go's scheduler: fd must not
// block. It returns the number of bytes, or 0 and a syscall.Errno, as unix.EAGAIN; it repeats
// a call that a signal interrupted.
func bareCall(trap uintptr, fd int, p []byte, flags uintptr) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// bareWait is epoll_pwait2(2): it waits for at most d, 0 or more, to the nanosecond, and
// returns how many of events, at least one, it has set; 0 after d or a signal. The error is a
// syscall.Errno. It blocks its thread, Go's scheduler is not notified.
func bareWait(poll int, events []unix.EpollEvent, d time.Duration) (int, error) {
	t := unix.NsecToTimespec(int64(d))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, errno
}
