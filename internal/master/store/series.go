package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// A run's series is stored at several levels. New parts are at level 0, at the run's own
// interval, and are folded into parts of higher levels once their time is over: see fold.go.
// Folded parts remain for a while. So a level's own parts and the unfolded parts of lower
// levels together cover the whole time, each moment once, and their counts add up to what
// was stored.
var levels = [...]struct {
	step time.Duration // length of its parts, which are aligned to it
	keep time.Duration // how long parts remain, before the newest part of the run; 0: without limit
}{
	{0, 2 * time.Hour}, // the run's own interval
	{10 * time.Second, 48 * time.Hour},
	{time.Minute, 0},
	{3 * time.Minute, 0}, // for long charts
	{15 * time.Minute, 0},
}

const top = len(levels) - 1

const seriesColumns = "series (id, run, agent, level, start, stop, step, warmup, folded, data)"

// above returns the level that parts of a level and step are folded into: the next one whose
// own step is longer, or top. level must be below top.
func above(level int, step time.Duration) int {
	for level++; level < top && levels[level].step <= step; level++ {
	}
	return level
}

// usable reports whether a run with this interval has parts at a level: level 0, or one that
// is coarser than the interval.
func usable(level int, interval time.Duration) bool {
	return level == 0 || levels[level].step > interval
}

// Limits of the parts that a query with Points returns, unless only finer parts are stored.
// A level's step is at most six times the one below, and folding while reading is slow.
const (
	partsPerPoint = 2
	partsAtMost   = 1500
)

// extent describes a run's series.
type extent struct {
	run      int64
	interval time.Duration // of level 0; 0 if the series is empty
	newest   time.Duration // end of its newest part
	kept     [len(levels)]time.Duration
}

// extent returns the extent of a run's series by the run's id. The error wraps run.ErrNotFound
// if there is no such run.
func (s *Store) extent(ctx context.Context, id string) (x extent, err error) {
	ok, err := found(s.r.QueryRowContext(ctx, `SELECT number, step, newest, fine_from, ten_from FROM runs WHERE id = $1 AND deleted = 0`, clean(id)).
		Scan(&x.run, &x.interval, &x.newest, &x.kept[0], &x.kept[1]))
	if err == nil && !ok {
		err = missing(runNamed(id))
	}
	return x, s.failed(err)
}

// plan describes how a query is answered.
type plan struct {
	level    int
	step     time.Duration // of the level's parts
	group    time.Duration // parts are folded to this length; 0 means not at all
	from, to time.Duration // range of the query
	first    time.Duration // beginning of the parts to be read
}

// choose returns the plan for a query: the finest level that is stored from q.From on and has
// at most twice q.Points parts, and 1500 (q.Points 0: any number); otherwise the coarsest
// level, or level 0 for an interval of that level's step or more. If that has more than twice
// q.Points, they are folded further, to about q.Points. The series must not be empty: it
// panics if x.interval is 0.
func (x *extent) choose(q run.SeriesQuery) plan {
	p := plan{from: q.From, to: q.To}
	if p.to == 0 {
		p.to = math.MaxInt64
	}
	length := max(0, min(p.to, x.newest)-p.from)
	var parts int
	for ; ; p.level++ {
		p.step = max(levels[p.level].step, x.interval)
		parts = int((length + p.step - 1) / p.step)
		fits := q.Points <= 0 || parts <= min(partsPerPoint*q.Points, partsAtMost)
		there := usable(p.level, x.interval) && x.kept[p.level] <= p.from
		if there && fits || p.level == top || x.interval >= levels[top].step {
			break
		}
	}
	if p.level > 0 {
		p.group = p.step
	}
	if q.Points > 0 && parts > partsPerPoint*q.Points {
		p.group = p.step * time.Duration((parts+q.Points-1)/q.Points)
	}
	p.first = max(0, p.from-p.step)
	p.first -= p.first % max(p.group, p.step)
	return p
}

