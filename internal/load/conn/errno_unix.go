//go:build unix

package conn

import "syscall"

func classOf(errno syscall.Errno) Class {
	switch errno {
	case syscall.ECONNREFUSED:
		return Refused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return Reset
	case syscall.ETIMEDOUT:
		return Timeout
	case syscall.EMFILE, syscall.ENFILE:
		return LocalFD
	case syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return LocalPort
	}
	return Other
}
