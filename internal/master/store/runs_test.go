package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

func TestApplications(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		a := &run.Application{ID: "a1", Name: "Größe 100%_\\", Tags: []string{"b", "a"}, Owner: "ann", Created: base, Changed: base,
			Source: run.Source{Scenario: "package main", File: "checkout.go", GoMod: "module x", GoSum: "sum", Files: []run.File{{Path: "data/x.csv", Data: []byte{0, 1, 2}}, {Path: "empty", Data: []byte{}}, {Path: "options.json", Data: []byte("{}"), Private: true}}}}
		must(t, s.PutApplication(ctx, a))
		got, err := s.Application(ctx, "a1")
		must(t, err)
		if a.Version != 1 || !reflect.DeepEqual(got, a) {
			t.Errorf("kept %+v, got %+v", a, got)
		}
		again := *a
		again.Version = 0
		wantErr(t, s.PutApplication(ctx, &again), run.ErrConflict)
		mine, theirs := *got, *got
		mine.Tags, mine.Source.Scenario = []string{"c"}, "package other"
		must(t, s.PutApplication(ctx, &mine))
		wantErr(t, s.PutApplication(ctx, &theirs), run.ErrConflict)
		if got, err = s.Application(ctx, "a1"); err != nil || got.Version != 2 || got.Source.Scenario != "package other" || !slices.Equal(got.Tags, []string{"c"}) {
			t.Errorf("changed to %+v, %v", got, err)
		}
		wantErr(t, s.PutApplication(ctx, &run.Application{ID: "none", Version: 3}), run.ErrNotFound)
		_, err = s.Application(ctx, "none")
		wantErr(t, err, run.ErrNotFound)
		wantErr(t, s.DeleteApplication(ctx, "none"), run.ErrNotFound)
		for i := range 3 {
			must(t, s.PutApplication(ctx, &run.Application{ID: fmt.Sprint("b", i), Name: "abc", Owner: "bob", Tags: []string{"b"}}))
		}
		for _, tt := range []struct {
			name string
			f    run.Filter
			want []string
		}{
			{"all, the newest first", run.Filter{}, []string{"b2", "b1", "b0", "a1"}},
			{"of a tag", run.Filter{Tag: "b"}, []string{"b2", "b1", "b0"}},
			{"of an owner", run.Filter{Owner: "ann"}, []string{"a1"}},
			{"case does not matter", run.Filter{Text: "GRÖSSE"}, nil},
			{"nor that of other letters", run.Filter{Text: "grÖß"}, []string{"a1"}},
			{"% and _ are themselves", run.Filter{Text: "%_\\"}, []string{"a1"}},
			{"% alone is not all", run.Filter{Text: "b%"}, nil},
			{"quotes are text", run.Filter{Text: "'; DROP TABLE runs; --"}, nil},
		} {
			page, next, err := s.Applications(ctx, tt.f)
			var ids []string
			for _, a := range page {
				ids = append(ids, a.ID)
			}
			if err != nil || next != "" || !slices.Equal(ids, tt.want) {
				t.Errorf("%s: %v, %q, %v; want %v", tt.name, ids, next, err, tt.want)
			}
		}
	})
}

