package store

import (
	"context"
	"math"
)

// sealAfter is how long after a run's end its batch keys remain, in ns: much longer than
// agents resend batches.
const sealAfter = int64(3600e9)

// sealBatches is the maximum number of batch keys that one transaction of seal replaces.
const sealBatches = 10000

// Maintain folds series, replaces the batch keys of runs that are over by ranges, deletes runs
// beyond the limits of [Options].Keep, and checkpoints SQLite's write-ahead log. The master
// calls it every minute; concurrent calls wait for each other. It writes in small
// transactions, between other writes. It ends at the first error or ctx's end; the
// transactions before stay, and the next call continues.
func (s *Store) Maintain(ctx context.Context) error {
	s.maintain.Lock()
	defer s.maintain.Unlock()
	if err := s.finishDeletions(ctx); err != nil {
		return err
	}
	if err := s.retain(ctx); err != nil {
		return err
	}
	unfolded, err := s.runNumbers(ctx, `SELECT DISTINCT run FROM series WHERE folded = 0 ORDER BY run`)
	if err != nil {
		return err
	}
	for _, n := range unfolded {
		if err := s.foldRun(ctx, n); err != nil {
			return err
		}
	}
	loose, err := s.runNumbers(ctx, `SELECT number FROM runs WHERE final = 1 AND deleted = 0 AND ended < $1
		AND EXISTS (SELECT 1 FROM batches WHERE run = number) ORDER BY number`, ns(s.options.Now())-sealAfter)
	if err != nil {
		return err
	}
	for _, n := range loose {
		if err := s.seal(ctx, n); err != nil {
			return err
		}
	}
	if !s.lite {
		return nil
	}
	var busy, log, done int // not needed: what can't be moved now is moved by the next call
	return s.failed(s.w.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &log, &done))
}

// runNumbers returns the numbers of the runs that a query selects.
func (s *Store) runNumbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	return list(ctx, s, query, args, func(scan func(...any) error) (n int64, err error) { err = scan(&n); return n, err })
}

// retain deletes final runs beyond the limits of Options.Keep, those that ended first before
// others. Keep.Bytes keeps the runs that ended last, as far as they fit beside the runs that
// are not final; an older one that would still fit is deleted, too.
func (s *Store) retain(ctx context.Context) error {
	k := s.options.Keep
	type final struct{ number, ended, bytes int64 }
	runs, err := list(ctx, s, `SELECT number, ended, bytes FROM runs WHERE final = 1 AND deleted = 0 ORDER BY ended DESC, number DESC`, nil,
		func(scan func(...any) error) (f final, err error) {
			err = scan(&f.number, &f.ended, &f.bytes)
			return f, err
		})
	if err != nil {
		return err
	}
	var used int64
	if err := s.r.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM runs WHERE final = 0`).Scan(&used); err != nil {
		return s.failed(err)
	}
	oldest := int64(math.MinInt64)
	if k.Age > 0 {
		oldest = ns(s.options.Now().Add(-k.Age))
	}
	var gone []int64
	for i, r := range runs {
		used += r.bytes
		if k.Runs > 0 && i >= k.Runs || r.ended < oldest || k.Bytes > 0 && used > k.Bytes {
			gone = append(gone, r.number)
		}
	}
	for i := len(gone) - 1; i >= 0; i-- {
		err := s.write(ctx, func(t *tx) error { return t.run(`UPDATE runs SET deleted = 1 WHERE number = $1`, gone[i]) })
		if err == nil {
			err = s.erase(ctx, gone[i])
		}
		if err != nil {
			return err
		}
		s.options.Log.Info("a run was deleted by the limits of retention", "run number", gone[i])
	}
	return nil
}

// seal replaces the batch keys of a run by ranges, for executors whose batches have no gap
// from number 1 on; those of others stay. The run must be over. It uses transactions of
// sealBatches; after an error those before it are committed.
func (s *Store) seal(ctx context.Context, number int64) error {
	type source struct{ executor, epoch, n, first, last int64 }
	all, err := list(ctx, s, `SELECT executor, epoch, COUNT(*), MIN(seq), MAX(seq) FROM batches WHERE run = $1 GROUP BY executor, epoch`, []any{number},
		func(scan func(...any) error) (x source, err error) {
			err = scan(&x.executor, &x.epoch, &x.n, &x.first, &x.last)
			return x, err
		})
	if err != nil {
		return err
	}
	for _, x := range all {
		for x.first >= 1 && x.n == x.last-x.first+1 && x.n > 0 {
			high, ok := min(x.last, x.first+sealBatches-1), false
			err := s.write(ctx, func(t *tx) error {
				var before int64
				if _, err := t.one(`SELECT high FROM batch_ranges WHERE run = $1 AND executor = $2 AND epoch = $3`, []any{number, x.executor, x.epoch}, &before); err != nil {
					return err
				}
				if ok = before == x.first-1; !ok {
					return nil
				}
				if err := t.run(`INSERT INTO batch_ranges (run, executor, epoch, high) VALUES ($1, $2, $3, $4)
					ON CONFLICT (run, executor, epoch) DO UPDATE SET high = excluded.high`, number, x.executor, x.epoch, high); err != nil {
					return err
				}
				n, err := t.exec(`DELETE FROM batches WHERE run = $1 AND executor = $2 AND epoch = $3 AND seq <= $4`, number, x.executor, x.epoch, high)
				if err != nil {
					return err
				}
				return t.run(`UPDATE runs SET bytes = bytes - $1 WHERE number = $2`, n*keyBytes, number)
			})
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			x.n, x.first = x.n-(high-x.first+1), high+1
		}
	}
	return nil
}
