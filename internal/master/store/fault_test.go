package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// wantKind checks that err is of a kind, names the database, and contains says.
func wantKind(t *testing.T, err error, kind Kind, says ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("error %v, want one of kind %q", err, kind)
		return
	}
	for _, text := range append(says, e.Name) {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// F21: a database has one master.
func TestASecondMaster(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.open()
		second, err := Open(t.Context(), e.options)
		wantKind(t, err, Locked, "pid ", "end that first")
		if second != nil {
			t.Error("there is a second store")
		}
		if strings.Contains(err.Error(), "gobench:") {
			t.Errorf("the error tells the password: %v", err)
		}
		must(t, s.PutSetting(t.Context(), "x", nil)) // the first continues
		must(t, s.Close())
		must(t, e.open().PutSetting(t.Context(), "x", nil))
	})
}

// F21: a write waits for a program that holds the lock briefly; if it is held for long, the
// write fails, but not the store. Reads continue.
func TestAnotherProgramHasTheLock(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		patient := e.open() // with the default times
		o := newRun(t, patient, 1)
		ctx := t.Context()
		must(t, patient.Take(ctx, intakeOf(o.ID, 1, 2)))
		driver, dsn, lock := "sqlite", dataSource(e.options.Path, "busy_timeout(5000)")+"&_txlock=immediate", ""
		if e.options.DSN != "" {
			driver, dsn, lock = "pgx", e.options.DSN, `LOCK TABLE batches IN SHARE MODE`
		}
		other, err := sql.Open(driver, dsn)
		must(t, err)
		defer other.Close()
		hold := func() *sql.Tx {
			t.Helper()
			tx, err := other.BeginTx(ctx, nil)
			must(t, err)
			if lock != "" {
				_, err = tx.ExecContext(ctx, lock)
				must(t, err)
			}
			return tx
		}
		tx := hold()
		kept := make(chan error, 1)
		go func() { kept <- patient.Take(ctx, intakeOf(o.ID, 2, 2)) }()
		select {
		case err := <-kept:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(300 * time.Millisecond): // the lock is held for this long
		}
		must(t, tx.Rollback())
		must(t, <-kept)
		must(t, patient.Close())
		const busy = time.Second
		s := e.open(func(o *Options) { o.Times.Busy = busy })
		tx = hold()
		began := time.Now()
		go func() { kept <- s.Take(ctx, intakeOf(o.ID, 3, 2)) }()
		if n, err := consistent(ctx, s, o.ID, 2); err != nil || n != 2 {
			t.Errorf("a read meanwhile: %d, %v", n, err)
		}
		err = <-kept
		wantKind(t, err, Locked)
		if d := time.Since(began); d < busy*3/4 {
			t.Errorf("it waited for %v only", d)
		}
		must(t, tx.Rollback())
		must(t, s.Take(ctx, intakeOf(o.ID, 3, 2)))
		if n, err := consistent(ctx, s, o.ID, 2); err != nil || n != 3 {
			t.Errorf("afterwards: %d, %v", n, err)
		}
	})
}

