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
	phaseOver      = "over"
)

// agentRun is a run on this agent, from its Prepare until nothing of it is left.
type agentRun struct {
	agent *Agent
	id    string
	quota *quota
	box   *sandbox.Box // set by the first Prepare, before any process

	ctx      context.Context // of the executors: its end kills them
	abort    func()
	fetching context.Context // of a Prepare: its end gives up
	giveUp   func()
	empty    chan struct{} // closed when nothing holds the run any more
	over     chan struct{} // closed when nothing is left and that is delivered

	mu        sync.Mutex
	epoch     uint64 // newest; guarded by mu, as all below
	phase     string
	executors []*executor
	queues    []*queue // of its epochs
	holders   int      // processes and commands at work
	seen      []*agentpb.Process
	ooms      int    // of the box that have been told
	why       string // it was ended: a cause
	lease     time.Duration
	deadline  time.Time // of the lease; zero: no load has begun
	graceful  time.Duration
	contact   time.Time // when the master was last heard of it
}

// newRun makes a run that is held once.
func newRun(a *Agent, id string, epoch uint64, p *agentpb.Prepare) *agentRun {
	r := &agentRun{agent: a, id: id, epoch: epoch, quota: newQuota(p.LogBytes), phase: phasePreparing, holders: 1,
		lease: time.Duration(p.LeaseNs), contact: time.Now(), empty: make(chan struct{}), over: make(chan struct{})}
	if r.lease <= 0 {
		r.lease = a.o.Times.Lease
	}
	r.ctx, r.abort = context.WithCancel(context.WithoutCancel(a.ctx)) // the agent's end cancels first
	r.fetching, r.giveUp = context.WithCancel(r.ctx)
	go r.live()
	return r
}

// hold keeps the run from being over, until drop; not when it is.
func (r *agentRun) hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holders == 0 {
		return false
	}
	r.holders++
	return true
}

func (r *agentRun) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holders--; r.holders == 0 {
		close(r.empty)
	}
}

// live watches over the run and clears up after it.
func (r *agentRun) live() {
	r.watch()
	if r.box != nil {
		if err := errors.Join(r.box.Kill(), r.agent.keepLedgers(r.id, r.box), r.box.Close()); err != nil {
			r.agent.log.Error("end what a run has left", "run", r.id, "error", err)
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

// isOver tells whether nothing is left of it.
func (r *agentRun) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// touch notes that the master speaks of the run, and its newest epoch.
func (r *agentRun) touch(epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch, r.contact = max(r.epoch, epoch), time.Now()
}

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

// processes gives all that were started.
func (r *agentRun) allExecutors() []*executor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.executors)
}

// deliver keeps a delivery to be sent. An error is told in the log; who must know it has
// it, too.
func (r *agentRun) deliver(q *queue, d *agentpb.Delivery, lastWord bool) error {
	d.Run, d.Agent, d.Epoch = r.id, r.agent.o.ID, q.epoch
	err := r.agent.out.deliver(q, d, lastWord)
	if err != nil {
		r.agent.log.Error("deliver", "run", r.id, "what", fmt.Sprintf("%T", d.What), "error", err)
	}
	if trouble := q.trouble(); trouble != nil {
		r.noteTo(q, fmt.Sprintf("agent %s keeps what it is to deliver in memory, because its disk takes nothing: %v", r.agent.o.ID, trouble))
	}
	return err
}

// note delivers a line for the run's report.
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
	_ = r.deliver(q, &agentpb.Delivery{What: &agentpb.Delivery_Note{Note: text}}, true) // it is in the log
}

// armLimit is how far ahead a load may begin.
const armLimit = time.Minute

// arm gives each process its start, and returns when all are ready.
func (r *agentRun) arm(epoch uint64, arm *agentpb.Arm) error {
	if !r.hold() {
		return refuse(codeDead, "all executors of run %s have ended", r.id)
	}
	defer r.drop()
	var executors []*executor
	for _, start := range arm.Starts {
		e := r.find(start.Executor)
		if e == nil || e.isArmed() {
			return refuse(codeUnknown, "there is no executor %d of run %s that waits for its start", start.Executor, r.id)
		}
		e.setStart(start)
		executors = append(executors, e)
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

// begin has the load of all that are armed begin at one moment.
func (r *agentRun) begin(b *agentpb.Begin) error {
	at := time.Unix(0, b.AtUnixNs)
	if ahead := time.Until(at); ahead > armLimit {
		return refuse(codeUnknown, "the load is to begin in %v: clocks are apart, or the command is wrong", ahead.Round(time.Millisecond))
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
			if err := e.process.Begin(r.ctx, at, lease); err != nil { // its end is told as such
				r.agent.log.Warn("begin", "run", r.id, "executor", e.number, "error", err)
			}
		}()
	}
	return nil
}

// renew keeps the load going for another lease.
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

// stop asks for the end of the load.
func (r *agentRun) stop(why string) {
	r.because(why)
	for _, e := range r.allExecutors() {
		e.process.Stop()
	}
}

// cancel asks for the end at once.
func (r *agentRun) cancel(why string) {
	r.because(why)
	r.giveUp()
	for _, e := range r.allExecutors() {
		e.process.Cancel()
	}
}

// kill ends it without asking.
func (r *agentRun) kill() {
	r.because(CauseCancelled)
	r.giveUp()
	r.abort()
}

// because notes why the run is ended, the first time.
func (r *agentRun) because(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == "" {
		r.why = why
	}
}

// control changes the load of the executor that the wish's id names. What is wished of the
// whole run has been shared out by then.
func (r *agentRun) control(c *wire.Control) error {
	e := r.find(uint32(c.Id))
	if e == nil || e.isOver() || !e.isArmed() {
		return refuse(codeDead, "executor %d of run %s does not make load on agent %s", c.Id, r.id, r.agent.o.ID)
	}
	return e.process.Control(proto.CloneOf(c)) // which gets another id
}

// find gives the process with a number that was started last.
func (r *agentRun) find(number uint32) *executor {
	executors := r.allExecutors()
	for _, e := range slices.Backward(executors) {
		if e.number == number {
			return e
		}
	}
	return nil
}

// together does something to processes, side by side.
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
