package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Phases of a run on an agent.
const (
	phasePreparing = "preparing"
	phasePrepared  = "prepared"
	phaseArmed     = "armed"
	phaseRunning   = "running"
	phaseStopping  = "stopping"
	phaseOver      = agentpb.PhaseOver
)

// agentRun is a run on this agent, from its Prepare until nothing of it is left.
type agentRun struct {
	agent *Agent
	id    string
	quota *quota
	box   *sandbox.Box // set by the first Prepare, before any process

	ctx           context.Context // of the executors: its end kills them
	abort         func()
	fetching      context.Context // of a Prepare
	cancelPrepare func()
	empty         chan struct{} // closed once nothing holds the run
	over          chan struct{} // closed once nothing is left and Over is stored to be delivered

	mu        sync.Mutex
	epoch     uint64 // newest; guarded by mu, as all below
	phase     string
	executors []*executor
	queues    []*queue // of its epochs
	holders   int      // processes and commands in progress
	seen      []*agentpb.Process
	ooms      int    // out-of-memory kills of the box that were reported
	why       string // the cause for which the run was ended; empty if it was not
	lease     time.Duration
	deadline  time.Time // of the lease; zero if no load has begun
	graceful  time.Duration
	contact   time.Time // of the last command for the run
}

// newRun returns a run that is held once, for which the caller must call drop, and starts the
// goroutine that ends it when nothing holds it. a.ctx must be set.
func newRun(a *Agent, id string, epoch uint64, p *agentpb.Prepare) *agentRun {
	r := &agentRun{agent: a, id: id, epoch: epoch, quota: newQuota(p.LogBytes), phase: phasePreparing, holders: 1,
		lease: time.Duration(p.LeaseNs), contact: time.Now(), empty: make(chan struct{}), over: make(chan struct{})}
	if r.lease <= 0 {
		r.lease = a.o.Times.Lease
	}
	r.ctx, r.abort = context.WithCancel(context.WithoutCancel(a.ctx)) // the agent cancels the run before it ends
	r.fetching, r.cancelPrepare = context.WithCancel(r.ctx)
	go r.live()
	return r
}

// hold prevents the run from being over until drop is called. It returns false, and holds
// nothing, if no one else holds the run: it is over, or about to be.
func (r *agentRun) hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holders == 0 {
		return false
	}
	r.holders++
	return true
}

// drop undoes one hold. After the last one the run ends.
func (r *agentRun) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holders--; r.holders == 0 {
		close(r.empty)
	}
}

// live watches the run until nothing holds it, removes what is left of it, delivers Over in
// each of its queues, and closes over. What it cannot remove is logged and noted in the
// report. It is called once, by newRun.
func (r *agentRun) live() {
	r.watch()
	if r.box != nil {
		if err := errors.Join(r.box.Kill(), r.agent.copyLedgers(r.id, r.box), r.box.Close()); err != nil {
			r.agent.log.Error("remove what a run has left", "run", r.id, "error", err)
			r.note(fmt.Sprintf("agent %s could not end all of the run: %v", r.agent.o.ID, err))
		}
	}
	r.mu.Lock()
	queues := r.queues
	r.phase, r.seen = phaseOver, nil
	r.mu.Unlock()
	for _, q := range queues {
		r.deliver(q, &agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}}, true)
	}
	r.agent.dropRecord()
	r.abort()
	close(r.over)
}

// isOver reports whether nothing is left of the run and its Over is stored to be delivered.
func (r *agentRun) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// touch stores the time of a command for the run, and its epoch if that is the newest.
func (r *agentRun) touch(epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch, r.contact = max(r.epoch, epoch), time.Now()
}

// newest returns the newest epoch of a command for the run.
func (r *agentRun) newest() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

func (r *agentRun) setPhase(phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = phase
}

// allExecutors returns a copy of executors: all that were started.
func (r *agentRun) allExecutors() []*executor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.executors)
}

// deliver stores d, in which it sets the run, agent and epoch, to be sent. It logs the
// error that it returns, which is outbox.deliver's. When q's disk begins to fail, it also
// delivers a note.
func (r *agentRun) deliver(q *queue, d *agentpb.Delivery, essential bool) error {
	d.Run, d.Agent, d.Epoch = r.id, r.agent.o.ID, q.epoch
	err := r.agent.out.deliver(q, d, essential)
	if err != nil {
		r.agent.log.Error("deliver", "run", r.id, "what", fmt.Sprintf("%T", d.What), "error", err)
	}
	if trouble := q.trouble(); trouble != nil {
		r.noteTo(q, fmt.Sprintf("agent %s stores what it has to deliver in memory, because its disk fails: %v", r.agent.o.ID, trouble))
	}
	return err
}

// note delivers a line for the run's report, in the newest queue. Without a queue, before
// the run is prepared, the line is lost.
func (r *agentRun) note(text string) {
	r.mu.Lock()
	var q *queue
	if len(r.queues) > 0 {
		q = r.queues[len(r.queues)-1]
	}
	r.mu.Unlock()
	if q != nil {
		r.noteTo(q, text)
	}
}

func (r *agentRun) noteTo(q *queue, text string) {
	_ = r.deliver(q, &agentpb.Delivery{What: &agentpb.Delivery_Note{Note: text}}, true) // deliver has logged it
}

// armLimit is how far in the future a load may begin.
const armLimit = time.Minute

