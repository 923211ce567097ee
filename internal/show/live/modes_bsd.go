//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package live

import "golang.org/x/sys/unix"

const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)
