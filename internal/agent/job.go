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

// job is a run on this agent, from its Prepare until nothing of it is left.
type job struct {
	agent *Agent
	run   string
	quota *quota
	box   *sandbox.Box // set by the first Prepare, before any process

	ctx      context.Context // of the executors: its end kills them
	abort    func()
	fetching context.Context // of a Prepare: its end gives up
	giveUp   func()
	empty    chan struct{} // closed when nothing holds the job any more
	over     chan struct{} // closed when nothing is left and that is delivered

	mu       sync.Mutex
	epoch    uint64 // newest; guarded by mu, as all below
	phase    string
	procs    []*proc
	streams  []*stream // of its epochs
	holders  int       // processes and commands at work
	seen     []*agentpb.Process
	ooms     int    // of the box that have been told
	why      string // it was ended: a cause
	lease    time.Duration
	deadline time.Time // of the lease; zero: no load has begun
	graceful time.Duration
	contact  time.Time // when the master was last heard of it
}

// newJob makes a job that is held once.
func newJob(a *Agent, run string, epoch uint64, p *agentpb.Prepare) *job {
	j := &job{agent: a, run: run, epoch: epoch, quota: newQuota(p.LogBytes), phase: phasePreparing, holders: 1,
		lease: time.Duration(p.LeaseNs), contact: time.Now(), empty: make(chan struct{}), over: make(chan struct{})}
	if j.lease <= 0 {
		j.lease = defaultLease
	}
	j.ctx, j.abort = context.WithCancel(context.WithoutCancel(a.ctx)) // the agent's end cancels first
	j.fetching, j.giveUp = context.WithCancel(j.ctx)
	go j.live()
	return j
}

// hold keeps the job from being over, until drop; not when it is.
func (j *job) hold() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.holders == 0 {
		return false
	}
	j.holders++
	return true
}

func (j *job) drop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.holders--; j.holders == 0 {
		close(j.empty)
	}
}

// live watches over the job and clears up after it.
func (j *job) live() {
	j.watch()
	if j.box != nil {
		if err := errors.Join(j.box.Kill(), j.agent.keepLedgers(j.run, j.box), j.box.Close()); err != nil {
			j.agent.log.Error("end what a run has left", "run", j.run, "error", err)
			j.note(fmt.Sprintf("agent %s could not end all of the run: %v", j.agent.o.ID, err))
		}
	}
	j.mu.Lock()
	streams := j.streams
	j.phase, j.seen = phaseOver, nil
	j.mu.Unlock()
	for _, s := range streams {
		j.deliver(s, &agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}}, true)
	}
	j.agent.dropRecord()
	j.abort()
	close(j.over)
}

// isOver tells whether nothing is left of it.
func (j *job) isOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// touch notes that the master speaks of the run, and its newest epoch.
func (j *job) touch(epoch uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.epoch, j.contact = max(j.epoch, epoch), time.Now()
}

func (j *job) newest() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.epoch
}

func (j *job) setPhase(phase string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.phase = phase
}

// processes gives all that were started.
func (j *job) processes() []*proc {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.procs)
}

// deliver keeps a delivery to be sent. An error is told in the log; who must know it has
// it, too.
func (j *job) deliver(s *stream, d *agentpb.Delivery, lastWord bool) error {
	d.Run, d.Agent, d.Epoch = j.run, j.agent.o.ID, s.epoch
	err := j.agent.out.deliver(s, d, lastWord)
	if err != nil {
		j.agent.log.Error("deliver", "run", j.run, "what", fmt.Sprintf("%T", d.What), "error", err)
	}
	if trouble := s.trouble(); trouble != nil {
		j.noteTo(s, fmt.Sprintf("agent %s keeps what it is to deliver in memory, because its disk takes nothing: %v", j.agent.o.ID, trouble))
	}
	return err
}

// note delivers a line for the run's report.
func (j *job) note(text string) {
	j.mu.Lock()
	var s *stream
	if len(j.streams) > 0 {
		s = j.streams[len(j.streams)-1]
	}
	j.mu.Unlock()
	if s != nil {
		j.noteTo(s, text)
	}
}

func (j *job) noteTo(s *stream, text string) {
	_ = j.deliver(s, &agentpb.Delivery{What: &agentpb.Delivery_Note{Note: text}}, true) // it is in the log
}

