package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/gobench-io/gobench/internal/run"
)

// Error is an error of the database as a whole, on opening it or later.
type Error struct {
	Kind Kind
	Name string // the file's path, or the DSN without its password
	Text string // what is wrong, and what to do
	Err  error  // the cause, or nil
}

// Kind is the kind of an Error.
type Kind string

// The kinds.
const (
	Damaged  Kind = "damaged"   // it is damaged or not a database
	ReadOnly Kind = "read-only" // it can't be written to
	Newer    Kind = "newer"     // its schema is of a newer gobench
	Locked   Kind = "locked"    // another master uses it, or another program holds its lock for long
	Remote   Kind = "remote"    // it is on a network file system
	Full     Kind = "full"      // no space is left; writes succeed again when there is some
	Disk     Kind = "disk"      // reading or writing failed
)

func (e *Error) Error() string {
	s := "store " + e.Name + ": " + e.Text
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes an error of kind Full match run.ErrFull.
func (e *Error) Is(target error) bool { return target == run.ErrFull && e.Kind == Full }

// restore is the advice on how to replace an unusable database.
const restore = "stop all that uses it, move it and its -wal and -shm files away, and put a backup in its place (gobench backup makes one), or start without it"

// missing is an error that something does not exist. It matches run.ErrNotFound.
type missing string

func (m missing) Error() string        { return "there is no " + string(m) }
func (m missing) Is(target error) bool { return target == run.ErrNotFound }

// conflict is an error about the present state of something. It matches run.ErrConflict.
type conflict string

func (c conflict) Error() string        { return string(c) }
func (c conflict) Is(target error) bool { return target == run.ErrConflict }

// failed converts an error of the engine to an *Error where that is possible, and otherwise
// returns it unchanged, as nil and the errors of a context. After an error of kind Disk or
// Damaged, also of a read, the store is broken.
func (s *Store) failed(err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	kind, text := s.kindOf(err)
	if kind == "" {
		return err
	}
	e := &Error{kind, s.name, text, err}
	if kind == Disk || kind == Damaged {
		var broken error = e
		if s.broken.CompareAndSwap(nil, &broken) {
			s.options.Log.Error("the store takes no more writes", "error", e)
		}
	}
	return e
}

// kindOf returns the kind and text of an engine's or the system's error, or "" if it is not
// about the database as a whole.
func (s *Store) kindOf(err error) (Kind, string) {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &lite):
		return s.kindOfSQLite(lite.Code())
	case errors.As(err, &pg):
		switch {
		case pg.Code == "53100":
			return Full, "no space is left on the server's disk; it continues when there is space"
		case pg.Code == "XX001", pg.Code == "XX002":
			return Damaged, "the server's files are damaged: see its log, and restore them by pg_restore"
		case strings.HasPrefix(pg.Code, "58"):
			return Disk, "the server can't read or write its files: see its log"
		case pg.Code == "55P03":
			return Locked, fmt.Sprintf("another session has held a lock for more than %v: pg_stat_activity names it", s.options.Times.Busy)
		case pg.Code == "25006":
			return ReadOnly, "the server takes no writes: it is read-only, or a standby"
		}
	case errors.Is(err, syscall.ENOSPC):
		return Full, "no space is left on the disk; it continues when there is space"
	case errors.Is(err, syscall.EIO):
		return Disk, "the disk fails: see the system's log, then restart gobench"
	case errors.Is(err, driver.ErrBadConn):
		return "", ""
	}
	return "", ""
}

// kindOfSQLite is kindOf for an extended result code of SQLite.
func (s *Store) kindOfSQLite(code int) (Kind, string) {
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return Full, "no space is left on the disk; it continues when there is space"
	case sqlite3.SQLITE_IOERR:
		if code == sqlite3.SQLITE_IOERR_SHMSIZE {
			return Full, "no space is left on the disk for the -shm file; it continues when there is space"
		}
		return Disk, "reading or writing the file failed, and what is on the disk can't be known any more: see the system's log, then restart gobench"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return Damaged, "the file is damaged: " + restore
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return ReadOnly, "the file and its folder must be writable for the user that gobench runs as: change their owner or mode, or choose another place by --dir"
	case sqlite3.SQLITE_BUSY:
		return Locked, fmt.Sprintf("another program has held the file's lock for more than %v: end it (lsof names it)", s.options.Times.Busy)
	}
	return "", ""
}
