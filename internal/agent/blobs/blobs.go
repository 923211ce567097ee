// Package blobs is a cache of files that are named by the SHA-256 of their contents.
//
// Get checks the digest each time. What was fetched before a failure is stored, so that the
// next attempt continues there. If the files exceed the limit of the cache, the least
// recently used ones are deleted.
package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/run/system"
)

// reserve is how much of the disk is left free.
const reserve = 16 << 20

// part is the suffix of the name of a file that is incomplete.
const part = ".part"

var (
	// ErrDigest means that a digest is malformed, or that the bytes fetched have another
	// digest than the one requested.
	ErrDigest = errors.New("the digest is wrong")
	// ErrSpace means that the disk or the cache's limit has no room for a blob.
	ErrSpace = errors.New("no space")
)

// Cache is a folder of blobs. Its methods may be called by any number of goroutines.
type Cache struct {
	dir   string
	limit int64
	mu    sync.Mutex // held while files are created and deleted
}

// Open opens the cache in dir, which it creates if needed, for limit bytes in all; limit must
// be positive. Files that are in dir stay.
func Open(dir string, limit int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Cache{dir: dir, limit: limit}, nil
}

// Fetch copies a blob to w, from an offset on.
type Fetch func(ctx context.Context, offset int64, w io.Writer) error

// Get opens a blob of size bytes, which it fetches if it is not in the cache, and checks its
// digest. The caller must close the file; it remains readable if the cache deletes it. The
// error wraps ErrDigest or ErrSpace if one of them is the reason. What was fetched before
// another error, unless it is too much, is stored for the next attempt. One call of Get, Put
// or Remove runs at a time; only fetch ends with ctx.
func (c *Cache) Get(ctx context.Context, sum string, size int64, fetch Fetch) (*os.File, error) {
	if err := check(sum); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := c.verified(c.path(sum), sum)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		if err := os.Remove(c.path(sum)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for {
		resumed, err := c.fetch(ctx, sum, size, fetch)
		if err == nil {
			break
		}
		if !resumed || !errors.Is(err, ErrDigest) { // the stored beginning may be damaged: try again from 0
			return nil, err
		}
	}
	c.trim(sum)
	return os.Open(c.path(sum))
}

// verified opens a blob that is in the cache and marks it as used. It returns ErrDigest if
// its digest is wrong, and an error that wraps os.ErrNotExist if it is not in the cache.
// The caller must hold mu and close the file.
func (c *Cache) verified(path, sum string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err = io.Copy(h, f); err == nil && hex.EncodeToString(h.Sum(nil)) != sum {
		err = ErrDigest
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // if that fails, it is deleted earlier
	return f, nil
}

// fetch fetches a blob, or the rest of it, into the cache. With an error that wraps ErrDigest,
// resumed reports whether a part was from an earlier attempt: that part is deleted, so another
// attempt may succeed. The caller must hold mu. sum must have passed check. After an error of
// fetch, what came stays for the next attempt.
func (c *Cache) fetch(ctx context.Context, sum string, size int64, fetch Fetch) (resumed bool, err error) {
	path := c.path(sum) + part
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, noSpace(err)
	}
	defer f.Close()
	h := sha256.New()
	have, err := io.Copy(h, f)
	if err != nil {
		return false, err
	}
	if have > size {
		return true, errors.Join(fmt.Errorf("%w: blob %s has too many bytes", ErrDigest, sum), os.Remove(path))
	}
	if err := c.room(size - have); err != nil {
		return false, errors.Join(err, os.Remove(path))
	}
	w := &limited{w: f, h: h, left: size - have}
	if w.left > 0 {
		if err := fetch(ctx, have, w); err != nil {
			if errors.Is(err, syscall.ENOSPC) || errors.Is(err, errTooMuch) {
				return false, errors.Join(noSpace(err), os.Remove(path))
			}
			return false, fmt.Errorf("fetch blob %s from byte %d on: %w", sum, have, err)
		}
	}
	if w.left > 0 {
		return false, fmt.Errorf("fetch blob %s: %d of %d bytes are missing: %w", sum, w.left, size, io.ErrUnexpectedEOF)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return have > 0, errors.Join(fmt.Errorf("%w: blob %s came as %s", ErrDigest, sum, got), os.Remove(path))
	}
	if err := errors.Join(f.Chmod(0o555), f.Sync()); err != nil { // another user executes it
		return false, noSpace(err)
	}
	return false, os.Rename(path, c.path(sum))
}

var errTooMuch = errors.New("more bytes came than the blob has")

// limited writes and hashes no more than left bytes.
type limited struct {
	w    io.Writer
	h    hash.Hash
	left int64
}

// Write writes and hashes b. If b has more than left bytes, it writes nothing and returns
// errTooMuch.
func (l *limited) Write(b []byte) (int, error) {
	if int64(len(b)) > l.left {
		return 0, errTooMuch
	}
	n, err := l.w.Write(b)
	l.h.Write(b[:n])
	l.left -= int64(n)
	return n, err
}

// noSpace returns err, wrapped in ErrSpace if the disk or the user's share of it is full.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrSpace, err)
	}
	return err
}