// armLimit is how far ahead a load may begin.
const armLimit = time.Minute

// arm gives each process its start, and returns when all are ready.
func (j *job) arm(epoch uint64, arm *agentpb.Arm) error {
	if !j.hold() {
		return refuse(codeDead, "all executors of run %s have ended", j.run)
	}
	defer j.drop()
	var procs []*proc
	for _, start := range arm.Starts {
		p := j.find(start.Executor)
		if p == nil || p.isArmed() {
			return refuse(codeUnknown, "there is no executor %d of run %s that waits for its start", start.Executor, j.run)
		}
		p.setStart(start)
		procs = append(procs, p)
	}
	err := together(procs, func(p *proc) error { return p.executor.Arm(j.ctx, p.start) })
	j.mu.Lock()
	defer j.mu.Unlock()
	j.contact = time.Now()
	for _, p := range procs {
		j.graceful = max(j.graceful, time.Duration(p.start.GracefulNs))
	}
	if err == nil && (j.phase == phasePrepared || j.phase == phasePreparing) {
		j.phase = phaseArmed
	}
	return err
}

// begin has the load of all that are armed begin at one moment.
func (j *job) begin(b *agentpb.Begin) error {
	at := time.Unix(0, b.AtUnixNs)
	if ahead := time.Until(at); ahead > armLimit {
		return refuse(codeUnknown, "the load is to begin in %v: clocks are apart, or the command is wrong", ahead.Round(time.Millisecond))
	}
	var procs []*proc
	for _, p := range j.processes() {
		if p.isArmed() && p.begin() {
			procs = append(procs, p)
		}
	}
	if len(procs) == 0 {
		return refuse(codeUnknown, "no executor of run %s waits to begin", j.run)
	}
	j.mu.Lock()
	if b.LeaseNs > 0 {
		j.lease = time.Duration(b.LeaseNs)
	}
	lease := j.lease
	j.deadline = time.Now().Add(max(time.Until(at), 0) + lease)
	j.mu.Unlock()
	for _, p := range procs {
		if p.isOver() || !j.hold() {
			continue
		}
		go func() {
			defer j.drop()
			if err := p.executor.Begin(j.ctx, at, lease); err != nil { // its end is told as such
				j.agent.log.Warn("begin", "run", j.run, "executor", p.number, "error", err)
			}
		}()
	}
	return nil
}

// renew keeps the load going for another lease.
func (j *job) renew(lease time.Duration) {
	j.mu.Lock()
	if lease <= 0 {
		lease = j.lease
	}
	if !j.deadline.IsZero() && j.why == "" {
		j.deadline = time.Now().Add(lease)
	}
	j.mu.Unlock()
	for _, p := range j.processes() {
		p.executor.Renew(lease)
	}
}

// stop asks for the end of the load.
func (j *job) stop(why string) {
	j.because(why)
	for _, p := range j.processes() {
		p.executor.Stop()
	}
}

// cancel asks for the end at once.
func (j *job) cancel(why string) {
	j.because(why)
	j.giveUp()
	for _, p := range j.processes() {
		p.executor.Cancel()
	}
}

// kill ends it without asking.
func (j *job) kill() {
	j.because(CauseCancelled)
	j.giveUp()
	j.abort()
}

// because notes why the run is ended, the first time.
func (j *job) because(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.why == "" {
		j.why = why
	}
}

// control changes the load of the executor that the wish's id names. What is wished of the
// whole run has been shared out by then.
func (j *job) control(c *wire.Control) error {
	p := j.find(uint32(c.Id))
	if p == nil || p.isOver() || !p.isArmed() {
		return refuse(codeDead, "executor %d of run %s does not make load on agent %s", c.Id, j.run, j.agent.o.ID)
	}
	return p.executor.Control(proto.CloneOf(c)) // which gets another id
}

// find gives the process with a number that was started last.
func (j *job) find(number uint32) *proc {
	procs := j.processes()
	for _, p := range slices.Backward(procs) {
		if p.number == number {
			return p
		}
	}
	return nil
}

// together does something to processes, side by side.
func together(procs []*proc, f func(*proc) error) error {
	errs := make([]error, len(procs))
	var wg sync.WaitGroup
	for i, p := range procs {
		wg.Go(func() {
			if err := f(p); err != nil {
				errs[i] = fmt.Errorf("executor %d: %w", p.number, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
