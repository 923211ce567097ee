package bus

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// waiting is the number of commands that may wait for the one being carried out.
const waiting = 256

// Commands calls do with each command that the master has signed for this agent, until ctx
// ends, and answers with what do returns (nil: with code "unknown"). After ctx's end it waits
// for the running calls of do, drops waiting commands without an answer, and returns nil; it
// returns an error only if it can't subscribe.
//
// Urgent commands (see urgent) run concurrently, all others one after the other. While 256 of
// those wait, further ones are answered with code "busy". A repeated command gets the same
// answer without another call of do. A command with a wrong signature or for another agent is
// answered with an error, one for another session or with an old number with a challenge.
func (a *AgentConn) Commands(ctx context.Context, do func(context.Context, *agentpb.Command) *agentpb.Answer) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan func(), waiting)
	wg.Go(func() {
		for {
			select {
			case job := <-queue:
				job()
			case <-ctx.Done():
				return
			}
		}
	})
	return a.listen(ctx, commandTo+a.id+".cmd", func(m *nats.Msg) {
		received := time.Now().UnixNano()
		if err := verify(m, a.master); err != nil {
			a.log.Error("a command was refused", "error", err)
			a.answer(m, &agentpb.Answer{Error: err.Error(), Code: "signature", ReceivedNs: received})
			return
		}
		c := new(agentpb.Command)
		if err := proto.Unmarshal(m.Data, c); err != nil || c.Agent != a.id || c.Id == "" {
			a.answer(m, &agentpb.Answer{Error: "not a command for this agent", Code: "unknown", ReceivedNs: received})
			return
		}
		if m.Header.Get(sessionHeader) != a.session.id {
			a.challenge(m)
			return
		}
		known, first, ok := a.session.take(number(m, numberHeader), c.Id)
		if !ok {
			a.challenge(m)
			return
		}
		if !first {
			wg.Go(func() { a.repeat(ctx, m, known) })
			return
		}
		job := func() {
			answer := do(ctx, c)
			if answer == nil {
				answer = &agentpb.Answer{Error: "the agent does not know this command", Code: "unknown"}
			}
			answer.ReceivedNs = received
			known.finish(answer)
			a.answer(m, answer)
		}
		if urgent(c) {
			wg.Go(job)
			return
		}
		select {
		case queue <- job:
		default:
			known.finish(&agentpb.Answer{Error: "too many commands wait for the one before them", Code: "busy", ReceivedNs: received})
			a.answer(m, known.answer)
		}
	})
}

// urgent reports whether a command is carried out without waiting for others: all but Prepare,
// Arm, Begin and Control, which change the state of the run in sequence. The urgent ones must
// not wait for a long Prepare, or take long themselves.
func urgent(c *agentpb.Command) bool {
	switch c.What.(type) {
	case *agentpb.Command_Prepare, *agentpb.Command_Arm, *agentpb.Command_Begin, *agentpb.Command_Control:
		return false
	}
	return true
}

// repeat waits until the first one of a repeated command is done and sends its answer again.
// If ctx ends before, it sends nothing.
func (a *AgentConn) repeat(ctx context.Context, m *nats.Msg, c *command) {
	select {
	case <-c.over:
		a.answer(m, c.answer)
	case <-ctx.Done():
	}
}

// answer sends an answer, or one with code "unknown" in its place if it is larger than
// agentpb.MaxDelivery. It does not change answer. The message may be lost; the master resends the
// command then.
func (a *AgentConn) answer(m *nats.Msg, answer *agentpb.Answer) {
	// A copy: the stored answer may be being sent by another goroutine.
	out := &agentpb.Answer{Error: answer.Error, Code: answer.Code, ReceivedNs: answer.ReceivedNs,
		Hellos: answer.Hellos, Data: answer.Data, Blob: answer.Blob, SentNs: time.Now().UnixNano()}
	b, err := proto.Marshal(out)
	if err == nil && len(b) > agentpb.MaxDelivery {
		b, err = proto.Marshal(&agentpb.Answer{Error: "the answer is larger than a message may be", Code: "unknown",
			ReceivedNs: answer.ReceivedNs, SentNs: out.SentNs})
	}
	if err == nil {
		err = a.reply(m, &nats.Msg{Data: b})
	}
	if err != nil {
		a.log.Warn("an answer to the master was lost", "error", err)
	}
}

// challenge answers with the session and the highest number, which the master needs to sign
// the command again. The answer may be lost, which is logged.
func (a *AgentConn) challenge(m *nats.Msg) {
	out := nats.NewMsg("")
	out.Header.Set(challengeHeader, a.session.id)
	out.Header.Set(highHeader, strconv.FormatUint(a.session.newest(), 10))
	if err := a.reply(m, out); err != nil {
		a.log.Warn("an answer to the master was lost", "error", err)
	}
}

// reply sends out to the reply subject of m and sets out.Subject. If that is not a subject of
// this agent's answers, it sends nothing and returns nil.
func (a *AgentConn) reply(m, out *nats.Msg) error {
	if agentOf(m.Reply, answerTo) != a.id {
		return nil // no reply subject, or one that this agent may not write to
	}
	out.Subject = m.Reply
	return a.nc.PublishMsg(out)
}
