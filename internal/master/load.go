package master

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// load starts the load on all agents at the same moment and follows it to its end. It
// returns nil when the load is over, a cancel was requested or ctx ended, and otherwise the
// failure; a.result.Failure has its kind, if it is known. After a cancel or an error agents
// may still generate load: conclude ends it.
func (a *active) load(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	if err := a.to(ctx, run.Running, "", "master"); err != nil {
		return err
	}
	if err := a.m.Store.PutResult(ctx, a.result); err != nil { // recover of the next process needs it
		return err
	}
	tick := time.NewTicker(a.m.Times.Renew)
	defer tick.Stop()
	renewals := newTasks(ctx)
	defer renewals.wait()
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
			renewals.do(func(ctx context.Context) { a.sendAll(ctx, &agentpb.Command_Stop{Stop: &wire.Stop{}}) })
		}
		over, err := a.look(ctx)
		if over || err != nil {
			return err
		}
		if a.drains() && a.order.State == run.Running {
			if err := a.to(ctx, run.Stopping, "", "master"); err != nil {
				return err
			}
			if err := a.m.intake.with(ctx, func() { a.record.tally.LoadOver() }); err != nil {
				return err
			}
		}
		select {
		case <-a.news:
		case <-tick.C:
			places := a.places()
			for _, h := range places {
				if a.due(h, len(places)) {
					renewals.do(func(ctx context.Context) { a.renew(ctx, h) })
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// begin chooses the moment at which the load begins, and sends it to all agents, converted
// to the clock of each. It sets a.began and a.result.Start to that moment, which is in the
// future by Times.Lead and four times the largest error of a clock. It returns after all
// answers; if one agent fails, the others may have begun.
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
// a *RefusedError.
func (a *active) beginAt(ctx context.Context, h *place, at time.Time) error {
	begin := &agentpb.Begin{AtUnixNs: at.Add(h.offset).UnixNano(), LeaseNs: int64(a.m.Times.Lease)}
	_, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h), What: &agentpb.Command_Begin{Begin: begin}})
	if err != nil {
		return a.begun(err)
	}
	a.change(func() { h.renewed = time.Now() })
	return nil
}

// due reports whether an agent's lease is to be renewed now; never after its last delivery.
// With many agents not all are renewed at each tick, but often enough that three lost
// renewals do not end a lease.
func (a *active) due(h *place, agents int) bool {
	every := min(time.Duration(agents/renewAtOnce)*a.m.Times.Renew, a.m.Times.Lease/4)
	a.mu.Lock()
	defer a.mu.Unlock()
	return !h.over && time.Since(h.renewed) > every-a.m.Times.Renew/2
}

// renewAtOnce is about how many leases are renewed per tick.
const renewAtOnce = 250

// renew renews an agent's lease and waits for the answer, 2 s at most. A refusal is logged,
// and recorded in the place, until the next success, if the agent does not know the run. Other
// errors are ignored: a later tick renews again.
func (a *active) renew(ctx context.Context, h *place) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	renew := &agentpb.Renew{LeaseNs: int64(a.m.Times.Lease)}
	_, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h), What: &agentpb.Command_Renew{Renew: renew}})
	var refused *RefusedError
	switch {
	case err == nil: // without waking perform
		a.mu.Lock()
		h.renewed, h.forgot = time.Now(), time.Time{}
		a.mu.Unlock()
	case errors.As(err, &refused):
		a.m.Logger.Warn("a lease is refused", "run", a.id, "agent", h.ID, "error", err)
		if refused.Code == "unknown" { // as after a restart of its process
			a.change(func() {
				if h.forgot.IsZero() {
					h.forgot = time.Now()
				}
			})
		}
	}
}

// epochOf returns the newest epoch of an agent. It locks a.mu.
func (a *active) epochOf(h *place) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return h.epoch
}

// places returns the agents of the run that are not lost, in a new slice in the order of
// a.hosts. The places are shared: a.mu guards their fields.
func (a *active) places() (all []*place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.hosts {
		if !h.lost {
			all = append(all, h)
		}
	}
	return all
}

