package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// record is what the next life of an agent needs to know of what runs in this one.
type record struct {
	Run       string          `json:"run"`
	Box       sandbox.State   `json:"box"`
	Processes []recordProcess `json:"processes"` // that have not ended
}

type recordProcess struct {
	Executor uint32 `json:"executor"`
	Epoch    uint64 `json:"epoch"`
	Pid      int    `json:"pid,omitempty"` // of its process group, too
	Start    uint64 `json:"start,omitempty"`
}

func (a *Agent) recordPath() string { return filepath.Join(a.o.Dir, "run.json") }

// saveRecord keeps the record of a job.
func (a *Agent) saveRecord(j *job) error {
	r := record{Run: j.run, Box: j.box.State, Processes: []recordProcess{}}
	for _, p := range j.processes() {
		if !p.isOver() {
			pid := p.executor.Pid()
			r.Processes = append(r.Processes, recordProcess{p.number, p.stream.epoch, pid, startOf(pid)})
		}
	}
	return a.writeRecord(r)
}

func (a *Agent) writeRecord(r record) error {
	a.recording.Lock()
	defer a.recording.Unlock()
	err := writeFile(a.recordPath(), r)
	if err != nil {
		err = fmt.Errorf("note what runs here: %w", err)
		a.log.Error(err.Error(), "run", r.Run)
	}
	return err
}

func (a *Agent) dropRecord() {
	a.recording.Lock()
	defer a.recording.Unlock()
	if err := os.Remove(a.recordPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		a.log.Error("forget what ran here", "error", err)
	}
}

// writeFile writes v as JSON, whole or not at all.
func writeFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // not there any more when all went well
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// reap ends what an earlier life has left, and tells the master of it.
func (a *Agent) reap() error {
	var r record
	b, err := os.ReadFile(a.recordPath())
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(b, &r); err != nil {
			return fmt.Errorf("read %s, which says what ran here before: %w", a.recordPath(), err)
		}
		a.log.Warn("an earlier life of this agent left a run", "run", r.Run, "executors", len(r.Processes))
		for _, p := range r.Processes {
			if p.Pid > 0 && p.Start > 0 && startOf(p.Pid) == p.Start { // else the id is another's by now
				killGroup(p.Pid)
			}
		}
		box := sandbox.Open(r.Box)
		if err := errors.Join(box.Kill(), a.keepLedgers(r.Run, box), box.Close()); err != nil {
			return fmt.Errorf("end what run %s has left: %w", r.Run, err)
		}
	}
	if left, _ := filepath.Glob(a.recordPath() + "-*"); left != nil {
		for _, path := range left {
			_ = os.Remove(path) // half a record
		}
	}
	for _, s := range a.out.all() {
		a.conclude(s, r)
	}
	a.dropRecord()
	return nil
}

// conclude ends the stream of an earlier life.
func (a *Agent) conclude(s *stream, r record) {
	s.mu.Lock()
	over := s.over > 0
	s.mu.Unlock()
	if over {
		return
	}
	say := func(d *agentpb.Delivery) {
		d.Run, d.Agent, d.Epoch = s.run, a.o.ID, s.epoch
		if err := a.out.deliver(s, d, true); err != nil {
			a.log.Error("deliver", "run", s.run, "error", err)
		}
	}
	for _, p := range r.Processes {
		if r.Run == s.run && p.Epoch == s.epoch {
			say(&agentpb.Delivery{Executor: p.Executor, What: &agentpb.Delivery_Ended{Ended: &agentpb.Ended{
				Error: "the executor ended with its agent, which was started again", How: agentpb.WithAgent, Cause: CauseSignal}}})
		}
	}
	say(&agentpb.Delivery{What: &agentpb.Delivery_Note{Note: fmt.Sprintf("agent %s was started again during the run: what its executors counted after their last batch is missing", a.o.ID)}})
	say(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
}
