package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/agent/budget"
	"github.com/gobench-io/gobench/internal/agent/spool"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// proc is an executor process of a job.
type proc struct {
	job      *job
	number   uint32 // in the run
	stream   *stream
	executor *Executor
	thinner  *budget.Thinner // of its session, and then of live
	output   *output
	over     chan struct{} // closed when it has ended and that is delivered

	mu      sync.Mutex
	start   *wire.Start // guarded by mu, as all below; nil: it is not armed
	begun   bool
	heard   time.Time // of its last batch, or when the load began
	last    bool      // it has sent its last batch
	stalled bool
}

func (p *proc) isOver() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

func (p *proc) isArmed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start != nil
}

func (p *proc) setStart(s *wire.Start) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start = s
}

// begin tells whether the process has yet to begin, once.
func (p *proc) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.begun
	p.begun = true
	return first
}

// interval is the time between its batches. The caller holds mu.
func (p *proc) interval() time.Duration { return time.Duration(p.start.GetIntervalNs()) }

func (p *proc) hear(last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.last = time.Now(), last
}

// live runs the process and tells how it ended.
func (p *proc) live(ctx context.Context) {
	defer p.job.drop()
	err := p.executor.Run(ctx)
	p.output.close()
	p.exact()
	p.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Ended{Ended: p.ended(err)}}, true)
	p.job.agent.log.Info("an executor has ended", "run", p.job.run, "executor", p.number, "error", err)
	close(p.over)
	_ = p.job.agent.saveRecord(p.job) // it is in the log
}

func (p *proc) deliver(d *agentpb.Delivery, lastWord bool) error {
	d.Executor = p.number
	return p.job.deliver(p.stream, d, lastWord)
}

// started, stopping, sent, saw and printed are what the executor does.

func (p *proc) started() {
	p.hear(false)
	p.job.setPhase(phaseRunning)
}

func (p *proc) stopping() {
	p.job.setPhase(phaseStopping)
	_ = p.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: true}}, true) // it is in the log
}

func (p *proc) sent(b *wire.Batch) error {
	p.hear(b.Final != nil)
	if b.Final != nil {
		p.exact()
	}
	sent, err := p.thinner.Batch(b)
	if err != nil {
		return err
	}
	if err := p.deliver(sent.Delivery(), false); err != nil {
		p.job.note(fmt.Sprintf("executor %d on agent %s was ended: from its batch %d on, what it counted can't be kept: %v",
			p.number, p.job.agent.o.ID, b.Seq, err))
		return err
	}
	return nil
}

// exactSize is how much of the exact histograms goes into one delivery, in bytes.
const exactSize = 256 << 10

// exact delivers the exact histograms of what was sent with less than all its counts.
func (p *proc) exact() {
	for _, x := range p.thinner.Exact(exactSize) {
		_ = p.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Exact{Exact: x}}, true) // it is in the log
	}
}

func (p *proc) saw(s *wire.Seen) {
	_ = p.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Seen{Seen: s}}, false) // it is in the log
}

func (p *proc) printed(l *agentpb.Log) {
	_ = p.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Log{Log: l}}, false) // it is in the log
}

// ended says how the process ended, when Run gave err.
func (p *proc) ended(err error) *agentpb.Ended {
	e := &agentpb.Ended{Cause: CauseExit}
	j := p.job
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.why != "" {
		e.Cause = j.why
	}
	if err == nil {
		return e
	}
	e.Error = err.Error()
	var dead *DeadError
	switch {
	case errors.As(err, &dead):
		e.How, e.Output = dead.How, dead.Output
		if e.Cause = dead.Cause; dead.Cause == CauseSignal && j.box.OOMKills() > j.ooms {
			e.Cause, j.ooms = CauseOOM, j.box.OOMKills()
			e.Error = "the executor was killed because its host, or its part of it, had no memory left"
		}
	case errors.Is(err, ErrScenario):
		e.Cause = CauseScenario
	case errors.Is(err, spool.ErrFull):
		e.Cause = CauseSpace
	case j.why == "":
		e.Cause = CauseCancelled
		if !errors.Is(err, ErrCancelled) && !errors.Is(err, context.Canceled) {
			e.Cause = CauseStuck // it did not keep to the protocol
		}
	}
	return e
}
