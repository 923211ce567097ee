package store

import (
	"context"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// foldSlack is how long after its end a window is folded, so that late parts are included.
// A part that is even later makes a further folded part.
const foldSlack = 30 * time.Second

// Limits: the rows that one transaction of fold reads, about, and that one of trim deletes.
const (
	foldReads = 600
	trimRows  = 500
)

// pauseFactor is how many times as long as a transaction took folding pauses after it, for a
// run that is not over and has more than manyAgents.
const (
	pauseFactor = 3
	manyAgents  = 16
)

// fold identifies a window of a series that is folded into one part of a level.
type fold struct {
	run    int64
	agent  string
	level  int // of its parts
	warmup bool
	window time.Duration // its beginning
	gently bool          // pause after each transaction: see pauseFactor
}

// foldRun folds the windows of a run's series that are over, level by level, and trims it. It
// does nothing for a run that does not exist, has no series or has the top level's interval or
// a longer one. It uses many transactions; after an error those before it are committed. The
// caller must hold maintain, also for the methods below.
func (s *Store) foldRun(ctx context.Context, number int64) error {
	var final int
	var interval, newest time.Duration
	ok, err := found(s.r.QueryRowContext(ctx, `SELECT final, step, newest FROM runs WHERE number = $1 AND deleted = 0`, number).Scan(&final, &interval, &newest))
	if err != nil || !ok || interval == 0 || interval >= levels[top].step {
		return s.failed(err)
	}
	over := newest - foldSlack
	if final == 1 {
		over = newest + levels[top].step // incomplete windows are over too
	}
	agents, err := s.agentsOf(ctx, number)
	if err != nil {
		return err
	}
	for level := range top {
		if !usable(level, interval) {
			continue
		}
		for _, agent := range agents {
			if err := s.foldSeries(ctx, fold{run: number, agent: agent, level: level, gently: final == 0 && len(agents) > manyAgents}, above(level, interval), over); err != nil {
				return err
			}
		}
	}
	for _, agent := range agents {
		if err := s.trim(ctx, number, agent, newest); err != nil {
			return err
		}
	}
	return nil
}

// agentsOf returns the ids of the agents with parts in a run's series, sorted, and "" for the
// whole run.
func (s *Store) agentsOf(ctx context.Context, number int64) (all []string, err error) {
	for {
		query, args := `SELECT MIN(agent) FROM series WHERE run = $1`, []any{number}
		if len(all) > 0 {
			query, args = query+` AND agent > $2`, append(args, all[len(all)-1])
		}
		var next *string
		if err := s.r.QueryRowContext(ctx, query, args...).Scan(&next); err != nil {
			return nil, s.failed(err)
		}
		if next == nil {
			return all, nil
		}
		all = append(all, *next)
	}
}

// foldSeries folds the parts of an agent's series at a level into the level into, in the
// windows from f.window on that end by over: some windows in each transaction, with pauses if
// f.gently. The transactions before an error stay. If ctx ends during a pause, the error is
// its cause.
func (s *Store) foldSeries(ctx context.Context, f fold, into int, over time.Duration) error {
	step := levels[into].step
	for {
		var first *time.Duration
		if err := s.r.QueryRowContext(ctx, `SELECT MIN(start) FROM series WHERE run = $1 AND agent = $2 AND level = $3 AND folded = 0 AND start >= $4`,
			f.run, f.agent, f.level, int64(f.window)).Scan(&first); err != nil {
			return s.failed(err)
		}
		if first == nil {
			return nil
		}
		f.window = *first - *first%step
		if f.window+step > over {
			return nil
		}
		read := max(1, foldReads/max(1, int(step/max(time.Second, levels[f.level].step)))) // windows
		to := min(f.window+time.Duration(read)*step, over-over%step)
		began := time.Now()
		if err := s.foldWindows(ctx, f, into, to); err != nil {
			return err
		}
		if f.gently { // live batches have priority
			select {
			case <-time.After(min(pauseFactor*time.Since(began), time.Second)):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		f.window = to
	}
}

// foldWindows folds the windows from f.window to to, in one transaction. Parts that Fold
// refuses are logged once and stay as they are. If the run is deleted, it changes nothing.
func (s *Store) foldWindows(ctx context.Context, f fold, into int, to time.Duration) error {
	type group struct {
		parts []run.SeriesPart
		ids   []any
	}
	groups := map[fold]*group{}
	var order []fold
	err := s.each(ctx, s.r, `SELECT id, start, stop, warmup, data FROM series
		WHERE run = $1 AND agent = $2 AND level = $3 AND folded = 0 AND start >= $4 AND start < $5 ORDER BY start, id`,
		[]any{f.run, f.agent, f.level, int64(f.window), int64(to)}, func(scan func(...any) error) error {
			var part run.SeriesPart
			var id int64
			var warmup int
			var packed []byte
			err := scan(&id, &part.From, &part.To, &warmup, &packed)
			if err != nil {
				return err
			}
			key := f
			key.warmup, key.window = warmup != 0, part.From-part.From%levels[into].step
			if groups[key] == nil {
				groups[key] = &group{}
				order = append(order, key)
			}
			g := groups[key]
			g.ids = append(g.ids, id)
			part.Data, err = s.zip.Unpack(packed)
			g.parts = append(g.parts, part)
			return err
		})
	if err != nil {
		return err
	}
	var rows [][]any
	var ids []any
	var bytes int64
	for _, key := range order {
		g := groups[key]
		one, err := s.foldParts(g.parts, levels[into].step)
		if err != nil {
			if !s.unfoldable[key] {
				s.options.Log.Error("parts of a series can't be folded and stay as they are", "run number", key.run, "agent", key.agent, "from", key.window, "error", err)
				s.unfoldable[key] = true
			}
			continue
		}
		packed := s.zip.PackCounts(one[0].Data)
		bytes += int64(len(packed))
		ids = append(ids, g.ids...)
		rows = append(rows, []any{0, f.run, f.agent, into, int64(one[0].From), int64(one[0].To), int64(levels[into].step), btoi(key.warmup), btoi(into == top), packed})
	}
	if len(rows) == 0 {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE runs SET bytes = bytes + $1 WHERE number = $2 AND deleted = 0`, bytes, f.run)
		if err != nil || n == 0 {
			return err // the run was deleted meanwhile
		}
		for _, row := range rows {
			s.lastPart++
			row[0] = s.lastPart
		}
		if _, err := t.insert(seriesColumns, "", rows); err != nil {
			return err
		}
		return t.forIDs(`UPDATE series SET folded = 1 WHERE id IN `, ids)
	})
}

// places returns placeholders for n arguments, 1 or more: "($1, $2)".
func places(n int) string {
	b := []byte("($1")
	for i := 2; i <= n; i++ {
		b = strconv.AppendInt(append(b, ", $"...), int64(i), 10)
	}
	return string(append(b, ')'))
}

// forIDs executes a statement that ends with IN for ids, 500 at a time.
func (t *tx) forIDs(query string, ids []any) error {
	for len(ids) > 0 {
		n := min(len(ids), 500)
		if err := t.run(query+places(n), ids[:n]...); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// trim deletes the folded parts of an agent's series that are older than levels[level].keep,
// for the two levels that have one, in whole windows of the top level and in small
// transactions. newest is the end of the run's newest part, from which ages count. The
// transactions before an error stay.
func (s *Store) trim(ctx context.Context, number int64, agent string, newest time.Duration) error {
	for level, column := range []string{"fine_from", "ten_from"} {
		before := newest - levels[level].keep
		before -= before % levels[top].step
		if before <= 0 {
			continue
		}
		// First record that the level is incomplete, for readers.
		err := s.write(ctx, func(t *tx) error {
			return t.run(`UPDATE runs SET `+column+` = $1 WHERE number = $2 AND `+column+` < $1`, int64(before), number)
		})
		for more := true; more && err == nil; {
			err = s.write(ctx, func(t *tx) error {
				var ids []any
				var bytes int64
				if err := s.each(ctx, t, `SELECT id, LENGTH(data) FROM series WHERE run = $1 AND agent = $2 AND level = $3 AND folded = 1 AND start < $4 LIMIT $5`,
					[]any{number, agent, level, int64(before), trimRows}, func(scan func(...any) error) error {
						var id, n int64
						err := scan(&id, &n)
						ids, bytes = append(ids, id), bytes+n
						return err
					}); err != nil {
					return err
				}
				more = len(ids) == trimRows
				if len(ids) == 0 {
					return nil
				}
				if err := t.run(`UPDATE runs SET bytes = bytes - $1 WHERE number = $2`, bytes, number); err != nil {
					return err
				}
				return t.forIDs(`DELETE FROM series WHERE id IN `, ids)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
