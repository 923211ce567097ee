package master

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// joinLife is the default life of a join token.
const joinLife = 10 * time.Minute

// JoinToken creates and stores a token with which one agent can join during life; 0 or less
// means 10 minutes. The error is a *run.InputError if life is longer than a week. text is
// what the agent needs, with the addresses and the secret, which is not stored. by is the
// user's name. t and text must not be used after an error.
func (m *Master) JoinToken(ctx context.Context, life time.Duration, by string) (t *run.JoinToken, text string, err error) {
	if life <= 0 {
		life = joinLife
	}
	if life > 7*24*time.Hour { // the API's schema allows less
		return nil, "", &run.InputError{Field: "minutes", Text: "a join token is good for a week at most"}
	}
	secret := rand.Text()
	now := time.Now().UTC()
	t = &run.JoinToken{ID: newID("j"), Hash: hashOf(secret), Created: now, Expires: now.Add(life), By: by}
	if text, err = m.Token(t.ID, secret); err != nil {
		return nil, "", err
	}
	return t, text, m.Store.PutJoinToken(ctx, t)
}

// JoinTokens returns all join tokens, spent and expired ones included, in the order of their
// creation, without their secrets.
func (m *Master) JoinTokens(ctx context.Context) ([]run.JoinToken, error) {
	return m.Store.JoinTokens(ctx)
}

func hashOf(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// newID returns an id: a letter for the kind and 16 random characters.
func newID(kind string) string { return kind + strings.ToLower(rand.Text()[:16]) }

// join answers a request to join: with the new agent's id, or with an error and its code
// (version, unknown or spent). It spends the token and stores the agent. If storing the
// agent fails, the token is spent anyway. It blocks for 10 s at most.
func (m *Master) join(j *agentpb.Join) *agentpb.Joined {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	refuse := func(code, format string, args ...any) *agentpb.Joined {
		m.Logger.Warn("a join is refused", "token", j.Token, "host", j.Hello.GetName(), "code", code)
		return &agentpb.Joined{Code: code, Error: fmt.Sprintf(format, args...)}
	}
	if p := j.Hello.GetProtocol(); p != agentpb.Protocol {
		return refuse("version", "gobench %s there speaks protocol %d, the master speaks %d: install the same version on both", j.Hello.GetVersion(), p, agentpb.Protocol)
	}
	if len(j.Key) != 56 || j.Key[0] != 'U' {
		return refuse("unknown", "the agent's key is no public key of a user")
	}
	now := time.Now().UTC()
	a := run.Agent{ID: newID("a"), Name: j.Hello.GetName(), Key: j.Key, Joined: now, Hello: marshal(j.Hello)}
	switch err := m.Store.SpendJoinToken(ctx, j.Token, hashOf(j.Secret), a.ID, now); {
	case errors.Is(err, run.ErrNotFound):
		return refuse("unknown", "the join token is not one of this master's")
	case errors.Is(err, run.ErrConflict):
		return refuse("spent", "the join token was used before, or is too old: make a new one with: gobench agents join")
	case err != nil:
		m.Logger.Error("spend a join token", "error", err)
		return refuse("unknown", "the master can't keep it now: try again")
	}
	if err := m.Store.PutAgent(ctx, &a); err != nil {
		m.Logger.Error("keep an agent", "error", err)
		return refuse("unknown", "the master can't keep it now: make a new token and try again")
	}
	m.enroll(a)
	m.Logger.Info("an agent has joined", "agent", a.ID, "name", a.Name)
	return &agentpb.Joined{Agent: a.ID, MasterKey: m.Key, Cluster: m.Cluster}
}

// enroll adds an agent to the fleet, or updates it there.
func (m *Master) enroll(a run.Agent) {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	m.fleet.put(a)
}

// AgentOf returns the id of the agent with a public key. ok is false if the key is unknown
// or revoked, or the store can't be read within 10 s; the latter is logged.
func (m *Master) AgentOf(key string) (id string, ok bool) {
	// After a restart all agents reconnect at the same time: the store is read only for
	// those that are not in memory.
	if id, ok := m.fleet.ofKey(key); ok {
		return id, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := m.Store.Agents(ctx)
	if err != nil {
		m.Logger.Error("look an agent up", "error", err)
		return "", false
	}
	for _, a := range all {
		if a.Key == key && a.Revoked.IsZero() {
			return a.ID, true
		}
	}
	return "", false
}

// Agents returns all agents that have joined, revoked ones included, with their states,
// sorted by name; never nil. It is empty before Serve has read them. The beats are shared
// and must not be changed. The error is always nil.
func (m *Master) Agents(context.Context) ([]agentpb.Member, error) {
	all := []agentpb.Member{}
	for _, w := range m.fleet.snapshot() {
		if w.flag != "" {
			w.why = strings.TrimPrefix(w.why+"; it tried "+w.flag, "; ")
		}
		all = append(all, agentpb.Member{Agent: w.Agent, State: string(w.state), Why: w.why, Offset: w.offset, Error: w.within, Beat: w.beat})
	}
	return all, nil
}

// RevokeAgent revokes the key of the agent with this id and closes its connections; a run
// that it takes part in loses it. Revoking it again only closes its connections. The error
// is run.ErrNotFound for an unknown id.
func (m *Master) RevokeAgent(ctx context.Context, id, by string) error {
	a, err := m.Store.Agent(ctx, id)
	if err != nil {
		return err
	}
	if a.Revoked.IsZero() {
		a.Revoked = time.Now().UTC()
		if err := m.Store.PutAgent(ctx, a); err != nil {
			return err
		}
	}
	m.enroll(*a)
	m.Bus.Kick(id)
	m.Logger.Info("an agent is revoked", "agent", id, "by", by)
	return nil
}
