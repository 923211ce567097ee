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

// Options are the options of Open. Fold and either Path or DSN are required.
type Options struct {
	// Path is the path of the SQLite file, which is created with its folder if it does not
	// exist; a lock file is beside it. DSN is the URL of a PostgreSQL database:
	// "postgres://...".
	Path, DSN string
	// Dir is the folder for the copy of an SQLite file before its schema is changed; empty
	// means the folder of the file.
	Dir string
	// Fold merges several parts of a series into one, by adding their counts.
	Fold func(parts [][]byte) ([]byte, error)
	Keep Keep
	Log  *slog.Logger     // nil: nothing is logged
	Now  func() time.Time // nil: time.Now

	Times Times

	tests hooks
}

// Keep limits the final runs that are stored; Maintain deletes the oldest ones beyond a
// limit. 0 means no limit.
type Keep struct {
	Runs  int
	Age   time.Duration // since their end
	Bytes int64         // size of the batches, series and results of all runs
}

// hooks are for tests.
type hooks struct {
	migrations fs.FS                    // nil: those of this package
	lax        bool                     // SQLite does not sync
	fail       func(query string) error // called before each statement of a write
	network    func(dir string) (string, error)
}

// Store is an open database. It implements master.Store of internal/master and Store of
// internal/api, which document its methods and their errors; the comments here add the rest.
// Its methods are safe for concurrent use. They return copies, which the caller may change,
// and retain no arguments. A list without elements is nil.
//
// Unless a comment says otherwise, an id that does not exist is an error that wraps
// run.ErrNotFound, and an invalid argument is a *run.InputError. Errors of the database as a
// whole are an *Error. After an error nothing was stored, except by Maintain and the methods
// that delete runs, and where the error interrupts a commit, whose outcome is then unknown: one
// of kind Disk, or with PostgreSQL a lost connection or the end of ctx.
type Store struct {
	options Options
	w, r    *sql.DB // w has one connection
	lite    bool
	name    string // for errors: the file's path, or the DSN without its password
	release func() error
	zip     *compress.Codec

	broken     atomic.Pointer[error]
	maintain   sync.Mutex    // held by Maintain
	lastPart   int64         // last id in series; used in write transactions only
	unfoldable map[fold]bool // windows that Fold has refused, to log each once; guarded by maintain
}

// Open opens a database, which it creates if necessary, and updates its schema; first it reads
// a whole SQLite file to check it. The caller must Close the Store. Errors about the database
// as a whole are an *Error, as when another master uses it; one on connecting to PostgreSQL is
// not. After an error nothing stays open.
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
		err = fmt.Errorf("store: %q is no PostgreSQL database: want postgres://USER:PASSWORD@HOST/NAME", o.DSN)
	}
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin initializes s and finishes deletions that a previous process or call began. Call it
// once, after openSQLite or openPostgres.
func (s *Store) begin(ctx context.Context) error {
	if err := s.r.QueryRowContext(ctx, `SELECT COALESCE(MAX(id), 0) FROM series`).Scan(&s.lastPart); err != nil {
		return fmt.Errorf("store %s: %w", s.name, err)
	}
	return s.finishDeletions(ctx)
}

// Close closes all connections and releases the database for another master. It must be called
// once; other methods fail from then on.
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

// Broken returns the error, of the disk or of damaged data, after which the store refuses all
// writes, or nil.
func (s *Store) Broken() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}
