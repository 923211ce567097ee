package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// questions are the master's requests that agents have not answered yet.
type questions struct {
	mu    sync.Mutex
	open  map[string]chan *nats.Msg // by subject of the answer
	peers map[string]*peer          // by agent
}

// peer is an agent's session as known to the master.
type peer struct {
	session string
	number  uint64
}

func newQuestions() *questions {
	return &questions{open: map[string]chan *nats.Msg{}, peers: map[string]*peer{}}
}

// ask registers a request to an agent. It returns a new subject for the answer and a channel
// of what arrives there: up to four messages wait in it, further ones are dropped, and it is
// not closed. The caller must call closed when it waits no more.
func (q *questions) ask(agent string) (reply string, in <-chan *nats.Msg, closed func()) {
	reply = answerTo + agent + "." + unique()
	c := make(chan *nats.Msg, 4)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[reply] = c
	return reply, c, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, reply)
	}
}

// answered passes an answer to its request, if that still waits; it does not block.
func (q *questions) answered(m *nats.Msg) {
	q.mu.Lock()
	c := q.open[m.Subject]
	q.mu.Unlock()
	if c == nil {
		return // a second answer, or one that came too late
	}
	select {
	case c <- m:
	default: // further answers are not needed
	}
}

// next returns the session and number that the next command to an agent is signed with, and
// counts the number as used. session is "" before the agent's first challenge.
func (q *questions) next(agent string) (session string, number uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.peers[agent]
	if p == nil {
		p = &peer{}
		q.peers[agent] = p
	}
	p.number++
	return p.session, p.number
}

// learn stores the session and the highest number of an agent's challenge. In the same session
// the number never decreases.
func (q *questions) learn(agent, session string, high uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.peers[agent]
	if p == nil || p.session != session {
		p = &peer{session: session}
		q.peers[agent] = p
	}
	p.number = max(p.number, high)
}

// noResponders reports whether m is the server's message that a subject has no subscriber.
func noResponders(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header.Get("Status") == "503"
}

// Command signs a command, sends it to its agent and returns the answer, which may be a
// failure (Answer.Error). It is resent until it is answered or ctx ends; the agent carries it
// out once. The error wraps agentpb.ErrNotConnected if the agent is not connected for
// Times.Away, or for Times.AwayKnown once it may have received the command, and ctx's error
// after its end: the command may have been carried out then. Command sets c.Id and c.UnixNs if
// they are unset.
func (m *MasterConn) Command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error) {
	if !validID(c.Agent) {
		return nil, fmt.Errorf("bus: %q is no agent", c.Agent)
	}
	if c.Id == "" {
		c.Id = unique()
	}
	if c.UnixNs == 0 {
		c.UnixNs = time.Now().UnixNano()
	}
	b, err := proto.Marshal(c)
	if err != nil {
		return nil, err
	}
	if len(b) > agentpb.MaxDelivery {
		return nil, fmt.Errorf("command to agent %s has %d bytes, and the bus takes %d", c.Agent, len(b), agentpb.MaxDelivery)
	}
	reply, in, closed := m.asked.ask(c.Agent)
	defer closed()
	heard := time.Now() // when the agent was last known to be connected
	patience := m.times.Away
	for challenges := 0; ; {
		err := m.command(c.Agent, b, reply)
		if err == nil {
			var answer *nats.Msg
			if answer, err = await(ctx, in, m.times.Resend); answer != nil {
				if session := answer.Header.Get(challengeHeader); session != "" {
					m.asked.learn(c.Agent, session, number(answer, highHeader))
					if challenges++; challenges%8 == 0 { // of an agent that does nothing else
						_ = pause(ctx, 100*time.Millisecond) // await returns ctx's error
					}
					continue
				} else if !noResponders(answer) {
					return readAnswer(answer)
				} else {
					err = agentpb.ErrNotConnected
				}
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, because(ctx, "command to agent "+c.Agent, err)
		case err == nil: // sent and not answered: still being carried out, or lost
			patience, heard = m.times.AwayKnown, time.Now()
			continue
		case errors.Is(err, agentpb.ErrNotConnected) && time.Since(heard) > patience:
			return nil, fmt.Errorf("agent %s: %w", c.Agent, agentpb.ErrNotConnected)
		case !errors.Is(err, agentpb.ErrNotConnected) && !away(err):
			return nil, fmt.Errorf("command to agent %s: %w", c.Agent, err)
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return nil, because(ctx, "command to agent "+c.Agent, err)
		}
	}
}

// command signs an encoded command for the agent's known session, with a new number, and sends
// it. It does not wait: the answer will arrive at reply. agent must be a valid id.
func (m *MasterConn) command(agent string, data []byte, reply string) error {
	session, n := m.asked.next(agent)
	out := nats.NewMsg(commandTo + agent + ".cmd")
	out.Reply, out.Data = reply, data
	out.Header.Set(sessionHeader, session)
	out.Header.Set(numberHeader, strconv.FormatUint(n, 10))
	if err := sign(out, m.key); err != nil {
		return err
	}
	return m.nc.PublishMsg(out)
}

// await returns the next message, or nil without an error if none arrives within d. It returns
// ctx's error if ctx ends first.
func await(ctx context.Context, in <-chan *nats.Msg, d time.Duration) (*nats.Msg, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case m := <-in:
		return m, nil
	case <-t.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readAnswer decodes an agent's answer, which may be a failure: see Answer.Error.
func readAnswer(m *nats.Msg) (*agentpb.Answer, error) {
	a := new(agentpb.Answer)
	if err := proto.Unmarshal(m.Data, a); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", m.Subject, err)
	}
	return a, nil
}
