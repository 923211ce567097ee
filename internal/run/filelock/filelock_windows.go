package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f against every other open of the same file, also one of this process, and
// returns at once. It reports whether it has the lock: false and no error if another open
// holds it. The lock ends when f is closed, or when all processes that have it open end. The
// first MiB of the file stays readable, for example for the name of the lock's holder.
func Try(f *os.File) (bool, error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
