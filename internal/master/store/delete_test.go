package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// rowsOf counts the rows of each table that belong to runs, by the run's number; sources
// and their files under 0.
func rowsOf(t testing.TB, s *Store) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, table := range []string{"runs", "transitions", "results", "batches", "batch_ranges", "executors", "totals", "series"} {
		key := "run"
		if table == "runs" {
			key = "number"
		}
		must(t, s.each(t.Context(), s.r, `SELECT `+key+`, COUNT(*) FROM `+table+` GROUP BY `+key, nil, func(scan func(...any) error) error {
			var number, n int
			err := scan(&number, &n)
			all[fmt.Sprint(number, " ", table)] = n
			return err
		}))
	}
	for _, table := range []string{"sources", "source_files", "blobs", "applications", "application_tags"} {
		var n int
		must(t, s.r.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n))
		all["0 "+table] = n
	}
	return all
}

// whole creates a run that has a row in each table.
func whole(t *testing.T, s *Store, n int, application string, source run.Source) *run.Order {
	t.Helper()
	ctx := t.Context()
	o := &run.Order{ID: runID(n), Application: application, Name: "a run", Owner: "ann", Created: base}
	must(t, s.CreateRun(ctx, o, source))
	for second := 1; second <= 130; second++ {
		must(t, s.Take(ctx, intakeOf(o.ID, second, 2)))
	}
	must(t, s.PutResult(ctx, &run.Result{ID: o.ID, Verdict: run.Valid}))
	return o
}

// I11: no row of a deleted run remains, and all of the others.
func TestDeleteRun(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		now := base.Add(3 * time.Hour)
		s, ctx := e.open(func(o *Options) { o.Now = func() time.Time { return now }; o.tests.lax = true }), t.Context()
		shared := run.Source{Scenario: "package main", Files: []run.File{{Path: "a", Data: []byte("shared")}}}
		app := &run.Application{ID: "app", Name: "app", Tags: []string{"x"}, Source: shared}
		must(t, s.PutApplication(ctx, app))
		var runs []*run.Order
		for i := range 3 {
			runs = append(runs, whole(t, s, i, "app", shared))
		}
		one := shared
		one.Files = append(slices.Clone(one.Files), run.File{Path: "b", Data: []byte("its own")})
		runs = append(runs, whole(t, s, 3, "app", one))
		if n := rowsOf(t, s); n["0 sources"] != 2 || n["0 blobs"] != 3 {
			t.Errorf("four runs of two sources keep %d sources of %d files", n["0 sources"], n["0 blobs"])
		}
		wantErr(t, s.DeleteRun(ctx, runs[0].ID), run.ErrConflict)
		wantErr(t, s.DeleteRun(ctx, "none"), run.ErrNotFound)
		wantErr(t, s.DeleteApplication(ctx, "app"), run.ErrConflict)
		for _, o := range runs {
			end(t, s, o, base)
		}
		must(t, s.Maintain(ctx))
		before := rowsOf(t, s)
		if n := before["1 batch_ranges"]; n != 2 || before["4 series"] < 390 {
			t.Errorf("%d ranges and %d parts", n, before["4 series"])
		}
		must(t, s.DeleteRun(ctx, runs[3].ID))
		maps.DeleteFunc(before, func(key string, _ int) bool { return strings.HasPrefix(key, "4 ") })
		before["0 sources"], before["0 blobs"], before["0 source_files"] = 1, 2, 2
		if after := rowsOf(t, s); !maps.Equal(before, after) {
			t.Errorf("left %v, want %v", after, before)
		}
		for name, err := range map[string]error{
			"Run":         func() error { _, err := s.Run(ctx, runs[3].ID); return err }(),
			"RunSource":   func() error { _, err := s.RunSource(ctx, runs[3].ID); return err }(),
			"Result":      func() error { _, err := s.Result(ctx, runs[3].ID); return err }(),
			"Transitions": func() error { _, err := s.Transitions(ctx, runs[3].ID); return err }(),
			"Take":        s.Take(ctx, intakeOf(runs[3].ID, 500, 1)),
			"PutResult":   s.PutResult(ctx, &run.Result{ID: runs[3].ID}),
			"DeleteRun":   s.DeleteRun(ctx, runs[3].ID),
		} {
			if !errors.Is(err, run.ErrNotFound) {
				t.Errorf("%s of a deleted run: %v", name, err)
			}
		}
		if src, err := s.RunSource(ctx, runs[0].ID); err != nil || string(src.Files[0].Data) != "shared" {
			t.Errorf("the source of another: %+v, %v", src, err)
		}
		if o := newRun(t, s, 9); o.Number != 5 {
			t.Errorf("the next run has number %d", o.Number)
		} else {
			end(t, s, o, base)
			must(t, s.DeleteRun(ctx, o.ID))
		}
		must(t, s.DeleteApplication(ctx, "app"))
		for key, n := range rowsOf(t, s) {
			if n != 0 {
				t.Errorf("without runs and applications there are %d rows: %s", n, key)
			}
		}
	})
}