func TestRuns(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		must(t, s.PutApplication(ctx, &run.Application{ID: "a", Name: "app", Tags: []string{"nightly"}}))
		o := &run.Order{ID: runID(1), Application: "a", Name: "app", Owner: "ann", Created: base,
			Options: run.Options{Seed: 1 << 63, Parameters: map[string]string{"x": "y\x00"}, Thresholds: []string{"a<1"}, Guards: run.Guards{P99: 0.5}}}
		source := run.Source{Scenario: "package main", Files: []run.File{{Path: "f", Data: []byte("data")}}}
		must(t, s.CreateRun(ctx, o, source))
		if o.Number != 1 || o.Version != 1 || o.State != run.Queued {
			t.Errorf("made %+v", o)
		}
		got, err := s.Run(ctx, o.ID)
		must(t, err)
		if !reflect.DeepEqual(got, o) {
			t.Errorf("kept %+v, got %+v", o, got)
		}
		if src, err := s.RunSource(ctx, o.ID); err != nil || !reflect.DeepEqual(src, source) {
			t.Errorf("source %+v, %v", src, err)
		}
		wantErr(t, s.CreateRun(ctx, o, source), run.ErrConflict)
		other := *o
		other.ID, other.Application = runID(2), "none"
		wantErr(t, s.CreateRun(ctx, &other, source), run.ErrNotFound)
		for _, id := range []string{"", "1", "../x", o.ID + "'", "20261121-120000-\x00bcdef"} {
			if _, err := s.Run(ctx, id); !errors.Is(err, run.ErrNotFound) {
				t.Errorf("Run(%q): %v", id, err)
			}
			if _, err := s.RunSource(ctx, id); !errors.Is(err, run.ErrNotFound) {
				t.Errorf("RunSource(%q): %v", id, err)
			}
			bad := *o
			bad.ID = id
			var wrong *run.InputError
			if err := s.CreateRun(ctx, &bad, source); !errors.As(err, &wrong) {
				t.Errorf("CreateRun of %q: %v", id, err)
			}
		}
		for i := 10; i < 135; i++ {
			newRun(t, s, i)
		}
		var numbers []int64
		f := run.Filter{Limit: 50}
		for pages := 0; pages < 10; pages++ {
			page, next, err := s.Runs(ctx, f)
			must(t, err)
			for _, o := range page {
				numbers = append(numbers, o.Number)
			}
			if f.After = next; next == "" {
				break
			}
		}
		if len(numbers) != 126 || !slices.IsSortedFunc(numbers, func(a, b int64) int { return int(b - a) }) || numbers[0] != 126 || numbers[125] != 1 {
			t.Errorf("pages gave %v", numbers)
		}
		if page, _, err := s.Runs(ctx, run.Filter{Tag: "nightly", State: run.Queued, Application: "a", Owner: "ann", Text: "AP"}); err != nil || len(page) != 1 {
			t.Errorf("filtered: %v, %v", page, err)
		}
		for _, f := range []run.Filter{{Limit: -1}, {Limit: 201}, {After: "x"}, {After: "-1"}, {After: "1e18"}, {After: "99999999999999999999"}, {Text: strings.Repeat("x", 1001)}} {
			var wrong *run.InputError
			if _, _, err := s.Runs(ctx, f); !errors.As(err, &wrong) {
				t.Errorf("%+v: %v", f, err)
			}
		}
		if all, err := s.Unfinished(ctx); err != nil || len(all) != 126 || all[0].Number != 1 {
			t.Errorf("Unfinished: %d, %v", len(all), err)
		}
	})
}

func TestResults(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		o := newRun(t, s, 1)
		_, err := s.Result(ctx, o.ID)
		wantErr(t, err, run.ErrNotFound)
		r := &run.Result{Format: run.Format, ID: o.ID, Name: "x", State: run.Finished, Created: base, Verdict: run.Suspect,
			Metrics: []run.Metric{{Title: "latency", Histogram: []byte{1, 2, 3}}}, Errors: []run.Failure{{Text: "a \x00 and \xff"}}}
		for range 2 {
			must(t, s.PutResult(ctx, r))
			got, err := s.Result(ctx, o.ID)
			must(t, err)
			if got.Metrics[0].Title != "latency" || !slices.Equal(got.Metrics[0].Histogram, []byte{1, 2, 3}) || got.Errors[0].Text != "a \x00 and \uFFFD" {
				t.Errorf("got %+v", got)
			}
			r.Verdict = run.Invalid
		}
		if got, err := s.Run(ctx, o.ID); err != nil || got.Verdict != run.Invalid {
			t.Errorf("the run's verdict: %v, %v", got.Verdict, err)
		}
		wantErr(t, s.PutResult(ctx, &run.Result{ID: runID(5)}), run.ErrNotFound)
	})
}

