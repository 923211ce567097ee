package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The store holds finished executors: executors/KEY/ contains the program and meta.json. A
// directory is renamed into the store when it is complete.
const (
	storeSize = 1 << 30          // above this, executors are removed, the least recently used first
	storeHold = 10 * time.Minute // except those that were returned this recently
)

// meta describes a stored executor. As long as its stamp matches, the program need not be
// read to check it.
type meta struct {
	SHA256 string
	Size   int64
	Stamp  stamp
	Notes  []string // versions that the go command chose
}

func (b *Builder) storeDir(key string) string { return filepath.Join(b.dir, "executors", key) }

// lookUp returns the stored executor of key and marks it as used. It returns false if it is
// not stored, or is damaged: it then removes it.
func (b *Builder) lookUp(key string) (Executor, bool) {
	dir := b.storeDir(key)
	m, err := readMeta(dir)
	if errors.Is(err, os.ErrNotExist) {
		return Executor{}, false
	}
	program := filepath.Join(dir, programName)
	if err == nil {
		err = m.verify(program)
	}
	if err != nil {
		b.log.Warn("cached executor is damaged: building it again", "dir", dir, "damage", err)
		if err := b.discard(dir); err != nil {
			b.log.Warn("remove damaged executor", "dir", dir, "err", err)
		}
		return Executor{}, false
	}
	_ = touch(dir) // it only matters for the order of removal
	return Executor{Path: program, SHA256: m.SHA256, Size: m.Size, Cached: true, Notes: m.Notes}, true
}

const programName = "executor"

// readMeta returns the description of the executor in a directory of the store. The error
// wraps os.ErrNotExist if there is no executor.
func readMeta(dir string) (meta, error) {
	var m meta
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}

// verify returns an error if program is not the one that m describes. It reads the program
// only if its size or time has changed.
func (m meta) verify(program string) error {
	if stampOf(program) == m.Stamp {
		return nil
	}
	sum, size, err := digest(program)
	if err == nil && (sum != m.SHA256 || size != m.Size) {
		err = fmt.Errorf("its sha256 is %s, not %s", sum, m.SHA256)
	}
	return err
}

// keep moves the program into the store under key, where it replaces another, and returns
// it. On an error the program may be gone from its place.
func (b *Builder) keep(key, program string, notes []string) (Executor, error) {
	sum, size, err := digest(program)
	if err != nil {
		return Executor{}, err
	}
	tmp, err := b.temp("store-")
	if err != nil {
		return Executor{}, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	moved := filepath.Join(tmp, programName)
	if err := os.Rename(program, moved); err != nil {
		return Executor{}, err
	}
	if err := os.Chmod(moved, 0o500); err != nil {
		return Executor{}, err
	}
	m := meta{SHA256: sum, Size: size, Stamp: stampOf(moved), Notes: notes}
	data, err := json.Marshal(m)
	if err != nil {
		return Executor{}, err
	}
	if err := os.WriteFile(filepath.Join(tmp, "meta.json"), data, 0o600); err != nil {
		return Executor{}, err
	}
	dir := b.storeDir(key)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return Executor{}, err
	}
	if err := b.discard(dir); err != nil {
		return Executor{}, err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return Executor{}, err
	}
	return Executor{Path: filepath.Join(dir, programName), SHA256: sum, Size: size, Notes: notes}, nil
}

// prune removes the least recently used executors until the rest fit into limit bytes, but
// none that was used within hold. Errors are logged or ignored.
func (b *Builder) prune(limit int64, hold time.Duration) {
	type stored struct {
		dir  string
		size int64
		used time.Time
	}
	var all []stored
	var total int64
	entries, err := os.ReadDir(b.storeDir(""))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		dir := b.storeDir(e.Name())
		s := stored{dir, stampOf(filepath.Join(dir, programName)).Size, info.ModTime()}
		all = append(all, s)
		total += s.size
	}
	slices.SortFunc(all, func(x, y stored) int { return x.used.Compare(y.used) })
	for _, s := range all {
		if total <= limit || time.Since(s.used) < hold {
			return
		}
		if err := b.discard(s.dir); err != nil {
			b.log.Warn("remove old executor", "dir", s.dir, "err", err)
			continue
		}
		total -= s.size
	}
}

// digest returns a file's sha256 in hex, and its size in bytes.
func digest(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// shortHash returns a file name for any text: 16 hexadecimal digits.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// writeFile writes a file of the cache atomically, and creates its folder if needed. On an
// error the old file stays.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
