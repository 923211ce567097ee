package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// record is what the next process of this agent needs to end what this one runs. It is
// stored in run.json.
type record struct {
	Run       string          `json:"run"`
	Box       sandbox.State   `json:"box"`
	Processes []recordProcess `json:"processes"` // those that have not ended
}

type recordProcess struct {
	Executor uint32 `json:"executor"`
	Epoch    uint64 `json:"epoch"`
	Pid      int    `json:"pid,omitempty"` // also the id of its process group
	Start    uint64 `json:"start,omitempty"`
}

func (a *Agent) recordPath() string { return filepath.Join(a.o.Dir, "run.json") }

// saveRecord replaces run.json by the record of a run, which must have a sandbox: that and its
// executors that have not ended. It has logged the error that it returns; run.json is
// unchanged then.
func (a *Agent) saveRecord(r *agentRun) error {
	rec := record{Run: r.id, Box: r.box.State, Processes: []recordProcess{}}
	for _, e := range r.allExecutors() {
		if !e.isOver() {
			pid := e.process.Pid()
			rec.Processes = append(rec.Processes, recordProcess{e.number, e.queue.epoch, pid, process.StartTime(pid)})
		}
	}
	return a.writeRecord(rec)
}

// writeRecord replaces run.json by rec. It has logged the error that it returns; run.json
// is unchanged then.
func (a *Agent) writeRecord(rec record) error {
	a.recording.Lock()
	defer a.recording.Unlock()
	b, err := json.Marshal(rec)
	if err == nil {
		err = system.ReplaceBytes(a.recordPath(), b)
	}
	if err != nil {
		err = fmt.Errorf("write what runs here: %w", err)
		a.log.Error(err.Error(), "run", rec.Run)
	}
	return err
}

// dropRecord deletes run.json, if it exists. An error is only logged.
func (a *Agent) dropRecord() {
	a.recording.Lock()
	defer a.recording.Unlock()
	if err := os.Remove(a.recordPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		a.log.Error("delete the record of what ran here", "error", err)
	}
}

// reap kills what a previous process of this agent has left and stores the end of that run
// in its queues, to be sent. It must be called before the agent takes commands. If it
// cannot read the record or end the processes, it returns an error, and the record remains
// for the next start.
func (a *Agent) reap() error {
	var rec record
	b, err := os.ReadFile(a.recordPath())
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(b, &rec); err != nil {
			return fmt.Errorf("read %s, the record of what ran here before: %w", a.recordPath(), err)
		}
		a.log.Warn("a previous process of this agent left a run", "run", rec.Run, "executors", len(rec.Processes))
		for _, p := range rec.Processes {
			if p.Pid > 0 && p.Start > 0 && process.StartTime(p.Pid) == p.Start { // else it is another process with the same id
				system.KillGroup(p.Pid)
			}
		}
		box := sandbox.Open(rec.Box)
		if err := errors.Join(box.Kill(), a.copyLedgers(rec.Run, box), box.Close()); err != nil {
			return fmt.Errorf("end what run %s has left: %w", rec.Run, err)
		}
	}
	for _, q := range a.out.all() {
		a.conclude(q, rec)
	}
	a.dropRecord()
	return nil
}

// conclude stores the last deliveries in a queue of a previous process: how the executors
// in rec ended, if rec is of that queue, with a note, and Over. Without executors in rec, all of
// that queue had ended, and nothing is missing. It does nothing if the queue has Over already.
// Errors are only logged.
func (a *Agent) conclude(q *queue, rec record) {
	q.mu.Lock()
	over := q.over > 0
	q.mu.Unlock()
	if over {
		return
	}
	deliver := func(d *agentpb.Delivery) {
		d.Run, d.Agent, d.Epoch = q.run, a.o.ID, q.epoch
		if err := a.out.deliver(q, d, true); err != nil {
			a.log.Error("deliver", "run", q.run, "error", err)
		}
	}
	cut := rec.Run != q.run // then it is not known
	for _, p := range rec.Processes {
		if rec.Run == q.run && p.Epoch == q.epoch {
			cut = true
			deliver(&agentpb.Delivery{Executor: p.Executor, What: &agentpb.Delivery_Ended{Ended: &agentpb.Ended{
				Error: "the executor ended with its agent, which was started again", How: agentpb.WithAgent, Cause: process.CauseSignal}}})
		}
	}
	if cut {
		deliver(&agentpb.Delivery{What: &agentpb.Delivery_Note{Note: "the agent ended during the run and was started again later: what its executors counted after their last batch is missing"}})
	}
	deliver(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
}
