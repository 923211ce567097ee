//go:build !linux

package process

import "net"

// samePeer returns true: here only the socket's mode restricts it to this user.
func samePeer(net.Conn, int, int) bool { return true }