func TestTransitions(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		one, two := newRun(t, s, 1), newRun(t, s, 2)
		when := base.Add(time.Hour)
		var err error
		for i, to := range []run.State{run.Compiling, run.Starting, run.Running, run.Stopping, run.Finished} {
			_, err = s.Transition(ctx, one.ID, one.Version-1, to, "", "master", when)
			wantErr(t, err, run.ErrConflict)
			_, err = s.Transition(ctx, one.ID, one.Version, run.Queued, "", "master", when)
			wantErr(t, err, run.ErrConflict)
			one, err = s.Transition(ctx, one.ID, one.Version, to, "why\x00 "+string(to), "master", when.Add(time.Duration(i)))
			must(t, err)
			if one.State.Active() {
				_, err = s.Transition(ctx, two.ID, two.Version, run.Compiling, "", "master", when)
				wantErr(t, err, run.ErrConflict)
			}
		}
		if got, err := s.Run(ctx, one.ID); err != nil || !reflect.DeepEqual(got, one) || got.Version != 6 ||
			!got.Started.Equal(when.Add(2)) || !got.Ended.Equal(when.Add(4)) || got.Cause != "why\uFFFD finished" {
			t.Errorf("%+v, %v", got, err)
		}
		_, err = s.Transition(ctx, two.ID, two.Version, run.Compiling, "", "master", when)
		must(t, err)
		_, err = s.Transition(ctx, "none", 1, run.Compiling, "", "master", when)
		wantErr(t, err, run.ErrNotFound)
		steps, err := s.Transitions(ctx, one.ID)
		must(t, err)
		var got []string
		for _, c := range steps {
			got = append(got, fmt.Sprintf("%d %s>%s %s", c.Version, c.From, c.To, c.By))
		}
		want := "1 >queued ann, 2 queued>compiling master, 3 compiling>starting master, 4 starting>running master, 5 running>stopping master, 6 stopping>finished master"
		if strings.Join(got, ", ") != want {
			t.Errorf("steps %v", got)
		}
	})
}

// A name from outside is never more than an unknown name.
func TestNamesThatNobodyGave(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		for _, id := range []string{"\x00", "\xff\xfe", "'; DROP TABLE runs; --", "../../etc/passwd", strings.Repeat("x", 1<<20), "1%00", "$1", "?"} {
			short := id[:min(len(id), 20)]
			for what, f := range map[string]func() error{
				"Application":       func() error { _, err := s.Application(ctx, id); return err },
				"PutApplication":    func() error { return s.PutApplication(ctx, &run.Application{ID: id, Version: 1}) },
				"DeleteApplication": func() error { return s.DeleteApplication(ctx, id) },
				"Run":               func() error { _, err := s.Run(ctx, id); return err },
				"Result":            func() error { _, err := s.Result(ctx, id); return err },
				"Transitions":       func() error { _, err := s.Transitions(ctx, id); return err },
				"Transition":        func() error { _, err := s.Transition(ctx, id, 1, run.Failed, id, id, base); return err },
				"Series":            func() error { return s.Series(ctx, run.SeriesQuery{Run: id, Agent: id}, nil) },
				"Take":              func() error { return s.Take(ctx, intakeOf(id, 1, 1)) },
				"DeleteRun":         func() error { return s.DeleteRun(ctx, id) },
				"Agent":             func() error { _, err := s.Agent(ctx, id); return err },
				"JoinToken":         func() error { _, err := s.JoinToken(ctx, id); return err },
				"SpendJoinToken":    func() error { return s.SpendJoinToken(ctx, id, []byte(id), id, base) },
				"User":              func() error { _, err := s.User(ctx, id); return err },
				"UserNamed":         func() error { _, err := s.UserNamed(ctx, id); return err },
				"Session":           func() error { _, err := s.Session(ctx, []byte(id)); return err },
				"PutSession":        func() error { return s.PutSession(ctx, &auth.Session{Hash: []byte(id), User: id}) },
				"Token":             func() error { _, err := s.Token(ctx, id); return err },
			} {
				if err := f(); !errors.Is(err, run.ErrNotFound) {
					t.Errorf("%s of %q: %v", what, short, err)
				}
			}
			f := run.Filter{State: run.State(id), Application: id, Tag: id, Owner: id, Text: id[:min(len(id), longestText)]}
			if page, _, err := s.Runs(ctx, f); err != nil || len(page) > 0 {
				t.Errorf("Runs of %q: %v, %v", short, page, err)
			}
			if page, _, err := s.Applications(ctx, f); err != nil || len(page) > 0 {
				t.Errorf("Applications of %q: %v, %v", short, page, err)
			}
			if r, err := s.Reply(ctx, id, id); err != nil || r != nil {
				t.Errorf("Reply of %q: %v, %v", short, r, err)
			}
			if all, err := s.Tokens(ctx, id); err != nil || len(all) > 0 {
				t.Errorf("Tokens of %q: %v, %v", short, all, err)
			}
			must(t, s.DeleteSessionsOf(ctx, id))
			if v, err := s.Setting(ctx, id); err != nil || v != nil {
				t.Errorf("Setting %q: %v, %v", short, v, err)
			}
		}
	})
}

