package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/agent/budget"
	"github.com/gobench-io/gobench/internal/agent/spool"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Why an executor ended, for programs, beside the causes of package process.
const (
	CauseOOM       = "oom"       // killed by the kernel for want of memory
	CauseLease     = "lease"     // its load was not renewed
	CauseCancelled = "cancelled" // as it was asked to
	CauseScenario  = "scenario"  // which cannot run
	CauseSpace     = "space"     // what it counts can't be kept
)

// executor is an executor process of a run on this agent.
type executor struct {
	run     *agentRun
	number  uint32 // in the run
	queue   *queue
	process *process.Process
	thinner *budget.Thinner // of its process, and then of live
	output  *output
	over    chan struct{} // closed when it has ended and that is delivered

	mu      sync.Mutex
	start   *wire.Start // guarded by mu, as all below; nil: it is not armed
	begun   bool
	heard   time.Time // of its last batch, or when the load began
	last    bool      // it has sent its last batch
	stalled bool
}

func (e *executor) isOver() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

func (e *executor) isArmed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.start != nil
}

func (e *executor) setStart(s *wire.Start) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.start = s
}

// begin tells whether the process has yet to begin, once.
func (e *executor) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.begun
	e.begun = true
	return first
}

// interval is the time between its batches. The caller holds mu.
func (e *executor) interval() time.Duration { return time.Duration(e.start.GetIntervalNs()) }

func (e *executor) hear(last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard, e.last = time.Now(), last
}

// live runs the process and tells how it ended.
func (e *executor) live(ctx context.Context) {
	defer e.run.drop()
	err := e.process.Run(ctx)
	e.output.close()
	e.exact()
	e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Ended{Ended: e.ended(err)}}, true)
	e.run.agent.log.Info("an executor has ended", "run", e.run.id, "executor", e.number, "error", err)
	close(e.over)
	_ = e.run.agent.saveRecord(e.run) // it is in the log
}

func (e *executor) deliver(d *agentpb.Delivery, lastWord bool) error {
	d.Executor = e.number
	return e.run.deliver(e.queue, d, lastWord)
}

// started, stopping, sent, saw and printed are what the executor does.

func (e *executor) started() {
	e.hear(false)
	e.run.setPhase(phaseRunning)
}

func (e *executor) stopping() {
	e.run.setPhase(phaseStopping)
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: true}}, true) // it is in the log
}

func (e *executor) sent(b *wire.Batch) error {
	e.hear(b.Final != nil)
	if b.Final != nil {
		e.exact()
	}
	sent, err := e.thinner.Batch(b)
	if err != nil {
		return err
	}
	if err := e.deliver(sent.Delivery(), false); err != nil {
		e.run.note(fmt.Sprintf("executor %d on agent %s was ended: from its batch %d on, what it counted can't be kept: %v",
			e.number, e.run.agent.o.ID, b.Seq, err))
		return err
	}
	return nil
}

// exactSize is how much of the exact histograms goes into one delivery, in bytes.
const exactSize = 256 << 10

// exact delivers the exact histograms of what was sent with less than all its counts.
func (e *executor) exact() {
	for _, x := range e.thinner.Exact(exactSize) {
		_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Exact{Exact: x}}, true) // it is in the log
	}
}

func (e *executor) saw(s *wire.Seen) {
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Seen{Seen: s}}, false) // it is in the log
}

func (e *executor) printed(l *agentpb.Log) {
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Log{Log: l}}, false) // it is in the log
}

// ended says how the process ended, when Run gave err.
func (e *executor) ended(err error) *agentpb.Ended {
	end := &agentpb.Ended{Cause: process.CauseExit}
	r := e.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != "" {
		end.Cause = r.why
	}
	if err == nil {
		return end
	}
	end.Error = err.Error()
	var dead *process.DeadError
	switch {
	case errors.As(err, &dead):
		end.How, end.Output = dead.How, dead.Output
		if end.Cause = dead.Cause; dead.Cause == process.CauseSignal && r.box.OOMKills() > r.ooms {
			end.Cause, r.ooms = CauseOOM, r.box.OOMKills()
			end.Error = "the executor was killed because its host, or its part of it, had no memory left"
		}
	case errors.Is(err, process.ErrScenario):
		end.Cause = CauseScenario
	case errors.Is(err, spool.ErrFull):
		end.Cause = CauseSpace
	case r.why == "":
		end.Cause = CauseCancelled
		if !errors.Is(err, process.ErrCancelled) && !errors.Is(err, context.Canceled) {
			end.Cause = process.CauseStuck // it did not keep to the protocol
		}
	}
	return end
}
