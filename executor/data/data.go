// Package data feeds rows of a file to users: accounts to log in with, products to look up,
// messages to send.
//
//	var accounts = data.CSV("accounts.csv")
//
//	func user(ctx context.Context, vui int) {
//		row, err := accounts.Next(ctx)
//		if err != nil {
//			return // no row is left, and the load ends
//		}
//		log(row.Get("name"), row.Get("password"))
//	}
//
// A file is streamed: whatever its size, a [Feeder] stores only the positions of some of its
// rows, at most 2 MiB. The file is read once before the load begins. An error in it is reported
// then, with file and line. The file must not change while it is used.
package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// DirEnv is the environment variable in which gobench passes the scenario's folder to an
// executor. Relative file names start there.
const DirEnv = "GOBENCH_SCENARIO_DIR"

// Order is the order in which users get rows.
type Order int

const (
	// Sequential returns each row once, in the order of the file, to the users as they ask. If
	// several hosts generate the load, each has its own rows, in proportion to its share of the
	// load.
	Sequential Order = iota
	// Random returns any row, all equally likely, chosen by the user's random source. It never
	// ends.
	Random
	// Unique always returns to a user the row of the user's number, vui. Only the users of one
	// class may use such a feeder. A user without a row gets an error.
	Unique
)

// String returns the order's name, as options are written. It panics for an unknown order.
func (o Order) String() string { return [...]string{"sequential", "random", "unique"}[o] }

// Options configures how a file is read. The zero value is valid.
type Options struct {
	Order Order
	Wrap  bool // start again after the last row; otherwise the class's load ends then
	Comma byte // between the columns of CSV, no quote or line end (not checked); 0: a tab for FILE.tsv, otherwise a comma
}

// ErrEnd is returned when no row of a [Sequential] file without Wrap is left. The class of the
// user that receives it starts no more iterations, and that user's current iteration is not
// counted.
var ErrEnd = errors.New("no row is left")

// Feeder returns the rows of a file. [CSV] or [JSONLines] returns one; the zero value must not
// be used. Any number of goroutines may use it at once. It need not be closed.
type Feeder struct {
	name      string // as declared
	options   Options
	newFormat func() format

	opened  atomic.Bool // the file was read, or can't be used; what follows is constant then
	opening sync.Mutex  // held while the file is read, and guards what follows before
	format  format
	err     error
	file    *os.File
	rows    int64
	index
	numbers segment.Numbers // rows of this executor, in order

	mu    sync.Mutex
	next  *reader // reads rows in order, guarded by mu
	at    int64   // the row that next returns, counted on when the file starts again, guarded by mu
	given int64   // rows returned in order, guarded by mu
	owner *int    // the class whose users use Unique's rows, guarded by mu
}

var declared struct {
	mu  sync.Mutex
	all []*Feeder
}

// CSV declares a file of comma-separated values (RFC 4180), whose first row names the columns.
// A relative name starts in the scenario's folder. The result is never nil. The file is opened
// before the load begins, or at the first use, which then returns an error in the file or in
// the options. At most one Options may be passed. Call it in a package variable or in export:
// each call declares another Feeder, with its own sequence of rows.
func CSV(file string, options ...Options) *Feeder {
	f := declare(file, options)
	comma := f.options.Comma
	if comma == 0 {
		comma = ','
		if strings.EqualFold(filepath.Ext(file), ".tsv") {
			comma = '\t'
		}
	}
	f.newFormat = func() format { return &csvFormat{comma: comma} }
	return f
}

// JSONLines declares a file of one JSON object a line. Its columns are the keys of each
// object; a value that is not a string is returned as JSON. Comma is not used. All else is as
// described at [CSV].
func JSONLines(file string, options ...Options) *Feeder {
	f := declare(file, options)
	f.newFormat = func() format { return jsonFormat{} }
	return f
}

// declare returns a new Feeder, whose caller sets newFormat, and adds it to declared. It
// stores the error of wrong options, which open returns.
func declare(file string, options []Options) *Feeder {
	f := &Feeder{name: file}
	switch len(options) {
	case 0:
	case 1:
		f.options = options[0]
	default:
		f.err = fmt.Errorf("data file %s: %d options given, want one", file, len(options))
	}
	if o := f.options.Order; f.err == nil && (o < Sequential || o > Unique) {
		f.err = fmt.Errorf("data file %s: unknown order %d", file, int(o))
	}
	declared.mu.Lock()
	defer declared.mu.Unlock()
	declared.all = append(declared.all, f)
	return f
}

