package store

import (
	"errors"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// An imported run is stored as a whole, with the store's clock, or not at all.
func TestImportRun(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		now := base.Add(6 * time.Hour)
		s, ctx := e.open(func(o *Options) { o.Now = func() time.Time { return now } }), t.Context()
		o := &run.Order{ID: runID(1), Name: "a run", Owner: "ann", State: run.Finished, Created: base, Ended: base.Add(time.Minute)}
		r := &run.Result{ID: o.ID, State: o.State}
		fails, broken := errors.New("the archive ends"), true
		intakes := func(take func(*run.Intake) error) error {
			in := intakeOf(o.ID, 1, 1)
			in.Batches = nil
			if err := take(in); err != nil || !broken {
				return err
			}
			return fails
		}
		wantErr(t, s.ImportRun(ctx, o, r, "bob", intakes), fails)
		_, err := s.Run(ctx, o.ID)
		wantErr(t, err, run.ErrNotFound)
		broken = false
		must(t, s.ImportRun(ctx, o, r, "bob", intakes))
		wantErr(t, s.ImportRun(ctx, o, r, "bob", intakes), run.ErrConflict)
		steps, err := s.Transitions(ctx, o.ID)
		if err != nil || len(steps) != 1 || steps[0].To != run.Finished || steps[0].By != "bob" || !steps[0].At.Equal(now) {
			t.Errorf("steps %+v, %v", steps, err)
		}
		if n := len(parts(t, s, run.SeriesQuery{Run: o.ID})); n == 0 || o.Number == 0 {
			t.Errorf("run %d has %d parts", o.Number, n)
		}
	})
}
