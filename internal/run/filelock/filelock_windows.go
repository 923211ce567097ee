package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f against every other open of the same file, and tells whether it could: false
// where one holds it. Closing f, or the end of all that have it open, unlocks it. The first
// MiB of the file can be read all the while: it may say who holds the lock.
func Try(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
