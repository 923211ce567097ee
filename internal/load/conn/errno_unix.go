//go:build unix

package conn

import "syscall"

// classOf returns the class of a system call's error; Other for an error that implies none.
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
