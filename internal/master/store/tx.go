package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tx is a transaction that writes.
type tx struct {
	*sql.Tx
	ctx context.Context
	s   *Store
}

// write does f in a transaction that is kept whole, or not at all when f or the data base
// gives an error. Writes follow each other. f may be called once only.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if err := s.Broken(); err != nil {
		return fmt.Errorf("store %s takes no more writes: %w", s.name, err)
	}
	t, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(err)
	}
	if err := f(&tx{t, ctx, s}); err != nil {
		_ = t.Rollback() // what matters is err; one that can't be rolled back is not committed either
		return s.failed(err)
	}
	if s.options.tests.fail != nil {
		if err := s.options.tests.fail("COMMIT"); err != nil {
			_ = t.Rollback()
			return s.failed(err)
		}
	}
	return s.failed(t.Commit())
}

// exec does a statement and gives how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if t.s.options.tests.fail != nil {
		if err := t.s.options.tests.fail(query); err != nil {
			return 0, err
		}
	}
	r, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// run does a statement.
func (t *tx) run(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// one reads a row into dest and tells whether there is one.
func (t *tx) one(query string, args []any, dest ...any) (bool, error) {
	return found(t.QueryRowContext(t.ctx, query, args...).Scan(dest...))
}

// count gives the next number of a kind of things.
func (t *tx) count(kind string) (n int64, err error) {
	_, err = t.one(`INSERT INTO counters (name, value) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value`, []any{kind}, &n)
	return n, err
}

// rowsOfInsert is how many rows insert gives to one statement: PostgreSQL takes many, as
// each statement is a way to the server and back; SQLite reads a long one slower than it
// does many short ones.
const rowsOfInsert = 100

// insert adds rows to a table, given as "table (column, ...)", and gives how many were
// added. end is what follows the values.
func (t *tx) insert(into, end string, rows [][]any) (added int64, err error) {
	most := rowsOfInsert
	if t.s.lite {
		most = 1
	}
	var many *sql.Stmt // of most rows
	for ; len(rows) > 0; rows = rows[min(len(rows), most):] {
		some := rows[:min(len(rows), most)]
		if many == nil || len(some) < most {
			if many, err = t.PrepareContext(t.ctx, insertText(into, end, len(some), len(some[0]))); err != nil {
				return added, err
			}
			defer many.Close()
		}
		if t.s.options.tests.fail != nil {
			if err := t.s.options.tests.fail("INSERT INTO " + into); err != nil {
				return added, err
			}
		}
		r, err := many.ExecContext(t.ctx, slices.Concat(some...)...)
		if err != nil {
			return added, err
		}
		n, err := r.RowsAffected()
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

// insertText is a statement that adds rows, each of so many columns.
func insertText(into, end string, rows, columns int) string {
	b := []byte("INSERT INTO " + into + " VALUES ")
	n := 0
	for i := range rows {
		if i > 0 {
			b = append(b, ", "...)
		}
		for j := range columns {
			n++
			b = append(b, []string{", $", "($"}[btoi(j == 0)]...)
			b = strconv.AppendInt(b, int64(n), 10)
		}
		b = append(b, ')')
	}
	return string(b) + " " + end
}

// found turns the error that there is no row into false.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// querier is a data base or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f with each row of a query; f scans it.
func (s *Store) each(ctx context.Context, q querier, query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return s.failed(rows.Err())
}

// list makes a slice of the rows of a query.
func list[T any](ctx context.Context, s *Store, query string, args []any, read func(scan func(...any) error) (T, error)) ([]T, error) {
	var all []T
	err := s.each(ctx, s.r, query, args, func(scan func(...any) error) error {
		v, err := read(scan)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// get reads the one row of a query; what names it when there is none.
func get[T any](ctx context.Context, s *Store, what string, query string, args []any, read func(scan func(...any) error) (T, error)) (*T, error) {
	v, err := read(s.r.QueryRowContext(ctx, query, args...).Scan)
	ok, err := found(err)
	if err != nil {
		return nil, s.failed(err)
	}
	if !ok {
		return nil, missing(what)
	}
	return &v, nil
}

// ns is a time as it is kept: nanoseconds since 1970, 0 for none. One beyond the year
// 2262 is the last that can be kept.
func ns(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Year() > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// at is the time that ns has made a number of.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// clean is text as both engines keep it: what is no UTF-8, or a NUL, is replaced.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// lower is a text by which others that differ only in case are found.
func lower(s string) string { return strings.ToLower(strings.ToUpper(clean(s))) }

// blob is b as it is kept: never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// given is b as it was given: nil when it is empty.
func given(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
