package process

import (
	"net"

	"golang.org/x/sys/unix"
)

// samePeer reports whether the kernel names this process and this user as the peer of c, which
// must be a *net.UnixConn.
func samePeer(c net.Conn, pid, uid int) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		same = err == nil && int(cred.Pid) == pid && int(cred.Uid) == uid
	})
	return err == nil && same
}
