package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/agent/budget"
	"github.com/gobench-io/gobench/internal/agent/spool"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Values of agentpb.Ended.Cause, in addition to the causes of package process.
const (
	CauseOOM       = "oom"       // killed by the kernel because it was out of memory
	CauseLease     = "lease"     // the lease of its load was not renewed
	CauseCancelled = "cancelled" // the run was cancelled
	CauseScenario  = "scenario"  // the scenario cannot run
	causeSpace     = "space"     // what it counts cannot be stored
)

// executor is an executor process of a run on this agent.
type executor struct {
	run     *agentRun
	number  uint32 // in the run
	queue   *queue
	process *process.Process
	thinner *budget.Thinner // of its process, and then of live
	output  *output
	over    chan struct{} // closed once it has ended and its Ended is stored to be delivered

	mu      sync.Mutex
	start   *wire.Start // guarded by mu, as all below; nil until it is armed
	begun   bool
	heard   time.Time // when its last batch came, or the load began
	last    bool      // it has sent its last batch
	stalled bool
}

// isOver reports whether the executor has ended and its Ended is stored to be delivered.
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

// begin marks the load as begun, and reports whether this is the first call.
func (e *executor) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.begun
	e.begun = true
	return first
}

// interval returns the time between its batches; 0 before it is armed. The caller must hold
// mu.
func (e *executor) interval() time.Duration { return time.Duration(e.start.GetIntervalNs()) }

// hear stores the time at which a batch came or the load began, and whether the batch was
// the last.
func (e *executor) hear(last bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard, e.last = time.Now(), last
}

// live runs the process until it has ended, which the end of ctx forces, delivers how it
// ended, closes over, and drops the run, which launch has held for it. It is called once.
func (e *executor) live(ctx context.Context) {
	defer e.run.drop()
	err := e.process.Run(ctx)
	e.output.close()
	e.exact()
	e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Ended{Ended: e.ended(err)}}, true)
	e.run.agent.log.Info("an executor has ended", "run", e.run.id, "executor", e.number, "error", err)
	close(e.over)
	_ = e.run.agent.saveRecord(e.run) // it has logged the error
}

// deliver stores d, in which it sets the executor, to be sent. It has logged the error that
// it returns.
func (e *executor) deliver(d *agentpb.Delivery, essential bool) error {
	d.Executor = e.number
	return e.run.deliver(e.queue, d, essential)
}

// started, stopping, sent, saw and printed are called by process.Process and output.

func (e *executor) started() {
	e.hear(false)
	e.run.setPhase(phaseRunning)
}

func (e *executor) stopping(limit time.Duration) {
	e.run.setPhase(phaseStopping)
	e.run.drains(limit)
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: max(1, int64(limit))}}, true) // deliver has logged it
}

// sent stores a batch, as its thinner returns it, to be delivered, and before the last one
// the exact histograms. It returns an error, with which the process is ended, if a
// histogram is damaged or the batch cannot be stored; the report then has a note about the
// latter.
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
		e.run.note(fmt.Sprintf("executor %d on agent %s was ended: from its batch %d on, what it counted cannot be stored: %v",
			e.number, e.run.agent.o.ID, b.Seq, err))
		return err
	}
	return nil
}

// exactSize is how many bytes of exact histograms one delivery contains.
const exactSize = 256 << 10

// exact delivers the exact histograms of batches that were thinned. Only the first call
// that finds such batches delivers.
func (e *executor) exact() {
	for _, x := range e.thinner.Exact(exactSize) {
		_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Exact{Exact: x}}, true) // deliver has logged it
	}
}

func (e *executor) saw(s *wire.Seen) {
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Seen{Seen: s}}, false) // deliver has logged it
}

func (e *executor) printed(l *agentpb.Log) {
	_ = e.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Log{Log: l}}, false) // deliver has logged it
}

// maxWords is how many bytes of an error that a scenario has made are delivered.
const maxWords = 64 << 10

// cut returns the first maxWords bytes of text.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxWords)], "") }

// ended returns how the process ended, from the error of its Run (nil: it exited after its
// last batch, which a signal may have made it send early). The cause of a *process.DeadError, of a scenario that cannot run or of a full
// spool comes before the run's, and that before others. It counts an out-of-memory kill as
// reported: one that another executor has reported is not reported again.
func (e *executor) ended(err error) *agentpb.Ended {
	end := &agentpb.Ended{Cause: process.CauseExit}
	r := e.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why != "" {
		end.Cause = r.why
	}
	if err == nil {
		if signal := e.process.Signal(); signal != "" && r.why == "" {
			end.Cause, end.How = process.CauseSignal, agentpb.BySignal
			end.Error = "it received " + signal + ", which gobench did not send, and ended its load early"
		}
		return end
	}
	end.Error = cut(err.Error())
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
		end.Cause = causeSpace
	case r.why == "":
		end.Cause = CauseCancelled
		if !errors.Is(err, process.ErrCancelled) && !errors.Is(err, context.Canceled) {
			end.Cause = process.CauseStuck // it broke the protocol
		}
	}
	return end
}
