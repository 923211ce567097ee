package agent

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// beats puts the agent's entry in the registry, at once and then each Times.Beat, until ctx
// ends. A beat that fails is logged and not repeated. It takes no lock that a run, the disk or
// a look at the host may hold for long.
func (a *Agent) beats(ctx context.Context) {
	tick := time.NewTicker(a.o.Times.Beat)
	defer tick.Stop()
	for count := uint64(1); ; count++ {
		limited, cancel := context.WithTimeout(ctx, max(a.o.Times.Beat, time.Second))
		if err := a.o.Bus.Beat(limited, a.beat(count)); err != nil && ctx.Err() == nil {
			a.log.Debug("beat", "error", err)
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// beat returns the agent's entry for beat number count. Call introduce before. It shares the
// host and the processes with the agent: the caller must not change them.
func (a *Agent) beat(count uint64) *agentpb.Beat {
	unsaved, age := a.out.unsaved()
	a.mu.Lock()
	r, host := a.run, a.host
	a.mu.Unlock()
	b := &agentpb.Beat{Agent: a.o.ID, Boot: a.boot, Count: count, Hello: a.hello, UnixNs: time.Now().UnixNano(),
		Unsaved: uint64(unsaved), OldestNs: int64(age), Host: host}
	if r != nil {
		r.mu.Lock()
		b.Run, b.Epoch, b.Phase, b.Processes = r.id, r.epoch, r.phase, r.seen
		r.mu.Unlock()
	}
	return b
}

// looks measures the host and the executors each Times.Beat, for beat, until ctx ends.
func (a *Agent) looks(ctx context.Context) {
	tick := time.NewTicker(a.o.Times.Beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		host := a.watch.Host()
		a.mu.Lock()
		a.host = host
		r := a.run
		a.mu.Unlock()
		if r != nil {
			r.look(a.watch.Process)
		}
	}
}

// look measures the executors that have a process and stores the result for beat. It
// measures with at, which returns nil for a process that has ended.
func (r *agentRun) look(at func(pid int) *agentpb.Process) {
	var seen []*agentpb.Process
	for _, e := range r.allExecutors() {
		pid := e.process.Pid()
		if pid == 0 || e.isOver() {
			continue
		}
		if s := at(pid); s != nil {
			s.Executor = e.number
			seen = append(seen, s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = seen
}