// look checks agents and executors, and applies the run's lost policy to those that are
// lost, a takeover included, which may last as long as starting executors. It reports
// whether the load is over: every executor is done or lost, and no load waits for a
// takeover. An error ends the run.
func (a *active) look(ctx context.Context) (over bool, err error) {
	works := a.works()
	for _, h := range a.places() {
		if !works[h] {
			continue
		}
		w, _ := a.m.fleet.get(h.ID)
		why := ""
		a.mu.Lock()
		switch {
		case w.state == agentLost || w.state == agentRevoked || w.state == agentRefused:
			why = fmt.Sprintf("it is %s: %s", w.state, w.why)
		case w.beat != nil && h.beat != nil && w.beat.Boot != h.beat.Boot:
			why = "it was begun anew"
		case !h.forgot.IsZero() && time.Since(h.forgot) > a.m.Times.Suspect:
			why = "it knows nothing of the run"
		}
		a.mu.Unlock()
		if why == "" {
			continue
		}
		if err := a.lose(ctx, h, why); err != nil {
			return false, err
		}
	}
	if err := a.deaths(ctx); err != nil {
		return false, err
	}
	if len(a.orphan) > 0 && time.Now().After(a.taking) {
		if err := a.takeOver(ctx); err != nil {
			return false, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.executors {
		if !e.done() && !e.place.lost || e.dead() && !e.reported { // it ended after the call of deaths
			return false, nil
		}
	}
	return len(a.orphan) == 0, nil
}

// works returns the agents with executors that are not done, lost agents included.
func (a *active) works() map[*place]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	works := map[*place]bool{}
	for _, e := range a.executors {
		if !e.done() {
			works[e.place] = true
		}
	}
	return works
}

// deaths handles executors that died since the last call: it adds a note for each and, if
// the policy is to rebalance, appends those that generate no load any more to a.orphan. It
// returns an error if the run ends because of them, and sets a.result.Failure then.
func (a *active) deaths(ctx context.Context) error {
	a.mu.Lock()
	var dead []*part
	why := map[*part]string{}
	lives := map[*part]bool{} // its batches are refused, but it still generates load
	anew := map[*part]bool{}  // its agent was restarted, and the run is unknown to it
	alive := 0
	for _, e := range a.executors {
		switch {
		case e.dead():
			if !e.reported {
				dead = append(dead, e)
				why[e], lives[e], anew[e] = "what it sent is refused", e.refused != nil, e.ended.GetHow() == agentpb.WithAgent
				if e.ended != nil && e.ended.Error != "" {
					why[e] = e.ended.Error
				}
			}
		case !e.place.lost:
			alive++
		}
	}
	a.mu.Unlock()
	for _, e := range dead {
		e.reported = true
		if anew[e] {
			a.change(func() { e.place.lost, e.place.lostAt = true, time.Now() })
		}
		text := fmt.Sprintf("executor %d on %s: %s", e.number, e.place.Name, why[e])
		if err := a.without(ctx, []*part{e}, text); err != nil {
			return err
		}
		if alive == 0 || a.order.Options.Lost == run.LostStop {
			a.result.Failure = run.FailedExecutor
			return errors.New(text)
		}
		if a.order.Options.Lost == run.LostRebalance && !lives[e] {
			a.orphan = append(a.orphan, e)
		}
	}
	return nil
}

// lose marks an agent as lost, adds a note and applies the run's lost policy: continue,
// stop, or rebalance, which appends its executors to a.orphan. It returns an error if the
// run ends because of it, by the policy or because no agent is left, and sets
// a.result.Failure then.
func (a *active) lose(ctx context.Context, h *place, why string) error {
	var its []*part
	left := 0
	a.change(func() {
		h.lost, h.lostAt = true, time.Now()
		for _, e := range a.executors {
			if e.place == h && !e.done() {
				its = append(its, e)
				e.reported = true // deaths need not report it
			}
		}
		for _, o := range a.hosts {
			if !o.lost {
				left++
			}
		}
	})
	text := fmt.Sprintf("agent %s was lost %s: %s", h.Name, a.since(), why)
	if err := a.without(ctx, its, text); err != nil {
		return err
	}
	if left == 0 {
		a.result.Failure = run.FailedLost
		return fmt.Errorf("all agents were lost; the last was %s: %s", h.Name, why)
	}
	switch a.order.Options.Lost {
	case run.LostStop:
		a.result.Failure = run.FailedLost
		return errors.New(text)
	case run.LostRebalance:
		a.orphan = append(a.orphan, its...)
		if end := h.renewed.Add(a.m.Times.Lease + fence); end.After(a.taking) {
			a.taking = end
		}
	}
	return nil
}

// since returns the time since the load began, as text: "at 12.3 s", or "before the load
// began".
func (a *active) since() string {
	if a.began.IsZero() || time.Now().Before(a.began) {
		return "before the load began"
	}
	return fmt.Sprintf("at %.1f s", time.Since(a.began).Seconds())
}

// without records that the run continues without some executors: it adds the note text, the
// verdict becomes SUSPECT or worse, and intervals no longer wait for them. It returns an
// error if ctx or the intake has ended; the note stays.
func (a *active) without(ctx context.Context, its []*part, text string) error {
	a.note("%s", text)
	at := 0.0
	if !a.began.IsZero() {
		at = time.Since(a.began).Seconds()
	}
	return a.m.intake.with(ctx, func() {
		for _, e := range its {
			a.record.tally.Lose(e.number)
		}
		a.record.tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: text, Windows: 1, Worst: at,
			Advice: "the load was not the one that was asked for from then on: look at that host, and run it again"})
		a.record.tally.Intervals(false)
	})
}

// drains reports whether the load is over on all executors that are not lost.
func (a *active) drains() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !slices.ContainsFunc(a.executors, func(e *part) bool { return !e.drains && !e.done() && !e.place.lost })
}

// sendAll sends a command to all agents of the run that are not lost, concurrently, and
// waits until each has answered or ctx ends. what is an *agentpb.Command_Stop, _Cancel or
// _Release. Refusals are only logged.
func (a *active) sendAll(ctx context.Context, what any) {
	all := newTasks(ctx)
	for _, h := range a.places() {
		all.do(func(ctx context.Context) {
			c := &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h)}
			switch w := what.(type) {
			case *agentpb.Command_Stop:
				c.What = w
			case *agentpb.Command_Cancel:
				c.What = w
			case *agentpb.Command_Release:
				c.What = w
			}
			a.insist(ctx, c)
		})
	}
	all.wait()
}

// insist sends a command again and again, waiting 3 s for each answer, until it is answered,
// also by a refusal, or ctx ends. A refusal is logged unless its code is unknown. After a
// release the agent counts as free.
func (a *active) insist(ctx context.Context, c *agentpb.Command) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := a.m.command(once, c)
		cancel()
		var refused *RefusedError
		if err == nil || errors.As(err, &refused) {
			if c.GetRelease() != nil && err == nil {
				a.m.fleet.free(c.Agent, c.Run)
			}
			if err != nil && !strings.Contains(refused.Code, "unknown") {
				a.m.Logger.Warn("a command is refused", "run", a.id, "agent", c.Agent, "error", err)
			}
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
