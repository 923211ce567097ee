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
	codeFenced   = "fenced"   // the command is of an epoch that is past
	codeBusy     = "busy"     // another run is here
	codePlatform = "platform" // the executor is for other machines
	codeDigest   = "digest"   // a blob is not what it should be
	codeSpace    = "space"    // the disk has no room
	codeScenario = "scenario" // the scenario itself can't run
	codeDead     = "dead"     // an executor has ended
	codeUnknown  = "unknown"  // there is no such run here, or all other reasons
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

// keptAnswers is how many answers are kept for commands that come again.
const keptAnswers = 64

// do does what a command asks for.
func (a *Agent) do(_ context.Context, c *agentpb.Command) *agentpb.Answer {
	received := time.Now().UnixNano()
	answer := proto.CloneOf(a.once(c))
	answer.ReceivedNs, answer.SentNs = received, time.Now().UnixNano()
	return answer
}

// once does a command that has not been done, and gives the answer of one that has.
func (a *Agent) once(c *agentpb.Command) *agentpb.Answer {
	if c.Agent != "" && c.Agent != a.o.ID {
		return failed(refuse(codeUnknown, "the command is for agent %s, this is %s", c.Agent, a.o.ID))
	}
	switch c.What.(type) {
	case *agentpb.Command_Ping, *agentpb.Command_Renew: // again is as good as once
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
		a.answers = a.answers[max(0, len(a.answers)-keptAnswers):]
	}
	return answer
}

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

// perform does a command.
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

// steer does a command to a run that is here.
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

// of gives the run that a command is of. A newer epoch than the one that is known is
// from then on the newest.
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

// fence refuses a command whose epoch is past. The caller holds mu.
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

// release ends what is left of a run, and returns when it is gone.
func (a *Agent) release(c *agentpb.Command) error {
	a.mu.Lock()
	if err := a.fence(c); err != nil {
		a.mu.Unlock()
		return err
	}
	r := a.run
	if r == nil || r.id != c.Run {
		a.mu.Unlock()
		return nil // nothing is left
	}
	a.mu.Unlock()
	r.kill()
	<-r.over
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(r, c.Epoch)
	return nil
}

// forget drops a run that is over, and what it left but its deliveries. The caller
// holds mu.
func (a *Agent) forget(r *agentRun, epoch uint64) {
	if a.run != r {
		return
	}
	a.run = nil
	if len(a.epochs) >= 1000 { // of what is long past
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

// answerOutput is how much of what a dead executor printed an answer tells; all that is
// kept of it comes with its Ended.
const answerOutput = 4 << 10

// failed is the answer that tells of an error.
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
