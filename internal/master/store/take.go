package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// keyBytes is the approximate size of a batch's key.
const keyBytes = 48

// Take stores an intake in one transaction, with the verdicts of its results in their runs.
// The error is a *run.TakenError for a batch whose key is stored already or is twice in the
// intake, and wraps run.ErrNotFound if one of the runs does not exist.
func (s *Store) Take(ctx context.Context, in *run.Intake) error {
	packed := make([][]byte, len(in.Series)) // compressed before the transaction begins
	for i, p := range in.Series {
		packed[i] = s.zip.PackCounts(p.Data)
	}
	results := make([][]byte, len(in.Results))
	for i, r := range in.Results {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("result of run %s: %w", r.ID, err)
		}
		results[i] = s.zip.Pack(text)
	}
	return s.write(ctx, func(t *tx) error {
		k := &intake{tx: t, numbers: map[string]int64{}, grown: map[int64]*growth{}}
		if err := k.keep(in, packed); err != nil {
			return err
		}
		for i, r := range in.Results {
			n, err := k.number(r.ID)
			if err != nil {
				return err
			}
			if err := t.putResult(n, r, results[i]); err != nil {
				return err
			}
		}
		return k.grow()
	})
}

// intake is the transaction of an intake. Call keep, then grow once, as the last.
type intake struct {
	*tx
	numbers map[string]int64 // of runs
	grown   map[int64]*growth
}

// growth is by how much an intake makes a run larger.
type growth struct {
	bytes        int64
	step, newest time.Duration
}

// keep stores an intake except its Results. packed has the compressed data of each part of its
// series. After an error the transaction must be rolled back.
func (k *intake) keep(in *run.Intake, packed [][]byte) error {
	if err := k.batches(in.Batches); err != nil {
		return err
	}
	if err := k.executors(in.Sources); err != nil {
		return err
	}
	if err := k.totals(in.Totals); err != nil {
		return err
	}
	return k.series(in.Series, packed)
}

