//go:build !linux

package conn

import "syscall"

// bindLate does nothing: other systems have no such option.
func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