// arm sends each process its start, and returns once all are ready or have failed. It returns
// a *refusal, and arms none, if one does not exist, is armed already or is named twice, or if
// all have ended. Another error joins those of the processes; all stay armed then. epoch is
// not used.
func (r *agentRun) arm(epoch uint64, arm *agentpb.Arm) error {
	if !r.hold() {
		return refuse(codeDead, "all executors of run %s have ended", r.id)
	}
	defer r.drop()
	var executors []*executor
	for _, start := range arm.Starts {
		e := r.find(start.Executor)
		if e == nil || e.isArmed() || slices.Contains(executors, e) {
			return refuse(codeUnknown, "there is no executor %d of run %s that waits for its start", start.Executor, r.id)
		}
		executors = append(executors, e)
	}
	for i, e := range executors {
		e.setStart(arm.Starts[i])
	}
	err := together(executors, func(e *executor) error { return e.process.Arm(r.ctx, e.start) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contact = time.Now()
	for _, e := range executors {
		r.graceful = max(r.graceful, time.Duration(e.start.GracefulNs))
	}
	if err == nil && (r.phase == phasePrepared || r.phase == phasePreparing) {
		r.phase = phaseArmed
	}
	return err
}

// drains makes a load that is to stop wait at least so long for what is in flight.
func (r *agentRun) drains(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.graceful = max(r.graceful, limit)
}

// begin starts the load of all armed executors that have not begun, at b.AtUnixNs or at once
// if that has passed, and returns before it: that an executor fails then is only logged and
// delivered. It returns a *refusal, and starts nothing, if the time is more than armLimit
// ahead or no executor waits. It starts the lease: b.LeaseNs, or Prepare's if that is 0.
func (r *agentRun) begin(b *agentpb.Begin) error {
	at := time.Unix(0, b.AtUnixNs)
	if ahead := time.Until(at); ahead > armLimit {
		return refuse(codeUnknown, "the load would begin in %v: the clocks differ, or the command is wrong", ahead.Round(time.Millisecond))
	}
	var executors []*executor
	for _, e := range r.allExecutors() {
		if e.isArmed() && e.begin() {
			executors = append(executors, e)
		}
	}
	if len(executors) == 0 {
		return refuse(codeUnknown, "no executor of run %s waits to begin", r.id)
	}
	r.mu.Lock()
	if b.LeaseNs > 0 {
		r.lease = time.Duration(b.LeaseNs)
	}
	lease := r.lease
	r.deadline = time.Now().Add(max(time.Until(at), 0) + lease)
	r.mu.Unlock()
	for _, e := range executors {
		if e.isOver() || !r.hold() {
			continue
		}
		go func() {
			defer r.drop()
			if err := e.process.Begin(r.ctx, at, lease); err != nil { // if the process has ended, live delivers that
				r.agent.log.Warn("begin", "run", r.id, "executor", e.number, "error", err)
			}
		}()
	}
	return nil
}

// renew extends the lease of the load to lease from now; if that is 0 or less, by its usual
// length. A run that has not begun or is being ended has no new deadline.
func (r *agentRun) renew(lease time.Duration) {
	r.mu.Lock()
	if lease <= 0 {
		lease = r.lease
	}
	if !r.deadline.IsZero() && r.why == "" {
		r.deadline = time.Now().Add(lease)
	}
	r.mu.Unlock()
	for _, e := range r.allExecutors() {
		e.process.Renew(lease)
	}
}

// stop asks all executors to end their load, and returns at once. why is the cause, or
// empty; the first cause of the run stays.
func (r *agentRun) stop(why string) {
	r.because(why)
	for _, e := range r.allExecutors() {
		e.process.Stop()
	}
}

// cancel ends a Prepare and asks all executors to end now. It returns at once. why is as in
// stop.
func (r *agentRun) cancel(why string) {
	r.because(why)
	r.cancelPrepare()
	for _, e := range r.allExecutors() {
		e.process.Cancel()
	}
}

// kill kills all executors, and returns before they have ended. The cause is cancelled unless
// the run has one.
func (r *agentRun) kill() {
	r.because(CauseCancelled)
	r.cancelPrepare()
	r.abort()
}

// because sets the cause for which the run is ended, unless one is set or why is empty.
func (r *agentRun) because(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == "" {
		r.why = why
	}
}

// control changes the load of the executor whose number is c.Id, and returns once it has done
// so. It returns a *refusal (codeDead) if that executor is not armed or has ended, or the error
// of process.Process.Control, which has a limit. c is unchanged. The master has split a change
// of the whole run before.
func (r *agentRun) control(c *wire.Control) error {
	e := r.find(uint32(c.Id))
	if e == nil || e.isOver() || !e.isArmed() {
		return refuse(codeDead, "executor %d of run %s does not make load on agent %s", c.Id, r.id, r.agent.o.ID)
	}
	return e.process.Control(proto.CloneOf(c)) // Control sets its id
}

// find returns the newest executor with a number, even if it has ended, or nil.
func (r *agentRun) find(number uint32) *executor {
	executors := r.allExecutors()
	for _, e := range slices.Backward(executors) {
		if e.number == number {
			return e
		}
	}
	return nil
}

// together calls f for all executors concurrently, waits for all calls, and returns the
// joined errors, each with its executor's number; nil if all succeeded.
func together(executors []*executor, f func(*executor) error) error {
	errs := make([]error, len(executors))
	var wg sync.WaitGroup
	for i, e := range executors {
		wg.Go(func() {
			if err := f(e); err != nil {
				errs[i] = fmt.Errorf("executor %d: %w", e.number, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
