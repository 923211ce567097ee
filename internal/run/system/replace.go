package system

import (
	"errors"
	"io"
	"os"
)

// Replace replaces the file path, with mode 0600, by what write writes: it writes path.new,
// syncs that and renames it. After a crash path is the old file or the new one, and path.new,
// which the next call overwrites, may be left. If it returns an error, path is as before and
// path.new is removed. A file must not be replaced by two calls at once.
func Replace(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to report
	}
	return err
}

// ReplaceBytes is Replace by b.
func ReplaceBytes(path string, b []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
