package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// restore returns the record of a run from the store: one of a previous process, or one that
// is over. It is empty if nothing of the run was taken; its result is nil if the store has
// no result. The error wraps run.ErrNotFound if there is no such run; the record must not be
// used after an error. The state of thresholds and of the generator's health is lost.
func restore(ctx context.Context, m *Master, id string) (*record, error) {
	o, err := m.Store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	state, executors, err := m.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRecord(m, id, intervalOf(&o.Options), nil)
	r.since = o.Created
	r.placements = state.Executors
	for _, t := range state.Positions {
		r.positions[stream{t.Agent, t.Epoch}] = t.Number
	}
	merger, err := merge.Restore(r.interval, state.Merged, executors)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	var hosts []monitor.Host
	for _, p := range r.placements {
		hosts = append(hosts, monitor.Host{ID: p.Agent, Name: p.Name})
	}
	r.tally = monitor.Restore(r.options(), merger, hosts)
	merger.OnPart(r.part)
	if r.result, err = m.Store.Result(ctx, id); err != nil && !errors.Is(err, run.ErrNotFound) {
		return nil, err
	}
	return r, r.reopen(ctx)
}

// stored returns the state of a run's record at its last commit, and the states of its
// executors for merge.Restore; both are empty if nothing of the run was taken. The error wraps
// run.ErrNotFound if there is no such run.
func (m *Master) stored(ctx context.Context, id string) (state *agentpb.RecordState, executors [][]byte, err error) {
	sources, whole, err := m.Store.Taken(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	state = new(agentpb.RecordState)
	if err := proto.Unmarshal(whole, state); err != nil {
		return nil, nil, fmt.Errorf("read the state of run %s: %w", id, err)
	}
	for _, p := range state.Executors { // without a batch so far
		executors = append(executors, marshal(&merge.SourceState{ToNs: p.BeginNs, Name: p.Name}))
	}
	for _, s := range sources {
		if s.Executor < len(executors) {
			executors[s.Executor] = s.State
		}
	}
	return state, executors, nil
}

// reopen adds the stored recordings of the intervals that were not complete, from the series
// of each agent. After an error r is incomplete and must not be used. Call it once, before r
// merges anything.
func (r *record) reopen(ctx context.Context) error {
	returned := r.tally.Merger.Returned()
	agents := map[string]bool{}
	for _, p := range r.placements {
		if agents[p.Agent] {
			continue
		}
		agents[p.Agent] = true
		q := run.SeriesQuery{Run: r.id, Agent: p.Agent, From: returned}
		err := r.m.Store.Series(ctx, q, func(p run.SeriesPart) error {
			if p.From < returned {
				return nil
			}
			return r.tally.Merger.Reopen(p.Data)
		})
		if err != nil {
			return fmt.Errorf("reopen the intervals of run %s: %w", r.id, err)
		}
	}
	return nil
}

// provisional is what the note of interrupt begins with, which a complete result does not have.
const provisional = "these figures are provisional"

// interrupt stores and returns the result of a run that a previous process left active: what
// it had merged. Batches that agents still have are merged later. o has its final state
// already. Call it before run: it uses n.runs.
func (n *intake) interrupt(ctx context.Context, o *run.Order) (*run.Result, error) {
	r, err := restore(ctx, n.m, o.ID)
	if err != nil {
		return nil, err
	}
	if r.result == nil {
		r.result = newResult(o)
	}
	r.result.State, r.result.Cause = o.State, o.Cause
	if len(r.placements) > 0 {
		r.tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: "the master ended while the load went on: the load ends with the agents' leases", Windows: 1,
			Advice: "run it again"})
		lease := time.Now().Add(n.m.Times.Lease) // no lease was renewed by the master that ended
		r.result.Notes = append(r.result.Notes, fmt.Sprintf("%s: agents may have load until %s, and what they deliver is added", provisional, lease.Format(time.TimeOnly)))
		r.tally.Finish(r.result)
		r.dirty = true // Finish has completed the last intervals
	}
	if err := n.m.Store.PutResult(ctx, r.result); err != nil {
		return nil, err
	}
	n.runs[o.ID] = r
	return r.result, nil
}
