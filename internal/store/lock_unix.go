//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f against every other open of the same file, unless one holds it.
// Closing f unlocks it.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// isReadOnlyFS tells whether err is that of a file system that takes no writes.
func isReadOnlyFS(err error) bool { return errors.Is(err, unix.EROFS) }
