package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Result returns the result of a run, or its current figures if it is not over; for a run
// that has counted nothing they are empty. Before the end Complete is true and Missing nil,
// as what is missing is not yet known. The caller may change the result.
func (m *Master) Result(ctx context.Context, id string) (*run.Result, error) {
	o, err := m.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := m.Store.Result(ctx, id)
	switch {
	case errors.Is(err, run.ErrNotFound):
		r = newResult(o)
	case err != nil:
		return nil, err
	}
	if r.State.Final() {
		return r, nil
	}
	r.State, r.Cause = o.State, o.Cause
	err = m.intake.with(ctx, func() {
		if rec := m.intake.runs[id]; rec != nil {
			rec.tally.Summarize(r)
		}
	})
	r.Complete, r.Missing = true, nil // what is missing is not yet known
	return r, err
}

// Series calls each with a run's intervals in order, of all agents or of the agent with the
// id q.Agent; it makes no call if nothing is stored. It returns after the last call. An
// error of each ends it and is returned. The error is a *run.InputError if the range is
// invalid.
func (m *Master) Series(ctx context.Context, q run.SeriesQuery, each func(run.Interval) error) error {
	if _, err := m.Run(ctx, q.Run); err != nil {
		return err
	}
	merger, err := m.declared(ctx, q.Run)
	if err != nil {
		return err
	}
	var parts [][]byte // of one time
	var from time.Duration
	flush := func() error {
		if parts == nil {
			return nil
		}
		i, err := merger.IntervalOf(parts)
		if errors.Is(err, merge.ErrUndeclared) { // these parts were committed after the state was read
			if merger, err = m.declared(ctx, q.Run); err == nil {
				i, err = merger.IntervalOf(parts)
			}
		}
		parts = nil
		if err != nil {
			return fmt.Errorf("run %s at %v: %w", q.Run, from, err)
		}
		return each(i)
	}
	err = m.Store.Series(ctx, q, func(p run.SeriesPart) error {
		if p.From != from {
			if err := flush(); err != nil {
				return err
			}
		}
		from, parts = p.From, append(parts, p.Data)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// declared returns a Merger with the metrics that a run had declared at its last commit;
// without any before the first. The error wraps run.ErrNotFound if there is no such run. It is
// only for IntervalOf, as it has no batches.
func (m *Master) declared(ctx context.Context, id string) (*merge.Merger, error) {
	state, _, err := m.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	merger, err := merge.Restore(time.Duration(state.IntervalNs), state.Merged, nil)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return merger, nil
}

// Profile takes a profile of the first executor of the active run on the agent with this id or
// name, or on the first agent if agent is empty. kind is cpu, trace, heap, mutex or block. It
// blocks until the profile is complete: for length, or until the load is over if that is
// earlier or length is 0; a heap profile is taken at once. The reader then fetches it from the
// agent, so ctx must not end before the last Read, which returns an error if the profile was
// damaged. The caller must Close the reader.
//
// The error is run.ErrConflict if the run is not active, run.ErrNotFound if the agent does not
// take part in it or is lost, ErrNotConnected if it is not connected, and a *refusedError for
// an unknown kind or an executor without load.
func (m *Master) Profile(ctx context.Context, id, agent, kind string, length time.Duration) (io.ReadCloser, error) {
	if _, err := m.Run(ctx, id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	a := m.active
	m.mu.Unlock()
	if a == nil || a.id != id {
		return nil, fmt.Errorf("%w: run %s makes no load", run.ErrConflict, id)
	}
	places := a.places()
	if len(places) == 0 {
		return nil, fmt.Errorf("%w: no agent takes part in run %s", run.ErrNotFound, id)
	}
	h := places[0]
	if agent != "" {
		var err error
		if h, err = run.FindAgent(places, agent, func(h *place) (string, string, int) { return h.ID, h.Name, 1 }); err != nil {
			return nil, fmt.Errorf("%w: of the agents of run %s: %w", run.ErrNotFound, id, err)
		}
	}
	number := 0
	a.mu.Lock()
	for _, e := range a.executors {
		if e.place == h {
			number = e.number
			break
		}
	}
	a.mu.Unlock()
	return m.profile(ctx, a, h, number, kind, length)
}

// profile is Profile for one executor of an agent of the run.
func (m *Master) profile(ctx context.Context, a *active, h *place, executor int, kind string, length time.Duration) (io.ReadCloser, error) {
	p := &agentpb.Profile{Kind: kind, DurationNs: int64(length), Executor: uint32(executor)}
	answer, err := m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h), What: &agentpb.Command_Profile{Profile: p}})
	if err != nil {
		return nil, err
	}
	if answer.Blob == nil {
		return nil, fmt.Errorf("agent %s: it took no profile", h.Name)
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(m.Bus.Fetch(ctx, h.ID, answer.Blob, out)) }()
	return in, nil
}
