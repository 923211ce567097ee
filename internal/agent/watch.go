package agent

import (
	"fmt"
	"time"
)

// What a job watches over.
const (
	watchEvery   = 100 * time.Millisecond
	defaultLease = 15 * time.Second
	idleAtWork   = 30              // times as long a run is not given up while a command, as one that sets up, is at work
	stallLimit   = 5 * time.Second // beyond an interval, without a batch
)

// watch ends a load whose lease runs out, tells of executors that stand still, and
// returns when nothing holds the job any more.
func (j *job) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var cancelAt time.Time // of a load that was stopped since nobody renewed it
	for {
		select {
		case <-j.empty:
			return
		case <-tick.C:
		}
		now := time.Now()
		j.mu.Lock()
		deadline, contact, graceful, lease := j.deadline, j.contact, j.graceful, j.lease
		ended := j.why != ""
		limit := j.agent.o.Idle
		if j.holders > j.alive() {
			limit *= idleAtWork
		}
		idle := deadline.IsZero() && now.Sub(contact) > limit
		j.mu.Unlock()
		switch {
		case ended && !cancelAt.IsZero() && now.After(cancelAt):
			cancelAt = time.Time{}
			j.cancel(CauseLease)
		case ended:
		case !deadline.IsZero() && now.After(deadline):
			j.note(fmt.Sprintf("agent %s stopped its load, since its master did not renew the lease of %v", j.agent.o.ID, lease))
			cancelAt = now.Add(graceful)
			j.stop(CauseLease)
		case idle:
			j.note(fmt.Sprintf("agent %s gave the run up, since its master had nothing to say of it for %v", j.agent.o.ID, limit))
			j.cancel(CauseLease)
		}
		for _, p := range j.processes() {
			p.stall(now)
		}
	}
}

// alive is how many processes have not ended. The caller holds mu.
func (j *job) alive() (n int) {
	for _, p := range j.procs {
		if !p.isOver() {
			n++
		}
	}
	return n
}

// stall tells once of an executor that has sent no batch for too long, and once that it
// sends again.
func (p *proc) stall(now time.Time) {
	p.mu.Lock()
	silent := now.Sub(p.heard)
	stalled := p.begun && !p.heard.IsZero() && !p.last && !p.isOver() && silent > p.interval()+stallLimit
	before := p.stalled
	p.stalled = stalled
	p.mu.Unlock()
	switch {
	case stalled && !before:
		p.job.note(fmt.Sprintf("executor %d on agent %s has sent nothing for %v: it stands still, and what it measures then is not to be trusted",
			p.number, p.job.agent.o.ID, silent.Round(time.Second)))
	case before && !stalled && !p.isOver():
		p.job.note(fmt.Sprintf("executor %d on agent %s goes on after it stood still", p.number, p.job.agent.o.ID))
	}
}