// A write whose context ends leaves nothing and does no harm.
func TestWritesEndWithTheirContext(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		var cancel context.CancelFunc
		s := e.open(func(o *Options) {
			o.tests.fail = func(query string) error {
				if cancel != nil && strings.Contains(query, "totals") {
					cancel()
				}
				return nil
			}
		})
		o := newRun(t, s, 1)
		must(t, s.Take(t.Context(), intakeOf(o.ID, 1, 2)))
		for range 10 {
			ctx, c := context.WithCancel(t.Context())
			cancel = c
			wantErr(t, s.Take(ctx, intakeOf(o.ID, 2, 2)), context.Canceled)
			cancel = nil
		}
		must(t, s.Broken())
		must(t, s.Take(t.Context(), intakeOf(o.ID, 2, 2)))
		if n, err := consistent(t.Context(), s, o.ID, 2); err != nil || n != 2 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// more is the schema with a further change.
func more(t *testing.T) fs.FS {
	first, err := migrations.ReadFile("migrations/0001_first.sql")
	must(t, err)
	return fstest.MapFS{
		"migrations/0001_first.sql":  {Data: first},
		"migrations/0002_second.sql": {Data: []byte(`ALTER TABLE agents ADD COLUMN rack BLOB; CREATE TABLE racks (id INTEGER NOT NULL PRIMARY KEY);`)},
	}
}

// F22: a newer schema is refused; an older one is changed, after a copy was made.
func TestSchemas(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		ctx := t.Context()
		s := e.open()
		o := newRun(t, s, 1)
		must(t, s.Close())
		var log bytes.Buffer
		copies := filepath.Join(t.TempDir(), "copies") // created when needed
		newer := func(o *Options) {
			o.tests.migrations = more(t)
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Dir = copies
		}
		s = e.open(newer)
		if _, err := s.Run(ctx, o.ID); err != nil {
			t.Errorf("after the change: %v", err)
		}
		if _, err := s.w.ExecContext(ctx, `INSERT INTO racks (id) VALUES (1)`); err != nil {
			t.Errorf("the change was not made: %v", err)
		}
		must(t, s.Close())
		names, err := filepath.Glob(filepath.Join(copies, "*"))
		must(t, err)
		if !strings.Contains(log.String(), "older schema") {
			t.Errorf("the log says %q", &log)
		}
		if e.options.Path != "" {
			if len(names) != 1 || strings.Contains(names[0], ".part") || !strings.Contains(log.String(), names[0]) {
				t.Fatalf("copies %v, and the log says %q", names, &log)
			}
			old, err := Open(ctx, Options{Path: names[0], Fold: addCounts}) // with the previous version of gobench
			if err != nil {
				t.Fatal(err)
			}
			if _, err := old.Run(ctx, o.ID); err != nil {
				t.Errorf("the copy: %v", err)
			}
			must(t, old.Close())
		}
		_, err = Open(ctx, e.options)
		wantKind(t, err, Newer, "version 2", "up to 1")
		e.open(newer) // which is unchanged
	})
}

// A change that fails leaves the database as it was.
func TestAChangeOfTheSchemaThatFails(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		must(t, e.open().Close())
		bad := more(t).(fstest.MapFS)
		bad["migrations/0002_second.sql"].Data = []byte(`CREATE TABLE racks (id BIGINT NOT NULL); INSERT INTO nowhere VALUES (1);`)
		o := e.options
		o.tests.migrations = bad
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "from version 1 to 2") {
			t.Errorf("it says %v", err)
		}
		s := e.open()
		if _, err := s.r.ExecContext(t.Context(), `SELECT * FROM racks`); err == nil {
			t.Error("half of the change is there")
		}
	})
}

func TestPlaceAndModes(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"either a path":        {Fold: addCounts},
		"either a path or":     {Fold: addCounts, Path: "x", DSN: "postgres://x"},
		"Fold":                 {Path: "x"},
		"postgres://USER":      {Fold: addCounts, DSN: "mysql://u:secret@h/x"},
		"is not a valid URL":   {Fold: addCounts, DSN: "postgres://u:secret@h:port/x"},
		"the DSN is not valid": {Fold: addCounts, DSN: "postgres://u:secret@h/x?sslmode=never"},
	} {
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") && o.DSN[0] == 'p' {
			t.Errorf("want %q: %v", name, err)
		}
	}
	e := sqliteFile(t)
	o := e.options
	o.tests.network = func(string) (string, error) { return "NFS", nil }
	_, err := Open(t.Context(), o)
	wantKind(t, err, Remote, "NFS", "--dir")
	if _, err := os.Stat(o.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	odd := filepath.Join(t.TempDir(), "a ?b#%41 'ü", "x.db")
	s, err := Open(t.Context(), Options{Path: odd, Fold: addCounts})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must(t, s.PutSetting(t.Context(), "x", nil))
	for path, want := range map[string]fs.FileMode{filepath.Dir(odd): 0o700, odd: 0o600, odd + "-wal": 0o600, odd + "-shm": 0o600, odd + ".lock": 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
	for pragma, want := range map[string]int{"synchronous": 2, "foreign_keys": 1, "mmap_size": 0, "busy_timeout": 5000} {
		for _, db := range []*sql.DB{s.w, s.r} {
			var got int
			if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s = %d, %v; want %d", pragma, got, err, want)
			}
		}
	}
	if _, err := s.r.ExecContext(t.Context(), `DELETE FROM settings`); err == nil {
		t.Error("a reader writes")
	}
	for version, ok := range map[string]bool{"3.51.3": true, "3.51.2": false, "3.52.0": true, "4.0": true, "4.0.0": true, "3.50.9": false, "3": false, "": false, "x.y.z": false} {
		if newEnough(version) != ok {
			t.Errorf("newEnough(%q) = %v", version, !ok)
		}
	}
}

