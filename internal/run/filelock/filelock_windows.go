package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Held reports whether another open of the same file has it locked by Try. Any number of
// callers may ask at once; a Try at that moment fails. f may be open for reading only.
func Held(f *os.File) (bool, error) {
	at := &windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, at)
}

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
