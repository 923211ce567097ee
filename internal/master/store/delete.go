package store

import (
	"context"
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
)

// DeleteRun deletes a final run. The error wraps run.ErrConflict if the run is not final. One
// transaction hides the run from all readers; its rows are deleted in small ones, so that
// other writes continue. After an error of those, or the end of the process, Maintain or Open
// deletes the remaining rows; until then the run's id can't be used again.
func (s *Store) DeleteRun(ctx context.Context, id string) error {
	var number int64
	err := s.write(ctx, func(t *tx) error {
		var state run.State
		ok, err := t.one(`SELECT number, state FROM runs WHERE id = $1 AND deleted = 0`, []any{clean(id)}, &number, &state)
		switch {
		case err != nil:
			return err
		case !ok:
			return missing(runNamed(id))
		case !state.Final():
			return conflict(fmt.Sprintf("run %s is %s: cancel it first", id, state))
		}
		return t.run(`UPDATE runs SET deleted = 1 WHERE number = $1`, number)
	})
	if err != nil {
		return err
	}
	return s.erase(ctx, number)
}

// Limits of one transaction of erase.
const (
	eraseSeries  = 500   // rows
	eraseBatches = 10000 // rows
)

// erase deletes the rows of a run that is marked as deleted, in small transactions, and its
// source if nothing else uses it. It may be called again after an error, and does nothing for
// a run that has been erased. Of a run that is not marked it would delete the series and
// batches.
func (s *Store) erase(ctx context.Context, number int64) error {
	some := func(query string) error {
		for {
			var n int64
			err := s.write(ctx, func(t *tx) (err error) {
				n, err = t.exec(query, number)
				return err
			})
			if err != nil || n == 0 {
				return err
			}
		}
	}
	if err := some(fmt.Sprintf(`DELETE FROM series WHERE id IN (SELECT id FROM series WHERE run = $1 LIMIT %d)`, eraseSeries)); err != nil {
		return err
	}
	if err := some(fmt.Sprintf(`DELETE FROM batches WHERE run = $1 AND (executor, epoch, seq) IN
		(SELECT executor, epoch, seq FROM batches WHERE run = $1 LIMIT %d)`, eraseBatches)); err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error {
		var source string
		if ok, err := t.one(`SELECT source FROM runs WHERE number = $1 AND deleted = 1`, []any{number}, &source); err != nil || !ok {
			return err
		}
		for _, table := range []string{"series", "batches", "batch_ranges", "executors", "totals", "results", "transitions"} {
			if err := t.run(`DELETE FROM `+table+` WHERE run = $1`, number); err != nil {
				return err
			}
		}
		if err := t.run(`DELETE FROM runs WHERE number = $1`, number); err != nil {
			return err
		}
		return t.dropSources(source)
	})
}

// finishDeletions deletes the remaining rows of runs that are marked as deleted. It ends at
// the first error.
func (s *Store) finishDeletions(ctx context.Context) error {
	numbers, err := s.runNumbers(ctx, `SELECT number FROM runs WHERE deleted = 1 ORDER BY number`)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := s.erase(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