// filled creates a store with 60 intakes, most of them in the file and the rest in its log,
// and returns a copy of it that was not closed.
func filled(t *testing.T) (path string) {
	t.Helper()
	e := sqliteFile(t)
	s := e.open()
	o := newRun(t, s, 1)
	for n := 1; n <= 60; n++ {
		in := intakeOf(o.ID, n, 2)
		must(t, s.Take(t.Context(), in))
		if n == 40 {
			var x [3]int
			must(t, s.w.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&x[0], &x[1], &x[2]))
		}
	}
	path = filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		from, err := os.Open(e.options.Path + end)
		must(t, err)
		to, err := os.Create(path + end)
		must(t, err)
		_, err = io.Copy(to, from)
		must(t, errors.Join(err, from.Close(), to.Close()))
	}
	return path
}

// F22: a log that is truncated or damaged is that of an earlier moment: what it still has
// is consistent.
func TestASpoiltLog(t *testing.T) {
	t.Parallel()
	path := filled(t)
	db, err := os.ReadFile(path)
	must(t, err)
	log, err := os.ReadFile(path + "-wal")
	must(t, err)
	r := rand.New(rand.NewPCG(9, 10))
	seen := map[int]bool{}
	for i := range 40 {
		spoilt, at := bytes.Clone(log), r.IntN(len(log))
		if i%2 == 0 {
			spoilt = spoilt[:at]
		} else {
			spoilt[at] ^= 1 << r.IntN(8)
		}
		file := filepath.Join(t.TempDir(), "x.db")
		must(t, os.WriteFile(file, db, 0o600))
		must(t, os.WriteFile(file+"-wal", spoilt, 0o600))
		s, err := Open(t.Context(), Options{Path: file, Fold: addCounts})
		if err != nil {
			t.Fatal(err)
		}
		n, err := consistent(t.Context(), s, runID(1), 2)
		if err != nil || n < 40 || n > 60 {
			t.Errorf("at %d of %d: %d intakes, %v", at, len(log), n, err)
		}
		seen[n] = true
		must(t, s.Close())
	}
	if len(seen) < 5 {
		t.Errorf("only %d different ends", len(seen))
	}
}

// F22: a damaged file is refused, and the error contains advice; damage that no check of
// the file detects is detected when a value is read.
func TestADamagedFile(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s, err := Open(t.Context(), Options{Path: path, Fold: addCounts})
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.Close()) // everything is in the file now
	whole, err := os.ReadFile(path)
	must(t, err)
	r := rand.New(rand.NewPCG(11, 12))
	refused := 0
	try := func(name string, spoilt []byte, must bool) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(file, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Options{Path: file, Fold: addCounts})
		if err != nil {
			wantKind(t, err, Damaged, "put a backup in its place")
			refused++
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, spoilt) {
				t.Errorf("%s: the file was changed: %v", name, err)
			}
			return
		}
		defer s.Close()
		if must {
			t.Errorf("%s: it opens", name)
		}
		// What it reads without an error equals the stored counts.
		for _, agent := range []string{"", "agent0"} {
			err := s.Series(t.Context(), run.SeriesQuery{Run: runID(1), Agent: agent}, func(p run.SeriesPart) error {
				if want := counts(uint64(2 - btoi(agent != ""))); !bytes.Equal(p.Data, want) {
					t.Errorf("%s: read %x, want %x", name, p.Data, want)
				}
				return nil
			})
			_ = err // an error reports the damage
		}
	}
	try("no head", append(make([]byte, 100), whole[100:]...), true)
	try("another file", []byte(strings.Repeat("not a database\n", 1000)), true)
	try("half a file", whole[:len(whole)/2/4096*4096], true)
	try("half a page", whole[:len(whole)-2048], true)
	for range 60 {
		page := r.IntN(len(whole) / 4096)
		spoilt := bytes.Clone(whole)
		for i := range 8 { // the head of a page of a tree, and a few bytes in it
			spoilt[page*4096+i+100*btoi(page == 0)] ^= byte(r.IntN(256))
			spoilt[page*4096+200+r.IntN(3800)] ^= byte(r.IntN(256))
		}
		try("a page", spoilt, false)
	}
	if refused < 30 {
		t.Errorf("%d of 64 damaged files were refused", refused)
	}
	spoilt := bytes.Clone(whole)
	at := bytes.LastIndex(spoilt, counts(2)) // a value of a series
	if at < 0 {
		t.Fatal("no value is found")
	}
	spoilt[at+7] ^= 64
	try("a value", spoilt, false)
	t.Logf("%d of 65 were refused", refused)
}