// An interrupted deletion is completed when the store is opened again; meanwhile readers do
// not see the run.
func TestDeletionGoesOn(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		ctx := t.Context()
		broken := errors.New("a failpoint")
		stop := false
		s := e.open(func(o *Options) {
			o.tests.fail = func(query string) error {
				if stop && strings.HasPrefix(query, "DELETE FROM batches") {
					return broken
				}
				return nil
			}
		})
		o := whole(t, s, 1, "", run.Source{})
		end(t, s, o, base)
		stop = true
		wantErr(t, s.DeleteRun(ctx, o.ID), broken)
		_, err := s.Run(ctx, o.ID)
		wantErr(t, err, run.ErrNotFound)
		if page, _, err := s.Runs(ctx, run.Filter{}); err != nil || len(page) != 0 {
			t.Errorf("%v, %v", page, err)
		}
		must(t, s.Close())
		for key, n := range rowsOf(t, e.open()) {
			if n != 0 {
				t.Errorf("%d rows are left: %s", n, key)
			}
		}
	})
}

func TestRetention(t *testing.T) {
	for name, tt := range map[string]struct {
		keep Keep
		want []int64
	}{
		"all":                       {Keep{}, []int64{7, 6, 5, 4, 3, 2, 1}},
		"three runs":                {Keep{Runs: 3}, []int64{7, 6, 5, 4, 1}}, // 1 is not final, nor is 7
		"ended within three hours":  {Keep{Age: 3 * time.Hour}, []int64{7, 6, 5, 4, 1}},
		"at most 2.5 times a run's": {Keep{Bytes: -5}, []int64{7, 6, 5, 1}},
		"of the size of all, ended within three hours": {Keep{Bytes: -10, Age: 3 * time.Hour}, []int64{7, 6, 5, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, e *engine) {
				now := base.Add(6 * time.Hour)
				s, ctx := e.open(func(o *Options) { o.Now = func() time.Time { return now }; o.Keep = tt.keep }), t.Context()
				var bytes int64
				for i := 1; i <= 7; i++ {
					o := newRun(t, s, i)
					if i == 1 || i == 7 {
						continue // queued, and of no bytes
					}
					for n := 1; n <= 3; n++ {
						must(t, s.Take(ctx, intakeOf(o.ID, n, 1)))
					}
					bytes = state(t, s, o.ID).Bytes
					end(t, s, o, base.Add(time.Duration(i-1)*time.Hour))
				}
				if tt.keep.Bytes < 0 {
					s.options.Keep.Bytes = bytes * -tt.keep.Bytes / 2
				}
				must(t, s.retain(ctx))
				page, _, err := s.Runs(ctx, run.Filter{})
				var got []int64
				for _, o := range page {
					got = append(got, o.Number)
				}
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("kept %v, %v; want %v", got, err, tt.want)
				}
			})
		})
	}
}

// A run that was imported has the newest number and may be the oldest: that it is deleted for
// its age is no reason to delete others.
func TestRetentionOfAnImportedRun(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s, ctx := e.open(func(o *Options) {
			o.Now = func() time.Time { return base.Add(6 * time.Hour) }
			o.Keep = Keep{Age: 3 * time.Hour, Bytes: 1 << 30}
		}), t.Context()
		for i, ended := range []time.Duration{5 * time.Hour, 6 * time.Hour, time.Hour} {
			o := newRun(t, s, i+1)
			must(t, s.Take(ctx, intakeOf(o.ID, 1, 1)))
			end(t, s, o, base.Add(ended))
		}
		must(t, s.retain(ctx))
		page, _, err := s.Runs(ctx, run.Filter{})
		if err != nil || len(page) != 2 || page[0].Number != 2 || page[1].Number != 1 {
			t.Errorf("left are %d runs, %v; want the two that ended within 3 hours", len(page), err)
		}
	})
}
