package data

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gobench-io/gobench/internal/measure/meter"
)

// inOrder reads the next of this executor's rows into row. Call open before. It returns ErrEnd
// after the last one unless rows are used again. Another error is that of changed.
func (f *Feeder) inOrder(row *Row) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.numbers.Nth(f.given)
	if n >= f.rows && !f.options.Wrap {
		return ErrEnd
	}
	if err := f.goTo(n); err != nil {
		return err
	}
	record, err := f.next.next()
	if err != nil {
		return f.changed(err)
	}
	f.at++
	row.number = n % f.rows
	row.text = append(row.text[:0], record...)
	f.given++
	return nil
}

// farRows is the number of skipped rows from which the position is looked up instead of reading
// them.
const farRows = 1024

// goTo moves next to row n, which is not before its current position, counted on when the file
// starts again. The error is that of changed. The caller must hold f.mu.
func (f *Feeder) goTo(n int64) error {
	again := n/f.rows > max(f.at-1, 0)/f.rows // the file starts again before n
	if again || n-f.at > farRows {
		place := n % f.rows / f.index.step
		f.next.seek(f.index.at[place])
		f.at = n - n%f.rows + place*f.index.step
	}
	for ; f.at < n; f.at++ {
		if _, err := f.next.next(); err != nil {
			return f.changed(err)
		}
	}
	return nil
}

// rowOf returns the number of a random row, from the random source of scope's user, or from
// the process's if scope is nil. Call open before.
func (f *Feeder) rowOf(scope *meter.Scope) int64 {
	if scope == nil {
		return rand.Int64N(f.rows)
	}
	return scope.Rand().Int64N(f.rows)
}

// ownRow returns the number of the row of scope's user. The first call reserves f for the
// class of its user. It returns an error if scope is nil, if the user is of another class, or
// if f has too few rows and they are not used again. Call open before.
func (f *Feeder) ownRow(scope *meter.Scope) (int64, error) {
	if scope == nil {
		return 0, fmt.Errorf("data file %s: its rows are unique to users, and the context is no user's", f.name)
	}
	f.mu.Lock()
	if f.owner == nil {
		class := scope.Class
		f.owner = &class
	}
	same := *f.owner == scope.Class
	f.mu.Unlock()
	n := scope.User
	switch {
	case !same:
		return 0, fmt.Errorf("data file %s: users of two classes would get the same rows: declare a feeder for each", f.name)
	case n >= f.rows && !f.options.Wrap:
		return 0, fmt.Errorf("data file %s has %d rows, none for user %d: add rows, or let them be used again (wrap)", f.name, f.rows, n)
	}
	return n % f.rows, nil
}

// lookup reads row n, which must be below f.rows, into row. The error is that of changed. Call
// open before.
func (f *Feeder) lookup(n int64, row *Row) error {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.file, r.format = f.file, f.format
	r.seek(f.index.at[n/f.index.step])
	for skip := n % f.index.step; ; skip-- {
		record, err := r.next()
		if err != nil {
			return f.changed(err)
		}
		if skip == 0 {
			row.number = n
			row.text = append(row.text[:0], record...)
			return nil
		}
	}
}

// changed returns the error for a file that can't be read any more as it was when it was
// opened. It wraps err, or io.ErrUnexpectedEOF if err is io.EOF, so that no caller takes it
// for the end.
func (f *Feeder) changed(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("data file %s has changed while it was used: %w", f.name, err)
}

// index holds the positions of every step-th row: at[i] is that of row i*step. The zero value
// is empty.
type index struct {
	step int64
	at   []int64
}

// maxPlaces limits an index to 2 MiB.
const maxPlaces = 1 << 18

// add stores the position of a row if it is a step-th one; all rows must be added, in order,
// from 0. When maxPlaces are stored, it drops every other one and doubles step.
func (x *index) add(row, at int64) {
	if x.step == 0 {
		x.step = 1
	}
	if row%x.step != 0 {
		return
	}
	if len(x.at) == maxPlaces { // keep every other place
		for i := range maxPlaces / 2 {
			x.at[i] = x.at[2*i]
		}
		x.at, x.step = x.at[:maxPlaces/2], 2*x.step
		if row%x.step != 0 {
			return
		}
	}
	x.at = append(x.at, at)
}
