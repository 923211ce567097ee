// Package store keeps what a master knows, in an SQLite file or in PostgreSQL: what is
// to be run and what has been, what executors counted, agents, users and the audit log.
// It is both the Store of internal/master and that of internal/api.
//
// The same SQL text runs on both engines, and the same tests. One connection writes, so
// transactions follow each other; several read, and see what was there when they began.
// What a method has returned without an error survives the loss of power.
//
// A data base belongs to one master. A second one that opens it gets an error that says
// who has it. After an error of the disk (not one of space) the store takes no more
// writes: what an fsync has lost can't be known ([Store.Broken]).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/wire/compress"
)

// Options say where the data is and what is kept of it.
type Options struct {
	// Path of the SQLite file, which is made when it is not there, with its folder; its
	// lock lies beside it. Or DSN of a PostgreSQL data base: "postgres://...".
	Path, DSN string
	// Dir is where a copy of an SQLite file is put before its schema is changed; empty:
	// beside the file.
	Dir string
	// Fold makes one part of a series out of several: it adds what they counted.
	Fold func(parts [][]byte) ([]byte, error)
	Keep Keep
	Log  *slog.Logger     // nil: silent
	Now  func() time.Time // nil: time.Now

	Times Times

	tests hooks
}

// Keep says how much is kept of final runs; the oldest go first, whole. 0: no limit.
type Keep struct {
	Runs  int
	Age   time.Duration // since they ended
	Bytes int64         // of the batches, series and results of all runs
}

// hooks are what tests change.
type hooks struct {
	migrations fs.FS                    // nil: those of this package
	lax        bool                     // SQLite does not wait for the disk
	fail       func(query string) error // called before each statement of a write
	network    func(dir string) (string, error)
}

// Store is an open data base. All its methods may be called at once by any goroutine.
type Store struct {
	options Options
	w, r    *sql.DB // w has one connection
	lite    bool
	name    string // for errors: the file's path, or the DSN without its password
	release func() error
	zip     *compress.Codec

	broken     atomic.Pointer[error]
	maintain   sync.Mutex    // held by Maintain
	lastPart   int64         // id in series; only the writer uses it
	unfoldable map[fold]bool // what Fold has refused, so that it is said once; only Maintain uses it
}

// Open opens a data base, and brings its schema up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Times = o.Times.withDefaults()
	if o.tests.migrations == nil {
		o.tests.migrations = migrations
	}
	if o.tests.network == nil {
		o.tests.network = networkFS
	}
	zip, err := compress.New(compress.Largest)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, zip: zip, unfoldable: map[fold]bool{}}
	switch {
	case o.Fold == nil:
		return nil, errors.New("store: Options.Fold is missing")
	case (o.Path == "") == (o.DSN == ""):
		return nil, errors.New("store: either a path or a DSN must be given")
	case o.Path != "":
		err = s.openSQLite(ctx)
	case strings.HasPrefix(o.DSN, "postgres://"), strings.HasPrefix(o.DSN, "postgresql://"):
		err = s.openPostgres(ctx)
	default:
		err = fmt.Errorf("store: %q is no PostgreSQL data base: give postgres://USER:PASSWORD@HOST/NAME", o.DSN)
	}
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin reads what the store goes on from, and ends what the last master left undone.
func (s *Store) begin(ctx context.Context) error {
	if err := s.r.QueryRowContext(ctx, `SELECT COALESCE(MAX(id), 0) FROM series`).Scan(&s.lastPart); err != nil {
		return fmt.Errorf("store %s: %w", s.name, err)
	}
	return s.finishDeletions(ctx)
}

// Close ends all connections and lets another master have the data base.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.r, s.w} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.release != nil {
		errs = append(errs, s.release())
	}
	return errors.Join(errs...)
}

// Broken gives the error of the disk after which the store takes no more writes, or nil.
func (s *Store) Broken() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}
