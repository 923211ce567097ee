package agent

import (
	"fmt"
	"time"
)

// What a run watches over.
const (
	watchEvery   = 100 * time.Millisecond
	defaultLease = 15 * time.Second
	idleAtWork   = 30              // times as long a run is not given up while a command, as one that sets up, is at work
	stallLimit   = 5 * time.Second // beyond an interval, without a batch
)

// watch ends a load whose lease runs out, tells of executors that stand still, and
// returns when nothing holds the run any more.
func (r *agentRun) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var cancelAt time.Time // of a load that was stopped since nobody renewed it
	for {
		select {
		case <-r.empty:
			return
		case <-tick.C:
		}
		now := time.Now()
		r.mu.Lock()
		deadline, contact, graceful, lease := r.deadline, r.contact, r.graceful, r.lease
		ended := r.why != ""
		limit := r.agent.o.Idle
		if r.holders > r.alive() {
			limit *= idleAtWork
		}
		idle := deadline.IsZero() && now.Sub(contact) > limit
		r.mu.Unlock()
		switch {
		case ended && !cancelAt.IsZero() && now.After(cancelAt):
			cancelAt = time.Time{}
			r.cancel(CauseLease)
		case ended:
		case !deadline.IsZero() && now.After(deadline):
			r.note(fmt.Sprintf("agent %s stopped its load, since its master did not renew the lease of %v", r.agent.o.ID, lease))
			cancelAt = now.Add(graceful)
			r.stop(CauseLease)
		case idle:
			r.note(fmt.Sprintf("agent %s gave the run up, since its master had nothing to say of it for %v", r.agent.o.ID, limit))
			r.cancel(CauseLease)
		}
		for _, e := range r.allExecutors() {
			e.stall(now)
		}
	}
}

// alive is how many processes have not ended. The caller holds mu.
func (r *agentRun) alive() (n int) {
	for _, e := range r.executors {
		if !e.isOver() {
			n++
		}
	}
	return n
}

// stall tells once of an executor that has sent no batch for too long, and once that it
// sends again.
func (e *executor) stall(now time.Time) {
	e.mu.Lock()
	silent := now.Sub(e.heard)
	stalled := e.begun && !e.heard.IsZero() && !e.last && !e.isOver() && silent > e.interval()+stallLimit
	before := e.stalled
	e.stalled = stalled
	e.mu.Unlock()
	switch {
	case stalled && !before:
		e.run.note(fmt.Sprintf("executor %d on agent %s has sent nothing for %v: it stands still, and what it measures then is not to be trusted",
			e.number, e.run.agent.o.ID, silent.Round(time.Second)))
	case before && !stalled && !e.isOver():
		e.run.note(fmt.Sprintf("executor %d on agent %s goes on after it stood still", e.number, e.run.agent.o.ID))
	}
}
