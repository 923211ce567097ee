//go:build !linux || !(amd64 || arm64)

package conn

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// direct returns false: on other systems package net opens all connections.
func direct(netip.AddrPort) bool { return false }

// reach returns errors.ErrUnsupported. It is not called where direct returns false.
func reach(context.Context, netip.AddrPort, netip.Addr, time.Duration) (*Conn, error) {
	return nil, errors.ErrUnsupported
}
