package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// sendAll sends a command to agents of the run, concurrently, and waits until each has answered
// or ctx ends. what is an *agentpb.Command_Stop, _Cancel or
// _Release. Refusals are only logged.
func (a *active) sendAll(ctx context.Context, to []*place, what any) {
	all := newTasks(ctx)
	for _, h := range to {
		all.do(func(ctx context.Context) {
			c := &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: a.epochOf(h)}
			switch w := what.(type) {
			case *agentpb.Command_Stop:
				c.What = w
			case *agentpb.Command_Cancel:
				c.What = w
			case *agentpb.Command_Release:
				c.What = w
			}
			a.insist(ctx, c)
		})
	}
	all.wait()
}

// insist sends a command again and again, waiting 3 s for each answer, until it is answered,
// also by a refusal, or ctx ends. A refusal is logged unless its code is unknown. After a
// release the agent counts as free.
func (a *active) insist(ctx context.Context, c *agentpb.Command) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := a.m.command(once, c)
		cancel()
		var refused *refusedError
		if err == nil || errors.As(err, &refused) {
			if c.GetRelease() != nil && err == nil {
				a.m.fleet.free(c.Agent, c.Run)
			}
			if err != nil && refused.Code != agentpb.CodeUnknown {
				a.m.Logger.Warn("a command is refused", "run", a.id, "agent", c.Agent, "error", err)
			}
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// refusedError is an agent's answer that it did not carry out a command. Code and Text are
// Code and Error of the agentpb.Answer; Code is for programs: fenced, scenario and others,
// and unknown for every other reason.
type refusedError struct{ Code, Text string }

func (e *refusedError) Error() string { return e.Text }

// command sets c.UnixNs, sends a command and waits for the answer until ctx ends. The error
// wraps ErrNotConnected if the agent is not connected, a *refusedError if it refuses, and ctx's
// error. The answer is nil with an error, except with a refusal.
func (m *Master) command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error) {
	c.UnixNs = time.Now().UnixNano()
	answer, err := m.Bus.Command(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", m.fleet.name(c.Agent), err)
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("agent %s: %w", m.fleet.name(c.Agent), &refusedError{answer.Code, answer.Error})
	}
	return answer, nil
}
