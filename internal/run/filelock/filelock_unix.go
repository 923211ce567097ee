//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks f against every other open of the same file, also one of this process, and
// returns at once. It reports whether it has the lock: false and no error if another open
// holds it. The lock ends when f is closed, or when all processes that have it open end.
func Try(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