// grow stores what the intake has added to its runs: their sizes, their interval (the longest
// step) and the end of their newest part.
func (k *intake) grow() error {
	for number, g := range k.grown {
		if err := k.run(`UPDATE runs SET bytes = bytes + $1, step = CASE WHEN step < $2 THEN $2 ELSE step END,
			newest = CASE WHEN newest < $3 THEN $3 ELSE newest END WHERE number = $4`, g.bytes, int64(g.step), int64(g.newest), number); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number of a run by its id, and adds the run to grown. The error wraps
// run.ErrNotFound without such a run. After it, or an error of any method of intake, the
// transaction must be rolled back.
func (k *intake) number(id string) (int64, error) {
	if n, ok := k.numbers[id]; ok {
		return n, nil
	}
	var n int64
	ok, err := k.one(`SELECT number FROM runs WHERE id = $1 AND deleted = 0`, []any{clean(id)}, &n)
	if err == nil && !ok {
		err = missing(runNamed(id))
	}
	k.numbers[id] = n
	k.grown[n] = &growth{}
	return n, err
}

// batches stores the keys of batches. The error is a *run.TakenError if one is stored already
// or is twice in keys.
func (k *intake) batches(keys []run.BatchKey) error {
	type place struct {
		run, executor int64
		epoch, seq    uint64
	}
	seen := map[place]uint64{}
	ranges := map[int64][]batchRange{} // of runs
	rows := make([][]any, 0, len(keys))
	for _, b := range keys {
		n, err := k.number(b.Run)
		if err != nil {
			return err
		}
		p := place{n, int64(b.Executor), b.Epoch, b.Seq}
		if sum, ok := seen[p]; ok {
			return &run.TakenError{Key: b, Other: sum != b.Sum}
		}
		seen[p] = b.Sum
		if _, ok := ranges[n]; !ok {
			if ranges[n], err = k.ranges(n); err != nil {
				return err
			}
		}
		for _, r := range ranges[n] {
			if r.executor == p.executor && r.epoch == b.Epoch && b.Seq >= 1 && b.Seq <= r.high {
				return &run.TakenError{Key: b} // its checksum is no longer stored
			}
		}
		k.grown[n].bytes += keyBytes
		rows = append(rows, []any{n, p.executor, int64(b.Epoch), int64(b.Seq), int64(b.Sum)})
	}
	if err := k.run(`SAVEPOINT before_batches`); err != nil {
		return err
	}
	added, err := k.insert("batches (run, executor, epoch, seq, sum)", "ON CONFLICT DO NOTHING", rows)
	if err != nil || added == int64(len(rows)) {
		return err
	}
	return k.taken(keys)
}

// taken returns a *run.TakenError for the first key that was stored before batches added the
// others. It never returns nil. Only batches calls it, after its savepoint.
func (k *intake) taken(keys []run.BatchKey) error {
	// Remove what was just added; the transaction is rolled back in any case.
	if err := k.run(`ROLLBACK TO before_batches`); err != nil {
		return err
	}
	for _, b := range keys {
		var sum int64
		ok, err := k.one(`SELECT sum FROM batches WHERE run = $1 AND executor = $2 AND epoch = $3 AND seq = $4`,
			[]any{k.numbers[b.Run], b.Executor, int64(b.Epoch), int64(b.Seq)}, &sum)
		if err != nil {
			return err
		}
		if ok {
			return &run.TakenError{Key: b, Other: uint64(sum) != b.Sum}
		}
	}
	return fmt.Errorf("%d batches were not stored, and none of them existed before", len(keys))
}

// executors replaces the states of executors. Of several states of one executor the last is
// stored.
func (k *intake) executors(states []run.SourceState) error {
	last := map[[2]int64]int{} // index of the last state of an executor, as a statement may set a row only once
	var rows [][]any
	for _, x := range states {
		n, err := k.number(x.Run)
		if err != nil {
			return err
		}
		row := []any{n, x.Executor, int64(x.Epoch), clean(x.Agent), int64(x.Seq), blob(x.State)}
		p := [2]int64{n, int64(x.Executor)}
		if i, ok := last[p]; ok {
			rows[i] = row
			continue
		}
		last[p] = len(rows)
		rows = append(rows, row)
	}
	_, err := k.insert("executors (run, executor, epoch, agent, seq, state)", `ON CONFLICT (run, executor) DO UPDATE SET
		epoch = excluded.epoch, agent = excluded.agent, seq = excluded.seq, state = excluded.state`, rows)
	return err
}

// totals replaces the totals of runs.
func (k *intake) totals(states []run.TotalsState) error {
	for _, x := range states {
		n, err := k.number(x.Run)
		if err != nil {
			return err
		}
		if err := k.run(`INSERT INTO totals (run, state) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET state = excluded.state`, n, blob(x.State)); err != nil {
			return err
		}
	}
	return nil
}

// series adds parts to the series of runs; packed has the compressed data of each. The error
// is a *run.InputError for a part without a valid time or step.
func (k *intake) series(parts []run.SeriesPart, packed [][]byte) error {
	var rows [][]any
	for i, p := range parts {
		n, err := k.number(p.Run)
		if err != nil {
			return err
		}
		if p.From < 0 || p.To < p.From || p.Step <= 0 {
			return &run.InputError{Field: "series", Text: fmt.Sprintf("a part from %v to %v, of a step of %v, is invalid", p.From, p.To, p.Step)}
		}
		k.s.lastPart++
		g := k.grown[n]
		g.bytes, g.step, g.newest = g.bytes+int64(len(packed[i])), max(g.step, p.Step), max(g.newest, p.To)
		rows = append(rows, []any{k.s.lastPart, n, clean(p.Agent), 0, int64(p.From), int64(p.To), int64(p.Step), btoi(p.Warmup), 0, packed[i]})
	}
	_, err := k.insert(seriesColumns, "", rows)
	return err
}

// Taken returns what Take has stored of a run: the last state of each executor, sorted by
// number, and the totals. Both are nil if nothing is stored.
func (s *Store) Taken(ctx context.Context, id string) (sources []run.SourceState, totals []byte, err error) {
	// One statement, so that the result is consistent.
	err = s.each(ctx, s.r, `SELECT 0 AS place, 0, 0, '', 0, state FROM totals WHERE run = (SELECT number FROM runs WHERE id = $1 AND deleted = 0)
		UNION ALL SELECT 1, executor, epoch, agent, seq, state FROM executors WHERE run = (SELECT number FROM runs WHERE id = $1 AND deleted = 0)
		ORDER BY 1, 2`, []any{clean(id)}, func(scan func(...any) error) error {
		x := run.SourceState{Run: id}
		var place int
		var epoch, seq int64
		if err := scan(&place, &x.Executor, &epoch, &x.Agent, &seq, &x.State); err != nil {
			return err
		}
		x.Epoch, x.Seq = uint64(epoch), uint64(seq)
		if place == 0 {
			totals = x.State
			return nil
		}
		sources = append(sources, x)
		return nil
	})
	if err == nil && totals == nil && sources == nil {
		_, err = s.number(ctx, id) // run.ErrNotFound if there is no such run
	}
	return sources, totals, err
}

// batchRange means that the batches 1 to high of an executor are stored.
type batchRange struct {
	executor    int64
	epoch, high uint64
}

// ranges returns the batch ranges that seal has stored of a run.
func (t *tx) ranges(number int64) (all []batchRange, err error) {
	err = t.s.each(t.ctx, t, `SELECT executor, epoch, high FROM batch_ranges WHERE run = $1`, []any{number}, func(scan func(...any) error) error {
		var r batchRange
		var epoch, high int64
		err := scan(&r.executor, &epoch, &high)
		r.epoch, r.high = uint64(epoch), uint64(high)
		all = append(all, r)
		return err
	})
	return all, err
}
