package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// fill takes a run's series from one second to another, with a count of 1 each.
func fill(t testing.TB, s *Store, id string, from, to int, warmup int) {
	t.Helper()
	in := &run.Intake{}
	for n := from; n < to; n++ {
		at := time.Duration(n) * time.Second
		in.Series = append(in.Series, run.SeriesPart{Run: id, Step: time.Second, From: at, To: at + time.Second, Warmup: n < warmup, Data: counts(1)})
	}
	must(t, s.Take(t.Context(), in))
}

// levelsOf counts a run's parts at each level.
func levelsOf(t testing.TB, s *Store) (n [len(levels)]int) {
	t.Helper()
	must(t, s.each(t.Context(), s.r, `SELECT level, COUNT(*) FROM series GROUP BY level`, nil, func(scan func(...any) error) error {
		var level, count int
		err := scan(&level, &count)
		n[level] = count
		return err
	}))
	return n
}

func TestSeriesAreFolded(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		const seconds, warmup = 3*3600 + 7, 65
		fill(t, s, o.ID, 0, seconds, warmup)
		check := func(when string, points int, steps ...time.Duration) {
			t.Helper()
			all := parts(t, s, run.SeriesQuery{Run: o.ID, Points: points})
			if w, n := total(all); w != warmup || n != seconds-warmup {
				t.Errorf("%s, %d points: %d and %d counts, want %d and %d", when, points, w, n, warmup, seconds-warmup)
			}
			if points > 0 && len(all) > 2*points+2 {
				t.Errorf("%s: %d parts for %d points", when, len(all), points)
			}
			for i, p := range all {
				if !slices.Contains(steps, p.Step) {
					t.Fatalf("%s, %d points: a part of a step of %v, want %v", when, points, p.Step, steps)
				}
				if i > 0 && p.From < all[i-1].From || p.To-p.From > p.Step {
					t.Fatalf("%s: part %v..%v of %v follows %v", when, p.From, p.To, p.Step, all[i-1].From)
				}
			}
		}
		check("as taken in", 0, time.Second)
		check("as taken in", 100, time.Minute)
		must(t, s.Maintain(ctx))
		if n := levelsOf(t, s); n != [...]int{7207, 1077 + 1, 179 + 1, 59 + 1, 11 + 1} {
			t.Errorf("parts at each level: %v", n) // one more where warm-up ends within a window; the last 37 s are not folded yet
		}
		check("while it goes on", 0, 10*time.Second, time.Second)
		check("while it goes on", 1000, 10*time.Second, time.Second)
		check("while it goes on", 180, time.Minute, 10*time.Second, time.Second)
		check("while it goes on", 18, 15*time.Minute)
		last := parts(t, s, run.SeriesQuery{Run: o.ID, From: (seconds - 3600) * time.Second})
		if _, n := total(last); n != 3600 || last[0].Step != time.Second {
			t.Errorf("the last hour has %d counts in parts of %v", n, last[0].Step)
		}
		end(t, s, o, base)
		must(t, s.Maintain(ctx))
		check("afterwards", 0, 10*time.Second)
		check("afterwards", 2, 105*time.Minute, 15*time.Minute) // the latter is warm-up, separately
		var unfolded int
		must(t, s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM series WHERE folded = 0`).Scan(&unfolded))
		if unfolded != 0 {
			t.Errorf("%d parts of an ended run are not folded", unfolded)
		}
		before := levelsOf(t, s)
		must(t, s.Maintain(ctx))
		if after := levelsOf(t, s); after != before {
			t.Errorf("nothing new, and levels went from %v to %v", before, after)
		}
	})
}

// Late parts, in any order, and folding between them: each level adds up to what was taken,
// and ranges of it too.
func TestFoldingConservesCounts(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		r := rand.New(rand.NewPCG(3, 4))
		minutes, rounds := 60, 10
		if long.Run {
			minutes, rounds = 300, 30
		}
		perMinute := make([]uint64, minutes)
		for round := range rounds {
			in := &run.Intake{}
			for range 200 {
				second := r.IntN((round + 1) * minutes * 60 / rounds)
				n := uint64(r.IntN(1000))
				perMinute[second/60] += n
				at := time.Duration(second) * time.Second
				in.Series = append(in.Series, run.SeriesPart{Run: o.ID, Agent: "x", Step: time.Second, From: at, To: at + time.Second, Data: counts(n)})
			}
			must(t, s.Take(ctx, in))
			must(t, s.Maintain(ctx))
			for _, points := range []int{0, 10, 77, 300, 1000} {
				from, to := r.IntN(minutes-1), minutes
				if points > 0 && r.IntN(2) == 0 {
					from = 0
				}
				var want uint64
				for _, n := range perMinute[from:to] {
					want += n
				}
				q := run.SeriesQuery{Run: o.ID, Agent: "x", From: time.Duration(from) * time.Minute, To: time.Duration(to) * time.Minute, Points: points}
				all := parts(t, s, q)
				var outside uint64 // a folded part may begin before the range
				for _, p := range all {
					if p.From < q.From {
						_, n := total([]run.SeriesPart{p})
						outside += n
					}
				}
				if _, got := total(all); got < want || got > want+outside {
					t.Fatalf("round %d, minutes %d to %d, %d points: %d counts, want %d", round, from, to, points, got, want)
				}
			}
		}
		if all := parts(t, s, run.SeriesQuery{Run: o.ID}); len(all) != 0 {
			t.Errorf("the series of all agents has %d parts of one's", len(all))
		}
	})
}

// While parts are taken, folded and trimmed, a reader sees each count once.
func TestReadersSeeEachCountOnce(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o, gone := newRun(t, s, 1), newRun(t, s, 2)
		end(t, s, gone, base)
		seconds, step, readers := 3*3600, 360, []int{0, 50} // of which 45 minutes and more are trimmed
		if long.Run {
			seconds, step, readers = 4*3600, 120, []int{0, 10, 50, 400, 1000}
		}
		var begun, kept atomic.Int64 // number of seconds taken, at least and at most
		var others sync.WaitGroup
		done := make(chan struct{})
		for i, points := range readers {
			others.Go(func() {
				for n := 0; ; n++ {
					least := kept.Load()
					var sum uint64
					err := s.Series(ctx, run.SeriesQuery{Run: o.ID, Points: points}, func(p run.SeriesPart) error {
						_, n := total([]run.SeriesPart{p})
						sum += n
						return nil
					})
					if most := begun.Load(); err != nil || sum < uint64(least) || sum > uint64(most) {
						t.Errorf("reader %d saw %d counts, there were %d to %d: %v", i, sum, least, most, err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		others.Go(func() {
			for {
				if err := s.Maintain(ctx); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
		for n := 0; n < seconds; n += step {
			begun.Store(int64(n + step))
			fill(t, s, o.ID, n, n+step, 0)
			kept.Store(int64(n + step))
			switch n {
			case 5 * step:
				fill(t, s, gone.ID, 0, 1000, 0)
			case 10 * step:
				must(t, s.DeleteRun(ctx, gone.ID)) // while it is folded
			}
		}
		close(done)
		others.Wait()
		if n := rowsOf(t, s); n["2 series"] != 0 || n["2 runs"] != 0 {
			t.Errorf("of the deleted run there is %v", n)
		}
	})
}

func TestIntervalsOfAllLengthsAreFolded(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		most := 600
		if long.Run {
			most = 3000
		}
		for i, step := range []time.Duration{100 * time.Millisecond, 7 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 20 * time.Minute} {
			o := newRun(t, s, i)
			in := &run.Intake{}
			n := min(int(9*time.Hour/step), most)
			for k := range n {
				in.Series = append(in.Series, run.SeriesPart{Run: o.ID, Step: step, From: time.Duration(k) * step, To: time.Duration(k+1) * step, Data: counts(1)})
			}
			must(t, s.Take(ctx, in))
			for range 2 {
				must(t, s.Maintain(ctx))
				for _, points := range []int{0, 1, 30, 1000} {
					all := parts(t, s, run.SeriesQuery{Run: o.ID, Points: points})
					if _, got := total(all); got != uint64(n) {
						t.Errorf("step %v, %d points: %d counts in %d parts, want %d", step, points, got, len(all), n)
					}
				}
				if o.State == run.Queued {
					end(t, s, o, base)
				}
			}
		}
	})
}

func TestWhatCannotBeFoldedStays(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		fill(t, s, o.ID, 0, 20, 0)
		must(t, s.Take(ctx, &run.Intake{Series: []run.SeriesPart{{Run: o.ID, Step: time.Second, From: 5 * time.Second, To: 6 * time.Second, Data: []byte("no count")[:3]}}}))
		fill(t, s, o.ID, 20, 9000, 0) // so that the beginning is trimmed
		must(t, s.Maintain(ctx))
		must(t, s.Maintain(ctx))
		all := parts(t, s, run.SeriesQuery{Run: o.ID, To: 30 * time.Second, Points: 3})
		var got []string
		for _, p := range all {
			got = append(got, fmt.Sprint(p.Step, len(p.Data)))
		}
		if len(got) != 13 || got[6] != "1s 3" || got[11] != "10s 8" {
			t.Errorf("parts %v: want 11 of 1s and 2 of 10s", got)
		}
	})
}

func TestSeriesRefuses(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		none := func(run.SeriesPart) error { return nil }
		for _, q := range []run.SeriesQuery{{From: -1}, {To: -1}, {From: 2, To: 1}} {
			q.Run = o.ID
			var wrong *run.InputError
			if err := s.Series(ctx, q, none); !errors.As(err, &wrong) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		wantErr(t, s.Series(ctx, run.SeriesQuery{Run: "none"}, none), run.ErrNotFound)
		must(t, s.Series(ctx, run.SeriesQuery{Run: o.ID}, none))
		fill(t, s, o.ID, 0, 10, 0)
		stop := errors.New("enough")
		wantErr(t, s.Series(ctx, run.SeriesQuery{Run: o.ID}, func(run.SeriesPart) error { return stop }), stop)
	})
}
