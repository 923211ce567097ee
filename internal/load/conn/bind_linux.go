package conn

import "syscall"

// ipBindAddressNoPort is IP_BIND_ADDRESS_NO_PORT, which package syscall has no name for.
const ipBindAddressNoPort = 24

// bindLate lets the kernel choose the local port when it connects and no longer when
// it binds: a port may then be used towards each server anew, and not once for all.
func bindLate(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		// Without it connecting works too, with fewer ports.
		_ = syscall.SetsockoptInt(int(fd), syscall.SOL_IP, ipBindAddressNoPort, 1)
	})
}
