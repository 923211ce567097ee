package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/agent/blobs"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Codes of an answer's error.
const (
	codeFenced   = "fenced"             // the command has an old epoch
	codeBusy     = "busy"               // another run is here
	codePlatform = "platform"           // the executor is built for another platform
	codeDigest   = "digest"             // the digest of a blob is wrong
	codeSpace    = "space"              // the disk has no room
	codeScenario = agentpb.CodeScenario // the scenario itself cannot run
	codeDead     = "dead"               // an executor has ended
	codeUnknown  = agentpb.CodeUnknown  // the run is not here, and all other reasons
)

// refusal is an error with its code.
type refusal struct {
	code string
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(code, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// maxAnswers is how many answers are stored for commands that are redelivered.
const maxAnswers = 64

// do carries a command out and returns its answer, which the caller may change. An error is
// in the answer. It blocks until the command is done, and ignores ctx. It may be called
// concurrently.
func (a *Agent) do(_ context.Context, c *agentpb.Command) *agentpb.Answer {
	received := time.Now().UnixNano()
	answer := proto.CloneOf(a.once(c))
	answer.ReceivedNs, answer.SentNs = received, time.Now().UnixNano()
	return answer
}

// once carries a command out, or returns the stored answer if a command with its id was
// carried out before. It stores the last maxAnswers answers, except those to Ping and Renew
// and to commands without an id. It refuses a command for another agent. The caller must not
// change the answer. Prepare, Arm and Begin wait for each other. Other commands do not: a
// repetition during the first call is carried out again.
func (a *Agent) once(c *agentpb.Command) *agentpb.Answer {
	if c.Agent != "" && c.Agent != a.o.ID {
		return failed(refuse(codeUnknown, "the command is for agent %s, this is %s", c.Agent, a.o.ID))
	}
	switch c.What.(type) {
	case *agentpb.Command_Ping, *agentpb.Command_Renew: // may be done twice
		return a.perform(c)
	case *agentpb.Command_Prepare, *agentpb.Command_Arm, *agentpb.Command_Begin:
		a.turn.Lock()
		defer a.turn.Unlock()
	}
	if old := a.answered(c.Id); old != nil {
		return old
	}
	answer := a.perform(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Id != "" {
		a.answers = append(a.answers, answered{c.Id, answer})
		a.answers = a.answers[max(0, len(a.answers)-maxAnswers):]
	}
	return answer
}

// answered returns the stored answer to the command with an id, or nil. The caller must not
// change it.
func (a *Agent) answered(id string) *agentpb.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, old := range a.answers {
		if id != "" && old.id == id {
			return old.answer
		}
	}
	return nil
}

// perform carries a command out, even if it did so before, and returns a new answer. It
// logs an error, which the answer then reports.
func (a *Agent) perform(c *agentpb.Command) *agentpb.Answer {
	answer := new(agentpb.Answer)
	var err error
	switch what := c.What.(type) {
	case *agentpb.Command_Ping:
	case *agentpb.Command_Prepare:
		answer.Hellos, err = a.prepare(c, what.Prepare)
	case *agentpb.Command_Release:
		err = a.release(c)
	default:
		var r *agentRun
		if r, err = a.of(c); err == nil {
			answer.Blob, err = a.steer(r, c)
		}
	}
	if err != nil {
		a.log.Warn("command", "what", fmt.Sprintf("%T", c.What), "run", c.Run, "error", err)
		return failed(err)
	}
	return answer
}

// steer carries out a command for a run that is here. It returns a blob for Profile, and
// nil for all others. The error is a *refusal or of the executors.
func (a *Agent) steer(r *agentRun, c *agentpb.Command) (*agentpb.Blob, error) {
	switch what := c.What.(type) {
	case *agentpb.Command_Arm:
		return nil, r.arm(c.Epoch, what.Arm)
	case *agentpb.Command_Begin:
		return nil, r.begin(what.Begin)
	case *agentpb.Command_Renew:
		r.renew(time.Duration(what.Renew.LeaseNs))
	case *agentpb.Command_Stop:
		r.stop("")
	case *agentpb.Command_Cancel:
		r.cancel(CauseCancelled)
	case *agentpb.Command_Control:
		return nil, r.control(what.Control)
	case *agentpb.Command_Profile:
		return a.profile(r, what.Profile)
	default:
		return nil, refuse(codeUnknown, "this agent does not know the command %T", c.What)
	}
	return nil, nil
}

// of returns the run that a command is for. It stores the time of the command, and its
// epoch if that is the newest. It returns a *refusal if the epoch is old (codeFenced) or
// the run is not here (codeUnknown).
func (a *Agent) of(c *agentpb.Command) (*agentRun, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fence(c); err != nil {
		return nil, err
	}
	if a.run == nil || a.run.id != c.Run {
		return nil, refuse(codeUnknown, "run %s is not on agent %s", c.Run, a.o.ID)
	}
	a.run.touch(c.Epoch)
	return a.run, nil
}

// fence returns a *refusal (codeFenced) if the command's epoch is older than the newest
// known of its run, else nil. The caller must hold mu.
func (a *Agent) fence(c *agentpb.Command) error {
	newest := a.epochs[c.Run]
	if a.run != nil && a.run.id == c.Run {
		newest = max(newest, a.run.newest())
	}
	if c.Epoch < newest {
		return refuse(codeFenced, "the command is of epoch %d of run %s, which is at %d", c.Epoch, c.Run, newest)
	}
	return nil
}

// release kills what is left of a run, waits without limit until it is over, and forgets
// it. It returns nil if the run is not here, and a *refusal if the epoch is old.
func (a *Agent) release(c *agentpb.Command) error {
	a.mu.Lock()
	if err := a.fence(c); err != nil {
		a.mu.Unlock()
		return err
	}
	r := a.run
	if r == nil || r.id != c.Run {
		a.mu.Unlock()
		return nil // it is gone already
	}
	a.mu.Unlock()
	r.kill()
	<-r.over
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(r, c.Epoch)
	return nil
}

// forget removes a run that is over, and its profiles. It remembers epoch or the run's newest,
// the greater one, of up to 1000 runs (then it forgets these): older commands are refused.
// Deliveries of the run remain until they are committed. It does nothing if r is not the
// current run. The caller must hold mu.
func (a *Agent) forget(r *agentRun, epoch uint64) {
	if a.run != r {
		return
	}
	a.run = nil
	if len(a.epochs) >= 1000 { // they are of old runs
		clear(a.epochs)
		clear(a.used)
	}
	a.epochs[r.id] = max(epoch, r.newest())
	a.used[r.id] = max(a.used[r.id], r.started())
	for _, sum := range a.profiles {
		if err := a.blobs.Remove(sum); err != nil {
			a.log.Warn("delete a profile", "error", err)
		}
	}
	a.profiles = nil
}

// answerOutput is how many bytes of a dead executor's output an answer contains. Its Ended
// delivery contains more.
const answerOutput = 4 << 10

// failed returns the answer that reports an error: its text, with the end of a dead
// executor's output, and a code; codeUnknown if no other code is known for err.
func failed(err error) *agentpb.Answer {
	answer := &agentpb.Answer{Error: err.Error(), Code: codeUnknown}
	var r *refusal
	var dead *process.DeadError
	switch {
	case errors.As(err, &r):
		answer.Code = r.code
	case errors.Is(err, blobs.ErrDigest):
		answer.Code = codeDigest
	case errors.Is(err, blobs.ErrSpace), errors.Is(err, syscall.ENOSPC):
		answer.Code = codeSpace
	case errors.Is(err, process.ErrScenario):
		answer.Code = codeScenario
	case errors.As(err, &dead):
		answer.Code = codeDead
		if n := len(dead.Output); n > 0 {
			answer.Error += "\n" + string(bytes.ToValidUTF8(dead.Output[max(0, n-answerOutput):], []byte("?")))
		}
	case errors.Is(err, process.ErrOver), errors.Is(err, process.ErrNoLoad):
		answer.Code = codeDead
	}
	return answer
}
