package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// conclude brings the run to its final state: it waits until the agents have delivered what
// they still have, stores the result, emits the run's end, and ends what they still run.
// failed is why the run failed, if it did. It waits for Times.Cancel at most if the run failed
// or is cancelled, otherwise for Times.Flush, and then up to 5 s for the agents' release. An
// error means that ctx has ended or that the master can't continue.
func (a *active) conclude(ctx context.Context, failed error) error {
	a.mu.Lock()
	cancelled := a.cancelled
	a.mu.Unlock()
	if cancelled != "" || failed != nil {
		a.endNow(ctx)
	} else {
		unused := newTasks(ctx)
		unused.do(a.endUnused)
		a.await(ctx, a.m.Times.Flush)
		unused.wait()
		failed = a.deaths(ctx) // how an executor ended comes after its last batch
	}
	a.mu.Lock()
	stop := a.stop
	a.mu.Unlock()
	if stop == byThreshold { // finish asks the tally which
		stop = ""
	}
	var refused *refusedError
	if errors.As(failed, &refused) && refused.Code == agentpb.CodeScenario {
		a.result.Failure = run.FailedScenario
	}
	early := errors.Is(failed, errGivenUp) // before the load
	ending := run.Ending{Cancelled: cancelled != "" || early, By: cmp.Or(cancelled, stop), Err: failed}
	by := byMaster
	if ending.Cancelled {
		by, a.result.Failure = ending.By, ""
	}
	if err := a.finish(ctx, ending); err != nil {
		return err
	}
	if err := a.to(ctx, a.result.State, a.result.Cause, by); err != nil {
		return err
	}
	a.m.events.emit(a.id, a.m.endOf(a.result))
	release := newTasks(ctx)
	release.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		a.sendAll(ctx, a.places(), &agentpb.Command_Release{Release: &agentpb.Release{}})
	})
	release.wait()
	return a.m.intake.with(ctx, func() {
		if a.record != nil {
			a.record.active, a.record.last = nil, time.Now()
		}
	})
}

// endNow cancels the load and waits until all agents have reported its end, for Times.Cancel
// at most. It does not report whether they have: see unconfirmed.
func (a *active) endNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.m.Times.Cancel)
	defer cancel()
	cancels := newTasks(ctx)
	cancels.do(func(ctx context.Context) { a.sendAll(ctx, a.places(), &agentpb.Command_Cancel{Cancel: &wire.Cancel{}}) })
	a.await(ctx, a.m.Times.Cancel)
	cancels.wait()
}

// endUnused cancels what agents have left of a takeover that failed: executors that never begin,
// and would delay the agents' last deliveries. It waits for Times.Cancel at most.
func (a *active) endUnused(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.m.Times.Cancel)
	defer cancel()
	at := slices.DeleteFunc(a.places(), func(h *place) bool { return !h.dropped })
	a.sendAll(ctx, at, &agentpb.Command_Cancel{Cancel: &wire.Cancel{}})
}

// await waits until the last delivery of every agent has come, at most for limit or until
// ctx ends. An agent that is lost, and not found again, is not waited for beyond its lease.
// It returns at once if no agent has been sent its share of the load.
func (a *active) await(ctx context.Context, limit time.Duration) {
	if a.record == nil { // no agent has started anything
		return
	}
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		waiting := false
		a.mu.Lock()
		for _, h := range a.hosts {
			w, _ := a.m.fleet.get(h.ID)
			gone := h.lost && (w.state == agentLost || w.state == agentRevoked || w.state == agentRefused || w.beat == nil || !h.forgot.IsZero() || h.beat != nil && w.beat.Boot != h.beat.Boot) &&
				time.Since(h.lostAt) > a.m.Times.Lease-a.m.Times.Lost
			if !h.over && !gone {
				waiting = true
			}
		}
		a.mu.Unlock()
		if !waiting {
			return
		}
		select {
		case <-a.news:
		case <-tick.C:
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unconfirmed returns a text to append to the cause that names the agents which have not
// reported the end of their load, each after "; ". It is empty if all have, or no agent has a
// share of the load.
func (a *active) unconfirmed() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, h := range a.hosts {
		if !h.over && a.record != nil {
			names = append(names, fmt.Sprintf("agent %s had not confirmed its end (lease until %s)", h.Name, h.renewed.Add(a.m.Times.Lease).Format(time.TimeOnly)))
		}
	}
	if names == nil {
		return ""
	}
	return "; " + strings.Join(names, "; ") + ": what is delivered later is added"
}

// finish makes a.result final, and waits until it and the run's series are stored. It sets
// e.Threshold from the tally, and does not change the run's state in the store. After an error
// the result may be stored. Call it once.
func (a *active) finish(ctx context.Context, e run.Ending) error {
	r := a.result
	if a.record == nil {
		r.State, r.Cause = e.Conclude()
		return a.storeResult(ctx)
	}
	err := a.m.intake.with(ctx, func() {
		a.hostsOf(r)
		e.Threshold = a.record.tally.Aborted()
		r.State, r.Cause = e.Conclude()
		r.Cause = strings.TrimPrefix(r.Cause+a.unconfirmed(), "; ")
		a.record.tally.Finish(r)
		later := *r
		a.record.result, a.record.dirty = &later, true
	})
	if err != nil {
		return err
	}
	return a.m.intake.flush(ctx) // with the result, which later deliveries change
}

// hostsOf appends the hosts to a result, with when the load began on each. With one host,
// r.Environment becomes that host's, but for Go. Call it once, from the goroutine that merges.
func (a *active) hostsOf(r *run.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.hosts {
		host := run.Host{Agent: h.ID, Name: h.Name, Clock: h.offset.Seconds(), ClockError: h.within.Seconds()}
		if hello := h.beat.Hello; hello != nil {
			host.Environment = run.Environment{Host: hello.Name, OS: hello.Os, Arch: hello.Arch, Kernel: hello.Kernel, CPU: hello.Cpu, CPUs: int(hello.Cpus), Memory: hello.Memory, OpenFiles: hello.OpenFiles}
		}
		for _, e := range a.executors {
			if e.place == h {
				host.Executors++
				if !e.zero.IsZero() {
					host.Began = e.zero
				}
			}
		}
		if h.lost {
			host.Lost = a.record.reported(h.ID).Seconds()
		}
		r.Hosts = append(r.Hosts, host)
	}
	if len(r.Hosts) == 1 {
		goVersion := r.Environment.Go
		r.Environment = r.Hosts[0].Environment
		r.Environment.Go = goVersion
	}
}

// endOf returns the event of a run's end, without a time, from its final result. Error is set
// if the run failed.
func (m *Master) endOf(r *run.Result) event.Event {
	exit := r.ExitStatus(run.Exit{})
	e := event.Event{Kind: event.Ended, Run: r.ID, State: r.State, Cause: r.Cause, Verdict: r.Verdict, Exit: &exit}
	if r.State == run.Failed {
		e.Error = r.Cause
	}
	return e
}
