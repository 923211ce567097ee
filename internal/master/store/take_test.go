package store

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// intakeOf is the intake of a run's second n, of executors 0 to executors-1.
func intakeOf(id string, n, executors int) *run.Intake {
	in := &run.Intake{Totals: []run.TotalsState{{Run: id, State: counts(uint64(n * executors))}}}
	from := time.Duration(n-1) * time.Second
	for x := range executors {
		agent := fmt.Sprint("agent", x)
		in.Batches = append(in.Batches, run.BatchKey{Run: id, Executor: x, Epoch: 1, Seq: uint64(n), Agent: agent, Sum: uint64(n) << 60})
		in.Sources = append(in.Sources, run.SourceState{Run: id, Executor: x, Epoch: 1, Agent: agent, Seq: uint64(n), State: counts(uint64(n))})
		in.Series = append(in.Series, run.SeriesPart{Run: id, Agent: agent, Step: time.Second, From: from, To: from + time.Second, Data: counts(1)})
	}
	in.Series = append(in.Series, run.SeriesPart{Run: id, Step: time.Second, From: from, To: from + time.Second, Data: counts(uint64(executors))})
	return in
}

// state is everything that Take has stored of a run.
func state(t *testing.T, s *Store, id string) (all struct {
	Sources []run.SourceState
	Totals  []byte
	Series  []run.SeriesPart
	Keys    int
	Bytes   int64
}) {
	t.Helper()
	var err error
	all.Sources, all.Totals, err = s.Taken(t.Context(), id)
	must(t, err)
	for _, agent := range []string{"", "agent0", "agent1", "agent2"} {
		all.Series = append(all.Series, parts(t, s, run.SeriesQuery{Run: id, Agent: agent})...)
	}
	n, err := s.number(t.Context(), id)
	must(t, err)
	must(t, s.r.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM batches WHERE run = $1`, n).Scan(&all.Keys))
	must(t, s.r.QueryRowContext(t.Context(), `SELECT bytes FROM runs WHERE number = $1`, n).Scan(&all.Bytes))
	return all
}

func TestTake(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o, other := newRun(t, s, 1), newRun(t, s, 2)
		for n := 1; n <= 4; n++ {
			must(t, s.Take(ctx, intakeOf(o.ID, n, 3)))
		}
		must(t, s.Take(ctx, intakeOf(other.ID, 1, 1))) // the same keys of another run
		got := state(t, s, o.ID)
		if got.Keys != 12 || len(got.Sources) != 3 || len(got.Series) != 16 || !reflect.DeepEqual(got.Totals, counts(12)) {
			t.Errorf("kept %+v", got)
		}
		want := run.SourceState{Run: o.ID, Executor: 2, Epoch: 1, Agent: "agent2", Seq: 4, State: counts(4)}
		if !reflect.DeepEqual(got.Sources[2], want) {
			t.Errorf("executor 2 is %+v, want %+v", got.Sources[2], want)
		}
		if p := got.Series[1]; p.From != time.Second || p.To != 2*time.Second || p.Step != time.Second || p.Run != o.ID || p.Agent != "" || !reflect.DeepEqual(p.Data, counts(3)) {
			t.Errorf("part %+v", p)
		}
		if _, _, err := s.Taken(ctx, "none"); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("Taken of none: %v", err)
		}
		if sources, totals, err := s.Taken(ctx, newRun(t, s, 3).ID); sources != nil || totals != nil || err != nil {
			t.Errorf("Taken of a new run: %v %v %v", sources, totals, err)
		}
		wantErr(t, s.Take(ctx, intakeOf("none", 1, 1)), run.ErrNotFound)
		must(t, s.Take(ctx, &run.Intake{}))
	})
}

func TestWhatWasTakenInIsRefused(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		must(t, s.Take(ctx, intakeOf(o.ID, 1, 3)))
		before := state(t, s, o.ID)
		for _, tt := range []struct {
			name   string
			change func(in *run.Intake)
			key    run.BatchKey // the key that the error names
			other  bool
		}{
			{"one of three", func(in *run.Intake) { in.Batches[1].Seq = 1; in.Batches[1].Sum = 1 << 60 }, run.BatchKey{Executor: 1, Epoch: 1, Seq: 1}, false},
			{"with other bytes", func(in *run.Intake) { in.Batches[2].Seq = 1; in.Batches[2].Sum = 7 }, run.BatchKey{Executor: 2, Epoch: 1, Seq: 1}, true},
			{"twice in one intake", func(in *run.Intake) { in.Batches[2] = in.Batches[0] }, run.BatchKey{Executor: 0, Epoch: 1, Seq: 2}, false},
			{"twice in one intake with other bytes", func(in *run.Intake) { in.Batches[2] = in.Batches[0]; in.Batches[2].Sum++ }, run.BatchKey{Executor: 0, Epoch: 1, Seq: 2}, true},
		} {
			in := intakeOf(o.ID, 2, 3)
			tt.change(in)
			err := s.Take(ctx, in)
			var taken *run.TakenError
			if !errors.As(err, &taken) || taken.Other != tt.other || taken.Key.Executor != tt.key.Executor || taken.Key.Seq != tt.key.Seq || taken.Key.Run != o.ID {
				t.Errorf("%s: %v", tt.name, err)
			}
			if after := state(t, s, o.ID); !reflect.DeepEqual(before, after) {
				t.Errorf("%s: left %+v, there was %+v", tt.name, after, before)
			}
		}
		in := intakeOf(o.ID, 1, 3) // in another epoch it is another batch
		for i := range in.Batches {
			in.Batches[i].Epoch = 1 << 63
		}
		must(t, s.Take(ctx, in))
		var taken *run.TakenError
		if err := s.Take(ctx, in); !errors.As(err, &taken) || taken.Key.Epoch != 1<<63 {
			t.Errorf("an epoch of 64 bits: %v", err)
		}
	})
}

// Many callers deliver the same batches at the same time: each is stored once.
func TestTakeAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for n := 1; n <= 20; n++ {
					var taken *run.TakenError
					if err := s.Take(ctx, intakeOf(o.ID, n, 2)); err != nil && (!errors.As(err, &taken) || taken.Other) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		got := state(t, s, o.ID)
		if _, rest := total(got.Series); got.Keys != 40 || rest != 80 {
			t.Errorf("%d keys and %d counts, want 40 and 80", got.Keys, rest)
		}
	})
}

// I2: whichever statement fails, an intake leaves nothing, and is stored when it is
// redelivered.
func TestTakeIsWholeOrNotAtAll(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		broken := errors.New("a failpoint")
		var statements []string
		fails := -1
		s := e.open(func(o *Options) {
			o.tests.fail = func(query string) error {
				statements = append(statements, query)
				if len(statements)-1 == fails {
					return broken
				}
				return nil
			}
		})
		ctx := t.Context()
		o := newRun(t, s, 1)
		statements = nil
		must(t, s.Take(ctx, intakeOf(o.ID, 1, 3)))
		before, places := state(t, s, o.ID), len(statements)
		for fails = 0; fails < places; fails++ {
			statements = nil
			wantErr(t, s.Take(ctx, intakeOf(o.ID, 2, 3)), broken)
			if after := state(t, s, o.ID); !reflect.DeepEqual(before, after) {
				t.Errorf("failed at %q: left %+v", statements[fails], after)
			}
		}
		if last := statements[places-1]; places < 7 || last != "COMMIT" {
			t.Errorf("%d places, the last %q", places, last)
		}
		statements, fails = nil, -1
		must(t, s.Take(ctx, intakeOf(o.ID, 2, 3)))
		if got := state(t, s, o.ID); got.Keys != 6 || len(got.Series) != 8 {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

func TestTakeRefusesPartsThatAreNone(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.open()
		o := newRun(t, s, 1)
		for _, p := range []run.SeriesPart{
			{Step: time.Second, From: -1, To: 1}, {Step: time.Second, From: 2, To: 1}, {From: 0, To: 1}, {Step: -1, To: 1},
		} {
			p.Run = o.ID
			var wrong *run.InputError
			if err := s.Take(t.Context(), &run.Intake{Series: []run.SeriesPart{p}}); !errors.As(err, &wrong) {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

// The batches of a run that has ended become ranges; a repeated batch is still detected.
func TestBatchesBecomeRanges(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		now := base
		s, ctx := e.open(func(o *Options) { o.Now = func() time.Time { return now } }), t.Context()
		o := newRun(t, s, 1)
		for n := 1; n <= 10; n++ {
			in := intakeOf(o.ID, n, 2)
			if n == 5 {
				in.Batches = in.Batches[:1] // executor 1 has a gap
			}
			must(t, s.Take(ctx, in))
		}
		end(t, s, o, base)
		keys := func() int { return state(t, s, o.ID).Keys }
		must(t, s.Maintain(ctx))
		if n := keys(); n != 19 {
			t.Errorf("%d keys just after the end, want 19", n)
		}
		bytes := state(t, s, o.ID).Bytes
		now = base.Add(2 * time.Hour)
		must(t, s.Maintain(ctx))
		if n := keys(); n != 9 {
			t.Errorf("%d keys afterwards, want those of executor 1: 9", n)
		}
		if got := state(t, s, o.ID).Bytes; got != bytes-10*keyBytes {
			t.Errorf("bytes went from %d to %d", bytes, got)
		}
		for n := 1; n <= 10; n++ {
			var taken *run.TakenError
			in := intakeOf(o.ID, n, 1)
			if err := s.Take(ctx, in); !errors.As(err, &taken) || taken.Other {
				t.Errorf("batch %d again: %v", n, err)
			}
		}
		late := intakeOf(o.ID, 11, 1)
		must(t, s.Take(ctx, late))
		must(t, s.Maintain(ctx))
		if err := s.Take(ctx, late); err == nil || !strings.Contains(err.Error(), "before") {
			t.Errorf("a late one again: %v", err)
		}
		gap := &run.Intake{Batches: []run.BatchKey{{Run: o.ID, Executor: 1, Epoch: 1, Seq: 5}}}
		must(t, s.Take(ctx, gap))
		must(t, s.Maintain(ctx))
		if n := keys(); n != 0 {
			t.Errorf("%d keys when the gap is filled", n)
		}
	})
}
