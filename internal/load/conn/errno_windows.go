package conn

import "syscall"

// classOf returns the class of a system call's error; Other for an error that implies none.
// Windows has its own numbers (WinSock error codes), of which package syscall names only some.
func classOf(errno syscall.Errno) Class {
	switch errno {
	case 10061: // WSAECONNREFUSED
		return Refused
	case syscall.WSAECONNRESET, syscall.WSAECONNABORTED:
		return Reset
	case 10060: // WSAETIMEDOUT
		return Timeout
	case 10024: // WSAEMFILE
		return LocalFD
	case 10048, 10049, 10055: // WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENOBUFS: no port is free
		return LocalPort
	}
	return Other
}
