package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api"
	"github.com/gobench-io/gobench/internal/master"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

var (
	_ master.Store = (*Store)(nil)
	_ api.Store    = (*Store)(nil)
)

// server is the PostgreSQL of all tests, started by the first that needs it.
var server = sync.OnceValues(servers.StartPostgres)

var serverAsked sync.Once

func TestMain(m *testing.M) {
	if does := os.Getenv(childEnv); does != "" {
		os.Exit(child(does))
	}
	code := m.Run()
	asked := true
	serverAsked.Do(func() { asked = false })
	if s, err := (*servers.PostgresServer)(nil), error(nil); asked {
		if s, err = server(); err == nil {
			err = s.Stop()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// base is the moment that tests begin at.
var base = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// engine opens one database repeatedly.
type engine struct {
	t       *testing.T
	options Options
}

// open opens the database, and closes it at the end of the test.
func (e *engine) open(change ...func(*Options)) *Store {
	e.t.Helper()
	o := e.options
	for _, f := range change {
		f(&o)
	}
	s, err := Open(e.t.Context(), o)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { s.Close() })
	return s
}

// sqliteFile is a database that does not exist yet.
func sqliteFile(t *testing.T) *engine {
	return &engine{t, Options{Path: filepath.Join(t.TempDir(), "data", "gobench.db"), Fold: addCounts}}
}

// engines runs a test on an empty database of each engine.
func engines(t *testing.T, test func(t *testing.T, e *engine)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		e := sqliteFile(t)
		e.options.tests.lax = true // what a power failure leaves is tested in fault_linux_test.go
		test(t, e)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		serverAsked.Do(func() {})
		s, err := server()
		if err != nil {
			t.Fatal(err)
		}
		test(t, &engine{t, Options{DSN: s.Database(t), Fold: addCounts}})
	})
}

// counts is the data of a part that counted n.
func counts(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// addCounts is the Fold of parts that counts made.
func addCounts(parts [][]byte) ([]byte, error) {
	var sum uint64
	for _, p := range parts {
		if len(p) != 8 {
			return nil, fmt.Errorf("%d bytes are no count", len(p))
		}
		sum += binary.BigEndian.Uint64(p)
	}
	return counts(sum), nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// newRun stores a queued run without an application.
func newRun(t testing.TB, s *Store, n int) *run.Order {
	t.Helper()
	o := &run.Order{ID: runID(n), Name: "a run", Owner: "ann", Created: base.Add(time.Duration(n) * time.Second)}
	must(t, s.CreateRun(context.Background(), o, run.Source{Scenario: "package main"}))
	return o
}

func runID(n int) string {
	return base.Add(time.Duration(n)*time.Second).Format("20060102-150405") + "-" + fmt.Sprintf("%06d", n%1000000)
}

// end moves a run to its final state.
func end(t testing.TB, s *Store, o *run.Order, when time.Time) {
	t.Helper()
	got, err := s.Transition(context.Background(), o.ID, o.Version, run.Cancelled, "enough", "ann", when)
	must(t, err)
	*o = *got
}

// parts reads a series.
func parts(t testing.TB, s *Store, q run.SeriesQuery) (all []run.SeriesPart) {
	t.Helper()
	must(t, s.Series(context.Background(), q, func(p run.SeriesPart) error { all = append(all, p); return nil }))
	return all
}

// total returns the sums of the counts of parts, of warm-up and of the rest.
func total(all []run.SeriesPart) (warmup, rest uint64) {
	for _, p := range all {
		if n := binary.BigEndian.Uint64(p.Data); p.Warmup {
			warmup += n
		} else {
			rest += n
		}
	}
	return warmup, rest
}
