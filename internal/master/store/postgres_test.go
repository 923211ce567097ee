package store

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// postgres is an empty database, and a connection to it that does not belong to the store.
func postgres(t *testing.T) (*engine, *sql.DB) {
	t.Parallel()
	serverAsked.Do(func() {})
	s, err := server()
	must(t, err)
	e := &engine{t, Options{DSN: s.Database(t), Fold: addCounts}}
	other, err := sql.Open("pgx", e.options.DSN)
	must(t, err)
	t.Cleanup(func() { other.Close() })
	return e, other
}

// cut ends the store's connections at the server, and waits until they have ended.
func cut(t *testing.T, other *sql.DB) {
	t.Helper()
	if _, err := other.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name LIKE 'gobench pid %'`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		var n int
		must(t, other.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name LIKE 'gobench pid %'`).Scan(&n))
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("connections stay")
		}
	}
}

// A lost connection is replaced, and the new one holds the lock again.
func TestALostConnection(t *testing.T) {
	e, other := postgres(t)
	s, ctx := e.open(), t.Context()
	o := newRun(t, s, 1)
	for n := 1; n <= 5; n++ {
		must(t, s.Take(ctx, intakeOf(o.ID, n, 2)))
		cut(t, other)
	}
	if n, err := consistent(ctx, s, o.ID, 2); err != nil || n != 5 {
		t.Errorf("%d, %v", n, err)
	}
	must(t, s.PutSetting(ctx, "x", nil))
	_, err := Open(ctx, e.options)
	wantKind(t, err, Locked)
}

// A master that lost its connection, and its lock to another master, writes nothing more.
func TestAMasterThatIsReplaced(t *testing.T) {
	e, other := postgres(t)
	s, ctx := e.open(func(o *Options) { o.Times.Lock = 300 * time.Millisecond }), t.Context()
	o := newRun(t, s, 1)
	// Another master would do this as soon as the lock is free.
	c, err := other.Conn(ctx)
	must(t, err)
	defer c.Close()
	got := make(chan error, 1)
	go func() {
		_, err := c.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(lockKey))
		got <- err
	}()
	for deadline := time.Now().Add(30 * time.Second); ; {
		var n int
		must(t, other.QueryRowContext(ctx, `SELECT COUNT(*) FROM pg_locks l WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n))
		if n == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the other does not wait for the lock")
		}
	}
	cut(t, other)
	must(t, <-got)
	for range 3 {
		wantKind(t, s.Take(ctx, intakeOf(o.ID, 1, 2)), Locked)
	}
	if _, err := s.Run(ctx, o.ID); err != nil { // it may still read
		t.Error(err)
	}
	_, err = c.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, int64(lockKey))
	must(t, err)
	must(t, s.Take(ctx, intakeOf(o.ID, 1, 2)))
}

// The error about a missing server, or another user's, has no password.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := Open(ctx, Options{DSN: "postgres://ann:hidden@127.0.0.1:1/x?sslmode=disable", Fold: addCounts})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("it says %v", err)
	}
}
