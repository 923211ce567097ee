package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// AgentConn is an agent's side of the bus. Its methods are safe for concurrent use. A lost
// connection is reconnected until Close.
type AgentConn struct {
	*conn
	id      string
	master  nkeys.KeyPair // public: signs commands
	session *session
}

// AgentOptions are the options of Dial. The zero value works.
type AgentOptions struct {
	Log   *slog.Logger // nil: nothing is logged
	Times Times
}

// Dial returns an agent's connection, which may not be up yet: it tries each address once, for
// up to Times.Connect, and then again in the background. Wait waits for the connection. The
// caller must Close it. The error is only about an invalid identity or credentials.
func Dial(i Identity, o AgentOptions) (*AgentConn, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if !validID(i.Agent) {
		return nil, fmt.Errorf("bus: agent id %q: letters, digits, _ and - only", i.Agent)
	}
	master, err := nkeys.FromPublicKey(i.MasterKey)
	if err != nil {
		return nil, fmt.Errorf("bus: the master's key: %w", err)
	}
	more := []nats.Option{
		nats.RetryOnFailedConnect(true),
		nats.CustomInboxPrefix(inboxPrefix + i.Agent),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if errors.Is(err, nats.ErrAuthorization) {
				o.Log.Warn("the master refuses this agent: it may have been revoked; trying again", "agent", i.Agent)
			} else {
				o.Log.Debug("no connection to the bus yet", "error", err)
			}
		}),
	}
	if i.Creds != "" {
		creds, err := credentials(i.Creds)
		if err != nil {
			return nil, fmt.Errorf("bus: %w", err)
		}
		more = append(more, creds)
	} else {
		more = append(more, nats.Nkey(i.Key, func(nonce []byte) ([]byte, error) {
			pair, err := nkeys.FromSeed(i.seed)
			if err != nil {
				return nil, err
			}
			return pair.Sign(nonce)
		}))
	}
	c, err := connect(addressList(i.Addresses), "agent "+i.Agent, o.Log, o.Times, append(more, secure(i.Pin, i.CA)...)...)
	if err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	return &AgentConn{conn: c, id: i.Agent, master: master, session: newSession()}, nil
}

// Wait waits until the agent is connected. If ctx ends first, the error includes the reason
// of the last failed attempt.
func (a *AgentConn) Wait(ctx context.Context) error { return a.wait(ctx) }

// Close closes the connection. Methods that take functions, and Wait, return when their
// contexts end, not before.
func (a *AgentConn) Close() { a.nc.Close() }

// Beat stores a beat in the registry. It makes one attempt of up to Times.Store, since the
// next beat follows soon, and fails at once while the connection is down.
func (a *AgentConn) Beat(ctx context.Context, b *agentpb.Beat) error {
	data, err := proto.Marshal(b)
	if err != nil {
		return err
	}
	ctx, cancel := a.attempt(ctx, a.times.Store)
	defer cancel()
	if err := publish(ctx, a.nc, &nats.Msg{Subject: beatSubject + a.id, Data: data}); err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	return nil
}

// Committed calls f with the master's acknowledgements of stored deliveries, one after the
// other, until ctx ends, and then returns nil; it returns an error only if it can't subscribe.
// Messages that the master has not signed are logged and dropped; so are further ones while
// 4096 wait.
func (a *AgentConn) Committed(ctx context.Context, f func(*agentpb.Committed)) error {
	return a.listen(ctx, commandTo+a.id+".done", func(m *nats.Msg) {
		var c agentpb.Committed
		err := verify(m, a.master)
		if err == nil {
			err = proto.Unmarshal(m.Data, &c)
		}
		if err != nil {
			a.log.Error("an acknowledgement is not the master's", "error", err)
			return
		}
		f(&c)
	})
}

// Deliver sends a delivery and returns once the bus has stored it. A delivery larger than
// agentpb.MaxDelivery is an error. Other errors are retried until ctx ends, also while the
// connection is down; the bus recognizes repetitions. After an error the delivery may be stored
// anyway. Deliveries keep their order only if the agent sends them one by one.
func (a *AgentConn) Deliver(ctx context.Context, d *agentpb.Delivery) error {
	data, err := proto.Marshal(d)
	if err != nil {
		return err
	}
	if len(data) > agentpb.MaxDelivery {
		return fmt.Errorf("delivery %d of run %s has %d bytes, and the bus takes %d: cut it", d.Number, d.Run, len(data), agentpb.MaxDelivery)
	}
	// The message id is random: otherwise another agent could send one with the same id
	// before, and this delivery would be dropped as a repetition.
	m := nats.NewMsg(deliverTo + a.id)
	m.Data = data
	m.Header.Set(nats.MsgIdHdr, unique())
	var last error
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		try, cancel := a.attempt(ctx, a.times.Store)
		err := publish(try, a.nc, m)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
			if pause(ctx, wait) == nil && a.wait(ctx) == nil {
				continue
			}
		}
		return because(ctx, fmt.Sprintf("deliver %d of run %s", d.Number, d.Run), last)
	}
}

// stored is a stream's answer to a message.
type stored struct {
	Stream string `json:"stream"`
	Error  *struct {
		Code        int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

// publish sends a message to the stream of its subject and returns once it is stored. It makes
// one attempt, until ctx ends; then the error is ctx's. It is an error if the stream refuses
// the message.
func publish(ctx context.Context, nc *nats.Conn, m *nats.Msg) error {
	answer, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return err
	}
	var s stored
	if err := json.Unmarshal(answer.Data, &s); err != nil {
		return fmt.Errorf("answer of the bus: %w", err)
	}
	if s.Error != nil {
		return fmt.Errorf("the bus does not take it: %s (%d)", s.Error.Description, s.Error.Code)
	}
	if s.Stream == "" {
		return errors.New("the bus has not confirmed that it is stored")
	}
	return nil
}
