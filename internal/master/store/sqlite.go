package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/gobench-io/gobench/internal/run/filelock"
)

// oldestSQLite is the first version without the WAL's reset bug: https://sqlite.org/wal.html#walresetbug.
var oldestSQLite = [3]int{3, 51, 3}

// openSQLite opens the file at Options.Path, takes its lock and updates its schema. It creates
// the folder with mode 0700 if necessary; the file has mode 0600 afterwards, also if it
// existed. After an error Close must be called.
func (s *Store) openSQLite(ctx context.Context) error {
	path, err := filepath.Abs(s.options.Path)
	if err != nil {
		return err
	}
	s.lite, s.name = true, path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return s.unusable(err)
	}
	if kind, err := s.options.tests.network(filepath.Dir(path)); err != nil {
		return s.unusable(err)
	} else if kind != "" {
		return &Error{Kind: Remote, Name: path, Text: "it lies on " + kind + ", where SQLite's locks don't hold: choose a folder on a local disk with --dir, or PostgreSQL with --db"}
	}
	if s.release, err = s.lock(path + ".lock"); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would make it by the umask; its other files take its mode
	if err != nil {
		return s.unusable(err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return s.unusable(err)
	}
	if s.w, err = sql.Open("sqlite", dataSource(path, s.pragmas()...)+"&_txlock=immediate"); err != nil {
		return err
	}
	s.w.SetMaxOpenConns(1)
	if s.r, err = sql.Open("sqlite", dataSource(path, append(s.pragmas(), "query_only(1)")...)); err != nil {
		return err
	}
	s.r.SetMaxOpenConns(4)
	s.r.SetMaxIdleConns(2)
	if err := s.examine(ctx); err != nil {
		return err
	}
	return s.migrate(ctx, s.copyBefore)
}

// pragmas returns the pragmas of each connection, each as "name(value)", the form of the
// driver's parameter _pragma (see dataSource).
func (s *Store) pragmas() []string {
	sync := "FULL"
	if s.options.tests.lax {
		sync = "OFF"
	}
	return []string{
		fmt.Sprintf("busy_timeout(%d)", s.options.Times.Busy.Milliseconds()),
		"journal_mode(WAL)", "synchronous(" + sync + ")", "foreign_keys(1)", "mmap_size(0)", "cache_size(-4096)", "trusted_schema(0)",
		"journal_size_limit(16777216)", // the log is truncated to 16 MB after it was longer
	}
}

// dataSource returns the driver's URL of a file, which ends with its query, with pragmas for
// each connection, each as "name(value)". path must be absolute.
func dataSource(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

// unusable returns the *Error for an error on opening the file; it is never nil.
func (s *Store) unusable(err error) error {
	if errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err) {
		return &Error{ReadOnly, s.name, "the file and its folder must be writable for the user that gobench runs as: change their owner or mode, or choose another place by --dir", err}
	}
	if kind, text := s.kindOf(err); kind != "" {
		return &Error{kind, s.name, text, err}
	}
	return &Error{Disk, s.name, "it can't be opened", err}
}

// examine checks the version of SQLite, the journal mode and the whole file. The error is an
// *Error of kind Damaged if the file is, and of kind ReadOnly if its journal can't be a WAL.
// s.w must be open.
func (s *Store) examine(ctx context.Context) error {
	var version, mode string
	if err := s.w.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return s.failed(err)
	}
	if !newEnough(version) {
		return fmt.Errorf("store %s: this gobench was built with SQLite %s, which may damage its files: build it with %v or newer", s.name, version, oldestSQLite)
	}
	if err := s.w.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil {
		return s.failed(err)
	}
	if mode != "wal" {
		return &Error{Kind: ReadOnly, Name: s.name, Text: "its journal stays in mode " + mode + " where wal is needed: choose a folder on a local disk with --dir"}
	}
	var found string
	if err := s.w.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return s.failed(err)
	}
	if found != "ok" {
		return &Error{Damaged, s.name, "the file is damaged: " + restore, errors.New(strings.TrimSpace(found))}
	}
	return nil
}

// newEnough reports whether a version of SQLite, as "3.51.3", is oldestSQLite or later; false
// if it can't be parsed.
func newEnough(version string) bool {
	parts := strings.Split(version, ".")
	for i, want := range oldestSQLite {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < want {
			return false
		}
		if n > want {
			return true
		}
	}
	return true
}

// copyBefore backs the file up before its schema, of this version, is changed: to a new file
// NAME.schemaVERSION-TIME in Options.Dir, which it creates if needed, with the time in UTC. The
// copy remains.
func (s *Store) copyBefore(ctx context.Context, version int64) error {
	dir := s.options.Dir
	if dir == "" {
		dir = filepath.Dir(s.name)
	}
	to := filepath.Join(dir, fmt.Sprintf("%s.schema%d-%s", filepath.Base(s.name), version, s.options.Now().UTC().Format("20060102-150405.000")))
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = s.Backup(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("copy the store before its schema is changed: %w", err)
	}
	s.options.Log.Warn("the store has an older schema, which is changed now; a copy of it was written", "store", s.name, "version", version, "copy", to)
	return nil
}

// lock locks the lock file, which it creates if necessary, and writes the process id to it. It
// does not wait: if another process or Store holds the lock, the error is an *Error of kind
// Locked with that process's id. The caller must call release; the file remains.
func (s *Store) lock(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.unusable(err)
	}
	ok, err := filelock.Try(f)
	if err != nil || !ok {
		text := make([]byte, 32)
		n, _ := f.ReadAt(text, 0) // if it fails, the error has no pid
		f.Close()
		if err != nil {
			return nil, s.unusable(err)
		}
		return nil, &Error{Kind: Locked, Name: s.name, Text: fmt.Sprintf("another gobench has it, the process with pid %s: end that first, or choose another place by --dir", strings.TrimSpace(string(text[:n])))}
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, s.unusable(err)
	}
	return f.Close, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