// room returns an error that wraps ErrSpace if the disk or the limit has no room for so
// many bytes. It returns nil if the free space is unknown.
func (c *Cache) room(bytes int64) error {
	if bytes > c.limit {
		return fmt.Errorf("%w: a blob has %d bytes, and the limit of all is %d", ErrSpace, bytes, c.limit)
	}
	disk, err := system.DiskOf(c.dir)
	if err != nil {
		return nil // then writing fails
	}
	if free := int64(disk.Free); free < bytes+reserve {
		return fmt.Errorf("%w: a blob has %d bytes, and the disk of %s has %d free, of which %d are reserved", ErrSpace, bytes, c.dir, free, reserve)
	}
	return nil
}

// Put reads r to its end, stores that as a blob, and returns its digest, in hexadecimal,
// and size. On an error nothing is stored; it wraps ErrSpace if the disk is full. The blob
// may be larger than the cache's limit.
func (c *Cache) Put(r io.Reader) (sum string, size int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := os.CreateTemp(c.dir, "new-*"+part)
	if err != nil {
		return "", 0, noSpace(err)
	}
	defer os.Remove(f.Name()) // fails if it was renamed
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(io.MultiWriter(f, h), r); err != nil {
		return "", 0, noSpace(err)
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if err := os.Rename(f.Name(), c.path(sum)); err != nil {
		return "", 0, err
	}
	c.trim(sum)
	return sum, size, nil
}

// Open opens a blob without checking its digest. The error wraps os.ErrNotExist if the blob
// is not in the cache, and ErrDigest if sum is malformed. The caller must close the file.
func (c *Cache) Open(sum string) (*os.File, error) {
	if err := check(sum); err != nil {
		return nil, err
	}
	return os.Open(c.path(sum))
}

// Remove deletes a blob. It returns nil if the blob is not in the cache, and an error that
// wraps ErrDigest if sum is malformed. Files that Get or Open returned remain readable.
func (c *Cache) Remove(sum string) error {
	if err := check(sum); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.Remove(c.path(sum)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// trim deletes the least recently used files, also incomplete ones, until the limit holds,
// but not the blob sum. It ignores errors. The caller must hold mu.
func (c *Cache) trim(sum string) {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var all int64
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, file{filepath.Join(c.dir, e.Name()), info.Size(), info.ModTime()})
			all += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if all <= c.limit {
			return
		}
		if f.path != c.path(sum) && os.Remove(f.path) == nil {
			all -= f.size
		}
	}
}

func (c *Cache) path(sum string) string { return filepath.Join(c.dir, sum) }

// check returns an error that wraps ErrDigest if sum is not a digest, since it is used as a
// file's name.
func check(sum string) error {
	if len(sum) != 2*sha256.Size || strings.Trim(sum, "0123456789abcdef") != "" {
		return fmt.Errorf("%w: %.80q is not a SHA-256 in lower-case hexadecimal", ErrDigest, sum)
	}
	return nil
}
