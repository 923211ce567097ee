package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// memory is a Store in memory. It copies its arguments and results.
type memory struct {
	mu       sync.Mutex
	users    map[string]auth.User
	sessions map[string]auth.Session
	tokens   map[string]auth.Token
	entries  []auth.Entry
	replies  map[string]auth.Reply
	broken   error // what all calls fail with, if it is set
	full     error // what writes of sessions and tokens fail with, if it is set
}

func newMemory() *memory {
	return &memory{users: map[string]auth.User{}, sessions: map[string]auth.Session{}, tokens: map[string]auth.Token{}, replies: map[string]auth.Reply{}}
}

func (m *memory) begin() (end func(), err error) {
	m.mu.Lock()
	return m.mu.Unlock, m.broken
}

func (m *memory) PutUser(_ context.Context, u *auth.User) error {
	end, err := m.begin()
	defer end()
	if err != nil {
		return err
	}
	for _, other := range m.users {
		if other.ID != u.ID && strings.EqualFold(other.Name, u.Name) {
			return run.ErrConflict
		}
	}
	if m.users[u.ID].Version != u.Version {
		return run.ErrConflict
	}
	u.Version++
	m.users[u.ID] = *u
	return nil
}

func get[T any](m *memory, of map[string]T, key string) (*T, error) {
	end, err := m.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	v, ok := of[key]
	if !ok {
		return nil, run.ErrNotFound
	}
	return &v, nil
}

func (m *memory) User(_ context.Context, id string) (*auth.User, error) { return get(m, m.users, id) }

func (m *memory) UserNamed(_ context.Context, name string) (*auth.User, error) {
	end, err := m.begin()
	defer end()
	if err != nil {
		return nil, err
	}
	for _, u := range m.users {
		if strings.EqualFold(u.Name, name) {
			return &u, nil
		}
	}
	return nil, run.ErrNotFound
}

func (m *memory) Users(context.Context) ([]auth.User, error) {
	end, err := m.begin()
	defer end()
	var all []auth.User
	for _, u := range m.users {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b auth.User) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

func (m *memory) PutSession(_ context.Context, s *auth.Session) error {
	end, err := m.begin()
	defer end()
	if err = cmp.Or(err, m.full); err == nil {
		m.sessions[string(s.Hash)] = *s
	}
	return err
}

func (m *memory) Session(_ context.Context, hash []byte) (*auth.Session, error) {
	return get(m, m.sessions, string(hash))
}

func (m *memory) DeleteSession(_ context.Context, hash []byte) error {
	end, err := m.begin()
	defer end()
	delete(m.sessions, string(hash))
	return err
}

func (m *memory) deleteSessions(match func(auth.Session) bool) error {
	end, err := m.begin()
	defer end()
	for key, s := range m.sessions {
		if match(s) {
			delete(m.sessions, key)
		}
	}
	return err
}

func (m *memory) DeleteSessionsOf(_ context.Context, user string) error {
	return m.deleteSessions(func(s auth.Session) bool { return s.User == user })
}

func (m *memory) DeleteOldSessions(_ context.Context, seen, created time.Time) error {
	return m.deleteSessions(func(s auth.Session) bool { return s.Seen.Before(seen) || s.Created.Before(created) })
}

func (m *memory) PutToken(_ context.Context, t *auth.Token) error {
	end, err := m.begin()
	defer end()
	if err = cmp.Or(err, m.full); err == nil {
		m.tokens[t.ID] = *t
	}
	return err
}

func (m *memory) Token(_ context.Context, id string) (*auth.Token, error) {
	return get(m, m.tokens, id)
}

func (m *memory) Tokens(_ context.Context, user string) ([]auth.Token, error) {
	end, err := m.begin()
	defer end()
	var all []auth.Token
	for _, t := range m.tokens {
		if user == "" || t.User == user {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b auth.Token) int { return a.Created.Compare(b.Created) })
	return all, err
}

func (m *memory) Audit(_ context.Context, e *auth.Entry) error {
	end, err := m.begin()
	defer end()
	if err != nil {
		return err
	}
	e.Number = int64(len(m.entries) + 1)
	h := sha256.Sum256([]byte(e.Action + e.Object + e.Result))
	e.Chain = h[:]
	m.entries = append(m.entries, *e)
	return nil
}

func (m *memory) Entries(_ context.Context, before int64, limit int) ([]auth.Entry, error) {
	end, err := m.begin()
	defer end()
	var page []auth.Entry
	for _, e := range slices.Backward(m.entries) {
		if (before == 0 || e.Number < before) && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, err
}

func (m *memory) Reply(_ context.Context, user, key string) (*auth.Reply, error) {
	end, err := m.begin()
	defer end()
	if r, ok := m.replies[user+" "+key]; ok && err == nil {
		return &r, nil
	}
	return nil, err
}

func (m *memory) PutReply(_ context.Context, r *auth.Reply) error {
	end, err := m.begin()
	defer end()
	if err != nil {
		return err
	}
	if _, ok := m.replies[r.User+" "+r.Key]; ok {
		return run.ErrConflict
	}
	c := *r
	c.Body = bytes.Clone(r.Body)
	m.replies[r.User+" "+r.Key] = c
	return nil
}

func (m *memory) DeleteOldReplies(_ context.Context, before time.Time) error {
	end, err := m.begin()
	defer end()
	for key, r := range m.replies {
		if r.Created.Before(before) {
			delete(m.replies, key)
		}
	}
	return err
}

// audited returns the audit log's entries of an action.
func (m *memory) audited(action string) (found []auth.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		if e.Action == action {
			found = append(found, e)
		}
	}
	return found
}
