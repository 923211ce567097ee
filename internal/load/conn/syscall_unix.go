//go:build unix && (!linux || race)

package conn

import "syscall"

// sysRead and sysWrite call read(2) and write(2) on a nonblocking socket. Package syscall
// notifies the race detector of them. They return the number of bytes, for sysRead 0 at the
// end, or a syscall.Errno: EAGAIN if the call would have to wait.
func sysRead(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// sysWrite is described at sysRead.
func sysWrite(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Write(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
