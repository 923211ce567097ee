//go:build !linux

package conn

import "syscall"

// bindLate can't be asked for here.
func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
