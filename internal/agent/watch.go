package agent

import (
	"fmt"
	"time"
)

// idleAtWork multiplies Times.Idle while a command, such as one that sets up, is at work.
const idleAtWork = 30

// watch ends a load whose lease expires and a run that is idle, and reports executors that
// are stuck. It checks each Times.Watch, and returns once nothing holds the run. A load
// whose lease expired is cancelled if it has not stopped after its graceful time.
func (r *agentRun) watch() {
	tick := time.NewTicker(r.agent.o.Times.Watch)
	defer tick.Stop()
	var stopped time.Time // when a load was, because its lease expired
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
		limit := r.agent.o.Times.Idle
		if r.holders > r.alive() {
			limit *= idleAtWork
		}
		idle := deadline.IsZero() && now.Sub(contact) > limit
		r.mu.Unlock()
		switch {
		case ended && !stopped.IsZero() && now.After(stopped.Add(graceful)):
			stopped = time.Time{}
			r.cancel(CauseLease)
		case ended:
		case !deadline.IsZero() && now.After(deadline):
			r.note(fmt.Sprintf("agent %s stopped its load, since its master did not renew the lease of %v", r.agent.o.ID, lease))
			stopped = now
			r.stop(CauseLease)
		case idle:
			r.note(fmt.Sprintf("agent %s cancelled the run, since its master sent nothing about it for %v", r.agent.o.ID, limit))
			r.cancel(CauseLease)
		}
		for _, e := range r.allExecutors() {
			e.stall(now)
		}
	}
}

// alive returns how many processes have not ended. The caller must hold mu.
func (r *agentRun) alive() (n int) {
	for _, e := range r.executors {
		if !e.isOver() {
			n++
		}
	}
	return n
}

// stall notes in the report that an executor has sent no batch for its interval and
// Times.Stall, once until it sends batches again, and that it does.
func (e *executor) stall(now time.Time) {
	e.mu.Lock()
	silent := now.Sub(e.heard)
	stalled := e.begun && !e.heard.IsZero() && !e.last && !e.isOver() && silent > e.interval()+e.run.agent.o.Times.Stall
	before := e.stalled
	e.stalled = stalled
	e.mu.Unlock()
	switch {
	case stalled && !before:
		e.run.note(fmt.Sprintf("executor %d on agent %s has sent nothing for %v: it is stuck, and what it measures meanwhile cannot be trusted",
			e.number, e.run.agent.o.ID, silent.Round(time.Second)))
	case before && !stalled && !e.isOver():
		e.run.note(fmt.Sprintf("executor %d on agent %s continues after it was stuck", e.number, e.run.agent.o.ID))
	}
}