// Series calls each with the parts of a series that overlap the range of q, one after the
// other in the order of time; of two folded parts of the same time, that of the warm-up is
// first. It chooses the finest step that is stored for the whole range and has at most twice
// q.Points parts, and 1500 (q.Points 0: any number); without such a step, parts are folded
// further, to about q.Points. Folded parts have the step of the result. For a run without a
// series it returns nil. An error of each ends it and is returned. each may be slow and may
// call methods of s, as no transaction is open during the call.
func (s *Store) Series(ctx context.Context, q run.SeriesQuery, each func(run.SeriesPart) error) error {
	if q.From < 0 || q.To < 0 || q.To > 0 && q.To < q.From {
		return &run.InputError{Field: "from", Text: "must be 0 or more, and at most what to is"}
	}
	x, err := s.extent(ctx, q.Run)
	if err != nil || x.interval == 0 {
		return err
	}
	p := x.choose(q)
	whole := max(p.group, time.Minute) // chunks end between groups, and between windows that may be folded meanwhile
	chunk := (600*p.step + whole - 1) / whole * whole
	for at := p.first; at < min(p.to, x.newest); at += chunk {
		parts, err := s.parts(ctx, &x, q, p, at, min(at+chunk, p.to))
		if err != nil {
			return err
		}
		for _, part := range parts {
			if part.To <= p.from || part.From >= p.to {
				continue
			}
			if err := each(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts returns the parts that begin in a range, in order, folded as planned, or more coarsely
// if finer parts have been deleted since x was read.
func (s *Store) parts(ctx context.Context, x *extent, q run.SeriesQuery, p plan, from, to time.Duration) ([]run.SeriesPart, error) {
	for {
		all, kept, err := s.readParts(ctx, x.run, q, p.level, from, to)
		if err != nil {
			return nil, err
		}
		if p.level < top && kept[p.level] > from && x.kept[p.level] < kept[p.level] {
			// Parts that the plan relies on were deleted meanwhile.
			p.level = above(p.level, x.interval)
			p.group = max(p.group, levels[p.level].step)
			continue
		}
		return s.together(all, p), nil
	}
}

// readParts returns the parts of a level and the unfolded ones below it that begin in a range,
// sorted by their beginning, and from when on the two lowest levels are stored. It uses one
// statement, so all of it is consistent.
func (s *Store) readParts(ctx context.Context, number int64, q run.SeriesQuery, level int, from, to time.Duration) (all []run.SeriesPart, kept [len(levels)]time.Duration, err error) {
	err = s.each(ctx, s.r, `SELECT start, stop, step, warmup, data FROM series
			WHERE run = $1 AND agent = $2 AND level = $3 AND start >= $4 AND start < $5
		UNION ALL SELECT start, stop, step, warmup, data FROM series
			WHERE run = $1 AND agent = $2 AND level < $3 AND start >= $4 AND start < $5 AND folded = 0
		UNION ALL SELECT fine_from, ten_from, 0, 0, '' FROM runs WHERE number = $1`,
		[]any{number, clean(q.Agent), level, int64(from), int64(to)}, func(scan func(...any) error) error {
			part := run.SeriesPart{Run: q.Run, Agent: q.Agent}
			var warmup int
			var packed []byte
			err := scan(&part.From, &part.To, &part.Step, &warmup, &packed)
			if err != nil {
				return err
			}
			if part.Step == 0 {
				kept[0], kept[1] = part.From, part.To
				return nil
			}
			part.Warmup, part.Data = warmup != 0, packed
			all = append(all, part)
			return nil
		})
	slices.SortStableFunc(all, func(a, b run.SeriesPart) int { return cmp.Compare(a.From, b.From) })
	if err == nil {
		err = s.unpack(all)
	}
	return all, kept, err
}

// unpack decompresses the data of parts, which takes most of the time of a read: on several CPUs.
func (s *Store) unpack(all []run.SeriesPart) error {
	const atOnce = 4
	errs := make([]error, min(atOnce, len(all)))
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() {
			for i := n; i < len(all) && errs[n] == nil; i += len(errs) {
				all[i].Data, errs[n] = s.zip.Unpack(all[i].Data)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// together folds the parts of each group of p.group, those of the warm-up separately and
// before the others. Parts that Fold refuses are returned as they are. all must be sorted by
// time.
func (s *Store) together(all []run.SeriesPart, p plan) []run.SeriesPart {
	if p.group == 0 {
		return all
	}
	var out []run.SeriesPart
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].From/p.group == all[0].From/p.group {
			n++
		}
		for _, warmup := range []bool{true, false} {
			var same []run.SeriesPart
			for _, part := range all[:n] {
				if part.Warmup == warmup {
					same = append(same, part)
				}
			}
			if one, err := s.foldParts(same, p.group); err == nil {
				same = one
			}
			out = append(out, same...)
		}
		all = all[n:]
	}
	return out
}

// foldParts folds parts into one with this step. Either all or none of them must belong to the
// warm-up. Fewer than two are returned as they are. The error is that of Fold. After it the
// parts returned are not valid.
func (s *Store) foldParts(parts []run.SeriesPart, step time.Duration) ([]run.SeriesPart, error) {
	if len(parts) < 2 {
		return parts, nil
	}
	one := parts[0]
	data := make([][]byte, len(parts))
	for i, part := range parts {
		one.From, one.To = min(one.From, part.From), max(one.To, part.To)
		data[i] = part.Data
	}
	one.Step = step
	var err error
	one.Data, err = s.options.Fold(data)
	return []run.SeriesPart{one}, err
}
