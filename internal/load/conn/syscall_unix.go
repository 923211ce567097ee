//go:build unix && (!linux || race)

package conn

import "syscall"

// sysRead and sysWrite are read(2) and write(2) on a socket that does not block. The
// race detector needs to be told of them, as package syscall does.
func sysRead(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

func sysWrite(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Write(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
