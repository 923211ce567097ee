package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// look checks agents and executors, and applies the run's lost policy to those that are lost,
// a takeover included, which may last as long as starting executors. It reports whether the
// load is over: every executor is done or lost, and no load waits for a takeover. There is no
// takeover once the run is to end. An error ends the run; it may be that ctx has ended.
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
		case w.state == agentLost:
			why = w.why
		case w.state == agentRevoked || w.state == agentRefused:
			why, h.heard = strings.TrimSuffix(fmt.Sprintf("it is %s: %s", w.state, w.why), ": "), time.Now()
		case w.beat != nil && h.beat != nil && w.beat.Boot != h.beat.Boot:
			why = "it was restarted"
		case !h.forgot.IsZero() && time.Since(h.forgot) > a.m.Times.Suspect:
			why, h.heard = "it knows nothing of the run", h.forgot
		default:
			h.heard = w.heard
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
	a.mu.Lock()
	ending := a.ending()
	a.mu.Unlock()
	if ending {
		a.orphan = nil
	}
	if len(a.orphan) > 0 && time.Now().After(a.takeoverAt) {
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

// deaths handles executors that died and were not reported yet: it adds a note for each and,
// if the policy is to rebalance, appends those that generate no load any more to a.orphan. If
// the run ends because of them, it sets a.result.Failure and returns an error; another error
// means that ctx or the intake has ended.
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
		if err := a.without(ctx, []*part{e}, time.Now(), text); err != nil {
			return err
		}
		if alive == 0 && e.signalled() && a.order.Options.Lost != run.LostStop { // all that they counted has come
			a.change(func() { a.stop = cmp.Or(a.stop, "a signal to the executors") })
			continue
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

// lose marks an agent as lost, adds a note and applies the run's lost policy: continue, stop,
// or rebalance, which appends its executors to a.orphan. If the run ends because of it, by the
// policy or because no agent is left, it sets a.result.Failure and returns an error; another
// error means that ctx or the intake has ended.
func (a *active) lose(ctx context.Context, h *place, why string) error {
	var its []*part
	left := 0
	var heard, renewed time.Time
	a.change(func() {
		h.lost, h.lostAt = true, time.Now()
		heard, renewed = h.heard, h.renewed
		for _, t := range []time.Time{renewed, a.began} { // its answers, the last to the command to begin
			if t.After(heard) && t.Before(h.lostAt) {
				heard = t
			}
		}
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
	text := fmt.Sprintf("agent %s was lost %s: %s", h.Name, a.at(heard), why)
	if err := a.without(ctx, its, heard, text); err != nil {
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
		if end := renewed.Add(a.m.Times.Lease + fence); end.After(a.takeoverAt) {
			a.takeoverAt = end
		}
	}
	return nil
}

// without records that the run continues without some executors, of which nothing was heard after
// a time: it adds the note text, the verdict becomes SUSPECT or worse, and intervals no longer
// wait for them. It returns an error if ctx or the intake has ended; the note stays.
func (a *active) without(ctx context.Context, its []*part, heard time.Time, text string) error {
	a.note("%s", text)
	at := 0.0
	if !a.began.IsZero() {
		at = max(heard.Sub(a.began).Seconds(), 0)
	}
	return a.m.intake.with(ctx, func() {
		for _, e := range its {
			a.record.tally.Lose(e.number)
		}
		a.record.tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: text, Windows: 1, Worst: at,
			Advice: "what it did from then on may be missing, and the load was then not the one that was asked for: look at that host, and run it again"})
		a.record.tally.Intervals(false)
	})
}

// at returns a time since the load began, as text: "at 12.3 s", or "before the load began".
func (a *active) at(t time.Time) string {
	if a.began.IsZero() || t.Before(a.began) {
		return "before the load began"
	}
	return fmt.Sprintf("at %.1f s", t.Sub(a.began).Seconds())
}
