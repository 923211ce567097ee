package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Import stores the run of an archive that Export or a local history wrote, with its final
// state and a new owner, and returns it. The figures of a result that has none, as of a
// killed gobench, are those of its batches. The run belongs to no application. The error is
// run.ErrArchive if in is no valid archive, and run.ErrConflict if the run exists; after any
// error nothing is stored. If only the executors' output can't be stored, that is logged.
// Import does not close in.
func (m *Master) Import(ctx context.Context, in io.Reader, owner string) (*run.Order, error) {
	dir, err := os.MkdirTemp(m.Dir, importDir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var whole *merge.Merger
	var step time.Duration
	h := history.Open(dir)
	r, err := h.Import(in, func(staged history.History, id string) error {
		r, err := staged.Load(id)
		if err == nil {
			n := time.Duration(0)
			step = importInterval(r)
			whole, err = replay(ctx, staged, r, func(merge.Part) { n++ })
			if n > 0 && whole.End()/n > 2*step { // a long run whose fine parts were trimmed
				step = (whole.End() / n).Round(time.Second)
			}
		}
		if err == nil {
			err = whole.Agrees(r)
		}
		return err
	})
	if err == nil {
		r, err = h.LoadFigures(r.ID)
	}
	if err != nil {
		return nil, err
	}
	o := &run.Order{ID: r.ID, Name: r.Name, Owner: owner, State: r.State, Cause: r.Cause, Verdict: r.Verdict, Created: r.Created, Started: r.Start,
		Options: run.Options{Duration: r.Config.Duration, Interval: r.Config.Interval, GracefulStop: r.Config.GracefulStop, Seed: r.Config.Seed,
			Parameters: r.Config.Parameters, Command: r.Config.Command}}
	if r.Config.Target != "" {
		o.Options.Builtin = &run.Builtin{Target: r.Config.Target, Options: r.Config.Options}
	}
	if o.Ended = r.Created; !r.Start.IsZero() {
		o.Ended = r.Start.Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	err = m.Store.ImportRun(ctx, o, r, owner, func(take func(*run.Intake) error) error { return intakes(ctx, h, r, whole, step, take) })
	if err != nil {
		return nil, err
	}
	if log, err := h.OpenLog(o.ID); err == nil { // an archive may have none
		err = errors.Join(m.logs.copy(o.ID, log), log.Close())
		if err != nil {
			m.Logger.Error("keep the log of a run that is imported", "run", o.ID, "error", err)
		}
	}
	m.Logger.Info("a run is imported", "run", o.ID, "by", owner)
	m.events.state(o)
	return o, nil
}

// Limits of an archive's batches.
const (
	maxImported = 1024    // executors
	maxDeclared = 100_000 // metrics
)

// replay merges the batches of a run's folder, calls part with each interval in order (after
// an error with the rest, too), and returns the Merger, also with an error. The error wraps
// run.ErrArchive if a batch is invalid or the limits are exceeded, and is the context's cause
// if ctx ends.
func replay(ctx context.Context, h history.History, r *run.Result, part func(merge.Part)) (*merge.Merger, error) {
	m := merge.New(0, importInterval(r))
	m.OnPart(part)
	err := h.Batches(r.ID, func(executor int, b *wire.Batch) error {
		if executor >= maxImported {
			return fmt.Errorf("executor %d is one too many", executor)
		}
		for m.Executors() <= executor {
			m.Join("", time.Duration(b.FromNs))
		}
		if err := m.Add(executor, b); err != nil {
			return err
		}
		if len(m.Declared()) > maxDeclared {
			return fmt.Errorf("more than %d metrics are declared", maxDeclared)
		}
		m.Intervals(false)
		return context.Cause(ctx)
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: its batches: %w", run.ErrArchive, err)
	}
	m.Intervals(true)
	return m, err
}

// importInterval returns the interval of a run's series, 0 to 3600 s; 1 s if the result has
// none.
func importInterval(r *run.Result) time.Duration {
	return intervalOf(&run.Options{Interval: max(0, min(r.Config.Interval, 3600))})
}

// partsOfImport is the number of parts of a series in one intake.
const partsOfImport = 500

// intakes calls take with what a master that had executed the run would have stored, in
// several intakes. whole is the result of merging its batches, step the interval of the stored
// series. An error of take ends it and is returned. If ctx ends, the error is its cause. It
// may be called again.
func intakes(ctx context.Context, h history.History, r *run.Result, whole *merge.Merger, step time.Duration, take func(*run.Intake) error) error {
	state := &agentpb.RecordState{Merged: whole.State(), IntervalNs: int64(importInterval(r))}
	first := &run.Intake{}
	for e := range whole.Executors() {
		state.Executors = append(state.Executors, &agentpb.Placement{Agent: imported, Name: r.Environment.Host})
		seq, _ := whole.Seq(e)
		first.Sources = append(first.Sources, run.SourceState{Run: r.ID, Executor: e, Agent: imported, Seq: seq, State: whole.SourceState(e)})
	}
	first.Totals = []run.TotalsState{{Run: r.ID, State: marshal(state)}}
	if err := take(first); err != nil {
		return err
	}
	var parts []run.SeriesPart
	var failed error
	flush := func() {
		if failed == nil && len(parts) > 0 {
			failed = take(&run.Intake{Series: parts})
		}
		parts = nil
	}
	_, err := replay(ctx, h, r, func(p merge.Part) {
		parts = append(parts, run.SeriesPart{Run: r.ID, Step: step, From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
		if len(parts) == partsOfImport {
			flush()
		}
	})
	flush()
	if failed != nil {
		return failed
	}
	return err
}

// imported is the agent's id for all executors of an imported run.
const imported = "imported"
