package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/internal/run/filelock"
)

// The cache directory, private to its user:
//
//	sdk-ID/         the SDK unpacked, read-only
//	executors/KEY/  finished executors, see store.go
//	resolved/KEY/   go.mod and go.sum as go completed them, see resolve.go
//	go-build/ mod/  go's own caches, if the user's are not used
//	home/           the home directory of go commands
//	locks/ marks/   lock files; what was warmed
//	tmp/            builds in progress

// DefaultDir returns the directory in which a user's builds are cached: gobench below the
// system's cache directory (XDG_CACHE_HOME is respected). It does not create it, and
// returns an error if the home directory is unknown.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(dir, "gobench"), nil
}

// stale is the age at which files of ended processes in tmp/ are removed.
const stale = 24 * time.Hour

// temp creates a directory on the cache's own file system, so that its contents can be
// renamed to their final place. The caller must remove it.
func (b *Builder) temp(prefix string) (string, error) {
	dir := filepath.Join(b.dir, "tmp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, prefix)
}

// tidyTemp removes the files of builds that were killed: those older than stale. It ignores
// errors.
func (b *Builder) tidyTemp() {
	dir := filepath.Join(b.dir, "tmp")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// discard removes a directory that others may be reading: it is renamed first, then
// removed. It is not an error if dir does not exist, or if a part of it cannot be removed: that
// stays in tmp.
func (b *Builder) discard(dir string) error {
	tmp, err := b.temp("old-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	err = os.Rename(dir, filepath.Join(tmp, "d"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lock takes the lock of that name, which no other Builder of this cache then holds, in
// this process or another; nor does another call of this one. It waits for it until ctx
// ends, and then returns ctx's cause. The system releases the locks of a process that ends.
// The caller must call unlock.
func (b *Builder) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(b.dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		switch ok, err := filelock.Try(f); {
		case err != nil:
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		case ok:
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// touch marks a directory of the cache as in use.
func touch(dir string) error {
	now := time.Now()
	return os.Chtimes(dir, now, now)
}
