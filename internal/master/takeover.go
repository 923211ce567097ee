package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// fence is the time between the end of a lost agent's lease and the takeover of its load:
// after it the agent certainly generates no load.
const fence = 5 * time.Second

// ahead is the time that executors which take over have to start.
const ahead = 3 * time.Second

// takeOver moves the load of a.orphan, which becomes empty, to the remaining agents, under a
// new epoch, and returns once their executors are to begin. A lost agent that reconnects is
// refused, as its epoch is an old one. The load must have begun, and the caller not hold
// a.controls. If it can't be taken over, or the run is to end meanwhile, the run continues
// without it, with a note; an error means that ctx or the intake has ended.
func (a *active) takeOver(ctx context.Context) error {
	orphans := a.orphan
	a.orphan = nil
	var survivors []split.Place
	for _, h := range a.places() {
		w, _ := a.m.fleet.get(h.ID)
		if (w.state == agentReady || w.state == agentBusy) && w.beat.GetBoot() == h.beat.GetBoot() { // not restarted
			survivors = append(survivors, split.Place{Agent: h.ID, Weight: a.weight(h), Processes: 1})
		}
	}
	done, err := a.done(ctx, orphans)
	if err != nil {
		return err
	}
	a.controls.Lock()
	defer a.controls.Unlock()
	interval := a.record.interval
	elapsed := (time.Since(a.began) + ahead + interval - 1).Truncate(interval) // their series continues that of the others
	for _, e := range orphans {
		a.plan.Gone(uint32(e.number))
	}
	further, err := a.plan.TakeOver(survivors, elapsed, done)
	if err != nil {
		a.note("what lost agents did is not done by others: %v", err)
		return nil
	}
	if len(further) == 0 {
		return nil
	}
	a.epoch++
	if err := a.bring(ctx, further, elapsed); err != nil {
		a.note("the work of lost agents could not be assigned to other agents: %v", err)
		return nil
	}
	again, err := a.plan.Again()
	if err == nil {
		within, done := a.untilEnd(ctx)
		err = a.send(within, again)
		done()
	}
	if err != nil {
		a.note("who took over does not know how the load was changed before: %v", err)
	}
	a.note("what was lost is done by %s from %.1f s on", agents(len(further)), elapsed.Seconds())
	return nil
}

// done returns what executors had done by their last batches, by executor number, each in
// the order of the classes. It returns an error if ctx or the intake ends first.
func (a *active) done(ctx context.Context, orphans []*part) (map[uint32][]split.Done, error) {
	all := map[uint32][]split.Done{}
	err := a.m.intake.with(ctx, func() {
		for _, e := range orphans {
			for _, c := range a.result.Config.Classes {
				of := func(r run.Role) int64 {
					return a.record.tally.Merger.CountOf(e.number, run.Counts{Role: r, Of: c.Name})
				}
				all[uint32(e.number)] = append(all[uint32(e.number)], split.Done{Finished: of(run.ClassFinished), Iterations: of(run.ClassDone)})
			}
		}
	})
	return all, err
}

// bring starts further executors, which begin at elapsed in the run's time, and returns once
// they are to begin. It sets the numbers in their starts. Their agents must be among a.hosts;
// the caller has made a.epoch a new one and holds a.controls. If it returns an error, which is
// errGivenUp if the run is to end, the executors that could not begin are marked as ended,
// unless ctx or the intake has ended; others have begun.
func (a *active) bring(ctx context.Context, further []split.Executor, elapsed time.Duration) error {
	starts := map[*place][]*wire.Start{}
	var hosts []*place
	for _, e := range further {
		i := slices.IndexFunc(a.hosts, func(h *place) bool { return h.ID == e.Agent })
		h := a.hosts[i]
		if starts[h] == nil {
			hosts = append(hosts, h)
		}
		starts[h] = append(starts[h], e.Start)
	}
	first := map[*place]int{}
	a.change(func() {
		for _, h := range hosts {
			h.epoch, first[h] = a.epoch, len(a.executors)
			for _, s := range starts[h] {
				s.Executor = uint32(len(a.executors))
				a.executors = append(a.executors, &part{place: h, number: len(a.executors), epoch: a.epoch})
			}
		}
	})
	err := a.m.intake.with(ctx, func() {
		for _, h := range hosts {
			for range starts[h] {
				a.record.tally.Executor(monitor.Host{ID: h.ID, Name: h.Name}, elapsed)
				a.record.placements = append(a.record.placements, &agentpb.Placement{Agent: h.ID, Epoch: a.epoch, Name: h.Name, BeginNs: int64(elapsed)})
			}
		}
		a.stored = a.record.whenStored()
	})
	if err != nil {
		return err
	}
	a.say(event.Note, "starting executors for what was lost on %s", agents(len(hosts)))
	failed := make([]error, len(a.executors))
	within, done := a.untilEnd(ctx)
	defer done()
	err = a.each(hosts, func(h *place) error {
		err := a.start(within, h, len(starts[h]), first[h])
		if err == nil {
			a.change(func() { h.started, h.over = a.epoch, false })
			err = a.setUp(within, h, starts[h])
		}
		if err == nil {
			err = a.awaitStored(within)
		}
		if err == nil {
			err = a.beginAt(within, h, a.began.Add(elapsed))
		}
		for i := range starts[h] {
			failed[first[h]+i] = err
		}
		return err
	})
	if err == nil {
		return nil
	}
	if lost := a.drop(ctx, failed); lost != nil {
		return lost
	}
	if cause := context.Cause(within); errors.Is(cause, errGivenUp) {
		return cause
	}
	return err
}

// drop marks the executors that did not begin as ended, so that the run does not wait for
// them, and as lost in the result. failed has the error of each by its number, or nil. It
// returns an error if ctx or the intake has ended.
func (a *active) drop(ctx context.Context, failed []error) error {
	a.change(func() {
		for number, err := range failed {
			if err != nil {
				e := a.executors[number]
				e.ended, e.reported = &agentpb.Ended{Error: err.Error()}, true
				e.place.dropped = true
			}
		}
	})
	return a.m.intake.with(ctx, func() {
		for number, err := range failed {
			if err != nil {
				a.record.tally.Lose(number)
			}
		}
	})
}

// send sends messages to their executors concurrently and waits for all answers. It skips
// executors that are done or lost, and sets the id of each Control. It returns the first
// error in the order of all; the other messages are sent anyway.
func (a *active) send(ctx context.Context, all []split.Message) error {
	errs := make([]error, len(all))
	sent := newTasks(ctx)
	for i, m := range all {
		a.mu.Lock()
		e := a.executors[m.Executor.Start.Executor]
		skip := e.place.lost || e.done()
		a.mu.Unlock()
		if skip {
			continue
		}
		sent.do(func(ctx context.Context) {
			m.Control.Id = uint64(e.number)
			_, err := a.m.command(ctx, &agentpb.Command{Agent: e.place.ID, Run: a.id, Epoch: a.epochOf(e.place), What: &agentpb.Command_Control{Control: m.Control}})
			if err != nil {
				errs[i] = fmt.Errorf("executor %d: %w", e.number, err)
			}
		})
	}
	sent.wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