// Of many concurrent changes to the same state exactly one succeeds, and of many runs
// exactly one becomes active.
func TestTransitionsAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(), t.Context()
		var runs []*run.Order
		for i := range 25 {
			runs = append(runs, newRun(t, s, i))
		}
		race := func(n int, f func(i int) error) (won int) {
			var wg sync.WaitGroup
			var mu sync.Mutex
			for i := range n {
				wg.Go(func() {
					err := f(i)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, run.ErrConflict) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			return won
		}
		if won := race(25, func(i int) error {
			_, err := s.Transition(ctx, runs[i].ID, 1, run.Compiling, "", "master", base)
			return err
		}); won != 1 {
			t.Errorf("%d runs became active", won)
		}
		if won := race(25, func(i int) error {
			_, err := s.Transition(ctx, runs[3].ID, 1, run.Cancelled, "", "master", base)
			return err
		}); won > 1 {
			t.Errorf("run 3 was cancelled %d times", won)
		}
		var active int
		for _, o := range runs {
			got, err := s.Run(ctx, o.ID)
			must(t, err)
			active += btoi(got.State.Active())
		}
		if active > 1 {
			t.Errorf("%d runs are active", active)
		}
		// The database itself enforces a single active run, whichever program writes.
		if _, err := s.w.ExecContext(ctx, `UPDATE runs SET active = 1`); err == nil {
			t.Error("all runs became active")
		}
	})
}

// I7: a random walk compared with a model. An illegal transition is a conflict and leaves
// no row.
func TestAnyOrderOfTransitions(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		steps := 3_000
		if long.Run {
			steps = 100_000
			if e.options.DSN != "" {
				steps = 5_000
			}
		}
		s, ctx := e.open(), t.Context()
		states := []run.State{run.Queued, run.Compiling, run.Starting, run.Running, run.Stopping, run.Finished, run.Failed, run.Cancelled, "", "x"}
		r := rand.New(rand.NewPCG(1, 2))
		model := []*run.Order{}
		rows := map[string]int64{}
		active, won, lost := "", 0, 0
		for i := range steps {
			if len(model) < 5 || len(model) < 20 && r.IntN(10) == 0 {
				o := newRun(t, s, i)
				model, rows[o.ID] = append(model, o), 1
				continue
			}
			at := r.IntN(len(model))
			o := model[at]
			to, version := states[r.IntN(len(states))], o.Version-int64(btoi(r.IntN(8) == 0))
			if next := slices.IndexFunc(states, o.State.May); next >= 0 && r.IntN(2) == 0 {
				to = states[next]
			}
			legal := version == o.Version && o.State.May(to) && (!to.Active() || active == "" || active == o.ID)
			got, err := s.Transition(ctx, o.ID, version, to, "c", "w", base)
			if legal != (err == nil) || err != nil && !errors.Is(err, run.ErrConflict) {
				t.Fatalf("step %d: run %s from %s (version %d) to %s with version %d while %q is active: %v", i, o.ID, o.State, o.Version, to, version, active, err)
			}
			if err != nil {
				lost++
				continue
			}
			won++
			rows[o.ID]++
			if got.State != to || got.Version != o.Version+1 {
				t.Fatalf("step %d gave %+v", i, got)
			}
			if to.Active() {
				active = o.ID
			} else if active == o.ID {
				active = ""
			}
			model[at] = got
			if len(model) > 10 && to.Final() { // the walk continues with others; this one is checked below
				model = slices.Delete(model, at, at+1)
			}
		}
		all := map[string]int64{}
		must(t, s.each(ctx, s.r, `SELECT id, COUNT(*) FROM transitions JOIN runs ON number = run GROUP BY id`, nil, func(scan func(...any) error) error {
			var id string
			var n int64
			err := scan(&id, &n)
			all[id] = n
			return err
		}))
		if !reflect.DeepEqual(all, rows) {
			t.Errorf("rows of transitions are not those of the model")
		}
		var wrong int
		must(t, s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM runs r WHERE version <> (SELECT MAX(version) FROM transitions WHERE run = r.number)
			OR state <> (SELECT to_state FROM transitions WHERE run = r.number AND version = r.version)`).Scan(&wrong))
		if wrong > 0 {
			t.Errorf("%d runs are not where their transitions end", wrong)
		}
		t.Logf("%d steps: %d done, %d refused", steps, won, lost)
	})
}
