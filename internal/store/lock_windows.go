package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks f against every other open of the same file, unless one holds it: not
// its first bytes, which say who. Closing f unlocks it.
func tryLock(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// isReadOnlyFS tells whether err is that of a file system that takes no writes.
func isReadOnlyFS(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
