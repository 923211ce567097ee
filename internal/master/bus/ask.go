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

// questions are what the master has asked and agents have not yet answered.
type questions struct {
	mu    sync.Mutex
	open  map[string]chan *nats.Msg // by subject of the answer
	peers map[string]*peer          // by agent
}

// peer is an agent's session, as far as the master knows.
type peer struct {
	session string
	number  uint64
}

func newQuestions() *questions {
	return &questions{open: map[string]chan *nats.Msg{}, peers: map[string]*peer{}}
}

// ask opens a question to an agent: where it is to answer, what comes there, and how the
// question is closed.
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

// answered takes what comes for any question.
func (q *questions) answered(m *nats.Msg) {
	q.mu.Lock()
	c := q.open[m.Subject]
	q.mu.Unlock()
	if c == nil {
		return // answered twice, or given up
	}
	select {
	case c <- m:
	default: // so are these
	}
}

// next gives what to sign the next command to an agent for.
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

// learn takes an agent's challenge.
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

// noResponders tells whether m is the server's word that nobody listens.
func noResponders(m *nats.Msg) bool {
	return len(m.Data) == 0 && m.Header.Get("Status") == "503"
}

// Command signs a command, sends it to its agent and returns the answer. It is sent again,
// with the same id, until it is answered or ctx ends; the agent does it once. ErrAway: nobody
// is there to answer. An id and the time are given to it if it has none.
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
	if len(b) > MaxDelivery {
		return nil, fmt.Errorf("command to agent %s has %d bytes, and the bus takes %d", c.Agent, len(b), MaxDelivery)
	}
	reply, in, closed := m.asked.ask(c.Agent)
	defer closed()
	heard := time.Now() // when the agent was last known to listen
	patience := m.times.Away
	for challenges := 0; ; {
		err := m.command(c.Agent, b, reply)
		if err == nil {
			var answer *nats.Msg
			if answer, err = await(ctx, in, m.times.Resend); answer != nil {
				if session := answer.Header.Get(challengeHeader); session != "" {
					m.asked.learn(c.Agent, session, number(answer, highHeader))
					if challenges++; challenges%8 != 0 {
						continue
					}
				} else if !noResponders(answer) {
					return readAnswer(answer)
				} else {
					err = agentpb.ErrAway
				}
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, because(ctx, "command to agent "+c.Agent, err)
		case err == nil: // sent, and not answered: it is at work, or the message is lost
			patience, heard = m.times.AwayKnown, time.Now()
			continue
		case errors.Is(err, agentpb.ErrAway) && time.Since(heard) > patience:
			return nil, fmt.Errorf("agent %s: %w", c.Agent, agentpb.ErrAway)
		case !errors.Is(err, agentpb.ErrAway) && !away(err):
			return nil, fmt.Errorf("command to agent %s: %w", c.Agent, err)
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return nil, because(ctx, "command to agent "+c.Agent, err)
		}
	}
}

// command signs an encoded command for the agent's session as it is known, and sends it.
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

// await gives what comes first within d; nil: nothing.
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

func readAnswer(m *nats.Msg) (*agentpb.Answer, error) {
	a := new(agentpb.Answer)
	if err := proto.Unmarshal(m.Data, a); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", m.Subject, err)
	}
	return a, nil
}
