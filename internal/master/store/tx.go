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

// write calls f in a transaction and commits it. If f or the database returns an error, the
// transaction is rolled back and write returns the error (see failed). If the store is broken,
// f is not called. Transactions run one at a time: write waits for its turn until ctx ends,
// and f must not call write.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if err := s.Broken(); err != nil {
		return fmt.Errorf("store %s takes no more writes: %w", s.name, err)
	}
	t, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return s.failed(err)
	}
	if err := f(&tx{t, ctx, s}); err != nil {
		_ = t.Rollback() // if it fails, the transaction is not committed either
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

// exec executes a statement and returns the number of rows it changed. The error is the
// engine's own, as that of all methods of tx; write converts it.
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

// run executes a statement.
func (t *tx) run(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// one reads a row into dest and reports whether there is one. Without a row dest stays as it
// is and the error is nil.
func (t *tx) one(query string, args []any, dest ...any) (bool, error) {
	return found(t.QueryRowContext(t.ctx, query, args...).Scan(dest...))
}

// count increments a counter and returns its value, which is 1 the first time.
func (t *tx) count(kind string) (n int64, err error) {
	_, err = t.one(`INSERT INTO counters (name, value) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value`, []any{kind}, &n)
	return n, err
}

// rowsOfInsert is the number of rows in one statement of insert for PostgreSQL, where each
// statement is a round trip. SQLite gets one row per statement: parsing a long one is slower
// than executing a short one repeatedly.
const rowsOfInsert = 100

// insert adds rows to into, "table (column, ...)", and returns how many were added: fewer than
// len(rows) if end, which follows the values in the statement, skips some, or after an error.
// All rows must have the same number of values; there may be no rows.
func (t *tx) insert(into, end string, rows [][]any) (added int64, err error) {
	most := rowsOfInsert
	if t.s.lite {
		most = 1
	}
	var many *sql.Stmt // for most rows
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

// insertText returns a statement that adds rows with this number of columns each, with
// placeholders for all values: "INSERT INTO into VALUES ($1, $2), ($3, $4) end".
func insertText(into, end string, rows, columns int) string {
	b := []byte("INSERT INTO " + into + " VALUES ")
	n := 0
	for i := range rows {
		if i > 0 {
			b = append(b, ", "...)
		}
		for j := range columns {
			n++
			if j == 0 {
				b = append(b, '(')
			} else {
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(append(b, '$'), int64(n), 10)
		}
		b = append(b, ')')
	}
	return string(b) + " " + end
}

// found reports whether a query had a row, by the error of Scan. sql.ErrNoRows is no error;
// others are returned, with false.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for each row of a query; f calls scan. An error of f ends it and is returned
// unchanged. It is not called for a query without rows.
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

// list returns the rows of a query, in order, as read by read; nil without rows or after an
// error: that of read, unchanged, or of the database (see failed).
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

// get returns the first row of a query, as read by read. Without a row the error is
// missing(what).
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

// ns returns the stored form of a time: nanoseconds since 1970, 0 for the zero time. Times
// after the year 2261 become the largest value; times before 1678 are not supported.
func ns(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Year() > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// at is the inverse of ns: it returns a time in UTC, or the zero time for 0.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// clean returns a text that both engines can store: invalid UTF-8 and NUL are replaced by
// U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// lower returns a text in lower case, for comparisons that ignore case.
func lower(s string) string { return strings.ToLower(strings.ToUpper(clean(s))) }

// blob returns b, or an empty slice for nil: columns are NOT NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// given is the inverse of blob: it returns nil for an empty slice.
func given(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// btoi returns the stored form of b: 1 or 0.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
