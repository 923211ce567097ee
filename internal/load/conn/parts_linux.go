package conn

import (
	"net"
	"os"
	"syscall"
	"unsafe"
)

// maxTransfer is the largest number of bytes of one system call, which limits how long
// the call occupies its processor.
const maxTransfer = 128 << 10

// maxParts is the largest number of parts of one system call.
const maxParts = 4

// writeParts writes all of the parts by this package's own system calls, and waits while the
// socket's buffer is full. It modifies parts. With an error, that of a system call or of
// waiting, it returns how many bytes were written. c.park must be set.
func (c *Conn) writeParts(parts net.Buffers) (written int64, err error) {
	waited := c.raw.Write(func(fd uintptr) bool {
		for {
			for len(parts) > 0 && len(parts[0]) == 0 {
				parts = parts[1:]
			}
			if len(parts) == 0 {
				return true
			}
			n, errno := sysWritev(fd, parts)
			if errno == syscall.EAGAIN {
				c.full++
				return false
			}
			if errno != nil {
				err = os.NewSyscallError("writev", errno)
				return true
			}
			if written += int64(n); c.sent == 0 {
				c.sent = Now()
			}
			for n > 0 {
				k := min(n, len(parts[0]))
				n -= k
				if parts[0] = parts[0][k:]; len(parts[0]) == 0 {
					parts = parts[1:]
				}
			}
		}
	})
	if err == nil {
		err = waited
	}
	return written, err
}

// sysWritev calls writev(2) with the first maxParts parts, and returns how many bytes the
// socket took; the error is a syscall.Errno, EAGAIN if it has no room. Short parts are written
// as by sysWrite; for long ones Go's scheduler is notified: one call of 0.2 ms costs less than
// eight that occupy their processor, for the server too, which reads more at a time.
func sysWritev(fd uintptr, parts net.Buffers) (int, error) {
	var vector [maxParts]syscall.Iovec
	used, size := 0, 0
	for _, p := range parts[:min(len(parts), maxParts)] {
		if len(p) > 0 {
			vector[used].Base = unsafe.SliceData(p)
			vector[used].SetLen(len(p))
			used, size = used+1, size+len(p)
		}
	}
	for {
		var n uintptr
		var errno syscall.Errno
		if size <= maxTransfer {
			n, _, errno = syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vector)), uintptr(used))
		} else {
			n, _, errno = syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vector)), uintptr(used))
		}
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}
