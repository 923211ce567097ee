//go:build unix

package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks an open file as long as it is open, or fails where another has it.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