// Prepare opens and checks all files declared so far, in that order, and returns the first
// error, with the file's name and, for a row, its line. An executor calls it before the load
// begins; the recorder in ctx determines which rows are this executor's. It reads all of each
// file; when ctx ends it returns ctx's error.
func Prepare(ctx context.Context) error {
	declared.mu.Lock()
	all := append([]*Feeder(nil), declared.all...)
	declared.mu.Unlock()
	for _, f := range all {
		if err := f.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Once returns the names, as declared, of the files declared so far whose rows are each used
// only once; nil without such a file. Another executor can't take over the work of one that is
// lost, because it can't know which rows are left.
func Once() (names []string) {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	for _, f := range declared.all {
		if f.eachOnce() {
			names = append(names, f.name)
		}
	}
	return names
}

// eachOnce reports whether each row is used only once.
func (f *Feeder) eachOnce() bool { return f.options.Order == Sequential && !f.options.Wrap }

// path returns the file's path. A relative name starts in the folder of DirEnv, or without it
// in the current folder.
func (f *Feeder) path() string {
	if dir := os.Getenv(DirEnv); dir != "" && !filepath.IsAbs(f.name) {
		return filepath.Join(dir, f.name)
	}
	return f.name
}

// open opens the file and reads all of it, on the first call; concurrent calls wait for that,
// whatever their ctx. When ctx ends it returns ctx's error. Later calls return the first
// result, unless that was the end of a ctx: then the next call reads the file. The recorder of
// the ctx that reads it determines which rows are this executor's.
func (f *Feeder) open(ctx context.Context) error {
	if f.opened.Load() {
		return f.err
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.opened.Load() {
		return f.err
	}
	if s := meter.ScopeOf(ctx); s != nil {
		f.numbers = s.Registry.Numbers()
	}
	if f.err == nil && f.eachOnce() && f.numbers.Turn > 0 {
		f.err = fmt.Errorf("data file %s: the rows that the lost executor has used are unknown, and each may be used only once: let rows be used again (wrap), or let a run continue without the executors it loses", f.name)
	}
	if f.err == nil {
		err := f.scan(ctx)
		if err != nil && ctx.Err() != nil {
			return err
		}
		f.err = err
	}
	f.opened.Store(true)
	return f.err
}

// logEvery is how often reading a large file logs its progress.
const logEvery = 2 * time.Second

// scan reads the whole file, for open: it counts and checks its rows and adds them to the
// index. The error is that of wrong for a row, ctx's if ctx ends, or one for a file that is
// missing, not regular or without rows. The file stays open, without an error. Every 2 s scan
// prints its progress on the standard error. It may be called again after an error.
func (f *Feeder) scan(ctx context.Context) (err error) {
	f.rows, f.index = 0, index{}
	if f.file, err = os.Open(f.path()); err != nil {
		return fmt.Errorf("data file: %w", err)
	}
	defer func() {
		if err != nil {
			f.file.Close()
		}
	}()
	info, err := f.file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return fmt.Errorf("data file %s: %w", f.name, err)
	}
	f.format = f.newFormat()
	r := newReader(f.file, f.format, 0)
	if err := f.format.header(r); err != nil {
		return f.wrong(r, err)
	}
	said := time.Now()
	for ; ; f.rows++ {
		record, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f.format.check(record)
		}
		if err != nil {
			return f.wrong(r, err)
		}
		f.index.add(f.rows, r.at)
		if f.rows%4096 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if time.Since(said) > logEvery {
				said = time.Now()
				fmt.Fprintf(os.Stderr, "%s: %d %% read\n", f.name, r.at*100/max(info.Size(), 1))
			}
		}
	}
	if f.rows == 0 {
		return fmt.Errorf("data file %s: it has no rows", f.name)
	}
	f.next = newReader(f.file, f.format, f.index.at[0])
	return nil
}

// wrong returns err with the file and line of the row that r read last, as "data file
// NAME:LINE: ...".
func (f *Feeder) wrong(r *reader, err error) error {
	return fmt.Errorf("data file %s:%d: %w", f.name, r.line, err)
}

// Rows opens the file, if necessary, and returns the number of its rows, whichever executor
// they belong to. With an error, as of the file or at the end of ctx, the number is 0.
func (f *Feeder) Rows(ctx context.Context) (int64, error) {
	if err := f.open(ctx); err != nil {
		return 0, err
	}
	return f.rows, nil
}

// Columns returns the names of a CSV file's columns; nil for JSON, where each row has its own.
// It reads the first row of the file at each call, and does not check the others, nor the
// options. The caller owns the slice.
func (f *Feeder) Columns() ([]string, error) {
	file, err := os.Open(f.path())
	if err != nil {
		return nil, fmt.Errorf("data file: %w", err)
	}
	defer file.Close()
	format := f.newFormat()
	r := newReader(file, format, 0)
	if err := format.header(r); err != nil {
		return nil, f.wrong(r, err)
	}
	return format.columns(), nil
}

// Next returns a row for ctx's user. It returns [ErrEnd] if no row is left for this executor,
// the file's error if the file can't be used, ctx's if ctx ends while it is read, and with
// [Unique] an error for a user without a row, or a ctx that is no user's. With an error the
// Row must not be used.
func (f *Feeder) Next(ctx context.Context) (Row, error) {
	var row Row
	err := f.Read(ctx, &row)
	return row, err
}

// Read is Next into row, whose memory is reused: repeated reads into the same row allocate
// only for a longer one. After an error row must not be used until a Read into it succeeds.
func (f *Feeder) Read(ctx context.Context, row *Row) error {
	if err := f.open(ctx); err != nil {
		return err
	}
	row.feeder = f
	scope := meter.ScopeOf(ctx)
	switch f.options.Order {
	case Random:
		return f.lookup(f.rowOf(scope), row)
	case Unique:
		n, err := f.ownRow(scope)
		if err != nil {
			return err
		}
		return f.lookup(n, row)
	}
	err := f.inOrder(row)
	if errors.Is(err, ErrEnd) && scope != nil {
		scope.Exhaust(fmt.Sprintf("data file %s has no more rows", f.name))
	}
	return err
}
