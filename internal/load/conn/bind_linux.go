package conn

import "syscall"

// ipBindAddressNoPort is IP_BIND_ADDRESS_NO_PORT, which package syscall has no name for.
const ipBindAddressNoPort = 24

// bindLate makes the kernel choose the local port when it connects instead of when it binds,
// so that one local port can serve connections to several servers. It returns an error only
// for a closed socket.
func bindLate(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		// An error is ignored: connecting works anyway, with fewer ports.
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_IP, ipBindAddressNoPort, 1)
	})
}
