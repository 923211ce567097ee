package master

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// load starts the load on all agents at the same moment and follows it to its end. Call
// prepare before. It returns nil when the load is over or a cancel was requested; at the end
// of ctx nil, or an error if that interrupted a step, as begin; and otherwise the failure:
// a.result.Failure has its kind, if it is known. After a cancel or an error agents may still
// generate load: conclude ends it.
func (a *active) load(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	during, over := context.WithCancel(ctx)
	commands := newTasks(during)
	defer commands.wait()
	defer over()
	commands.do(a.renewLeases)
	if err := a.to(ctx, run.Running, "", byMaster); err != nil {
		return err
	}
	if err := a.storeResult(ctx); err != nil { // recover of the next process needs it
		return err
	}
	tick := time.NewTicker(a.m.Times.Renew)
	defer tick.Stop()
	drained := false // the agents have received a stop
	for {
		a.mu.Lock()
		stop, cancelled, harm := a.stop, a.cancelled, a.harm
		a.mu.Unlock()
		switch {
		case cancelled != "":
			return nil
		case harm != "":
			a.result.Failure = run.FailedGuard
			return errors.New(harm)
		case stop != "" && !drained:
			drained = true
			commands.do(func(ctx context.Context) { a.sendAll(ctx, a.places(), &agentpb.Command_Stop{Stop: &wire.Stop{}}) })
		}
		over, err := a.look(ctx)
		if over || err != nil {
			return err
		}
		if a.drains() && a.order.State == run.Running {
			if err := a.to(ctx, run.Stopping, "", byMaster); err != nil {
				return err
			}
			a.m.events.emit(a.id, event.OfDrain(a.patience()))
			if err := a.m.intake.with(ctx, func() { a.record.tally.LoadOver() }); err != nil {
				return err
			}
		}
		select {
		case <-a.news:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// begin chooses the moment at which the load begins, and sends it to all agents, converted to
// the clock of each. It sets a.began and a.result.Start to that moment, which is in the future
// by Times.Lead and four times the largest error of a clock. It returns after all answers,
// with an error also if ctx ends first; others may have begun then. Call arm before.
func (a *active) begin(ctx context.Context) error {
	if err := a.each(a.hosts, func(h *place) error { a.m.fleet.probe(ctx, h.ID, 5); return nil }); err != nil {
		return err
	}
	farthest := time.Duration(0)
	for _, h := range a.hosts {
		w, _ := a.m.fleet.get(h.ID)
		h.offset, h.within = w.offset, w.within
		farthest = max(farthest, h.within)
	}
	if err := a.awaitStored(ctx); err != nil {
		return err
	}
	at := time.Now().Add(a.m.Times.Lead + 4*farthest)
	a.change(func() { a.began = at })
	a.result.Start = at
	return a.each(a.hosts, func(h *place) error { return a.beginAt(ctx, h, at) })
}

// awaitStored waits until the executors are in the store: otherwise their batches would be
// refused after a restart of the master. If ctx ends first, it returns the context's cause.
// Call announce before.
func (a *active) awaitStored(ctx context.Context) error {
	select {
	case <-a.stored:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beginAt commands an agent to begin the load at a moment of the master's clock, waits for
// the answer, and records that the lease was renewed. If the agent refuses, the error wraps
// a *refusedError.
func (a *active) beginAt(ctx context.Context, h *place, at time.Time) error {
	begin := &agentpb.Begin{AtUnixNs: at.Add(h.offset).UnixNano(), LeaseNs: int64(a.m.Times.Lease)}
	_, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h), What: &agentpb.Command_Begin{Begin: begin}})
	if err != nil {
		return err
	}
	a.change(func() { h.renewed = time.Now() })
	return nil
}

// patience returns how long the drain lasts at most: the longest of all executors.
func (a *active) patience() (limit time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.executors {
		limit = max(limit, e.drains)
	}
	return limit
}

// drains reports whether the load is over on all executors that are not lost.
func (a *active) drains() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !slices.ContainsFunc(a.executors, func(e *part) bool { return e.drains == 0 && !e.done() && !e.place.lost })
}
