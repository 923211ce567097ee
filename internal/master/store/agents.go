package store

import (
	"bytes"
	"context"
	"crypto/subtle"
	"fmt"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// PutAgent stores an agent and replaces all of one with the same id. The error wraps
// run.ErrConflict if another agent has its key.
func (s *Store) PutAgent(ctx context.Context, a *run.Agent) error {
	if a.ID == "" || a.ID != clean(a.ID) {
		return &run.InputError{Field: "id", Text: "must be UTF-8 without NUL, and not empty"}
	}
	return s.write(ctx, func(t *tx) error {
		var other string
		if ok, err := t.one(`SELECT id FROM agents WHERE pubkey = $1 AND id <> $2`, []any{clean(a.Key), a.ID}, &other); err != nil {
			return err
		} else if ok {
			return conflict(fmt.Sprintf("agent %s has the key of agent %s", a.ID, other))
		}
		return t.run(`INSERT INTO agents (id, name, pubkey, joined, seen, revoked, hello) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, pubkey = excluded.pubkey, joined = excluded.joined,
			seen = excluded.seen, revoked = excluded.revoked, hello = excluded.hello`,
			a.ID, clean(a.Name), clean(a.Key), ns(a.Joined), ns(a.Seen), ns(a.Revoked), blob(a.Hello))
	})
}

const agentColumns = `id, name, pubkey, joined, seen, revoked, hello`

// readAgent reads a row of agentColumns. The error is that of scan.
func readAgent(scan func(...any) error) (a run.Agent, err error) {
	var joined, seen, revoked int64
	err = scan(&a.ID, &a.Name, &a.Key, &joined, &seen, &revoked, &a.Hello)
	a.Joined, a.Seen, a.Revoked, a.Hello = at(joined), at(seen), at(revoked), given(a.Hello)
	return a, err
}

// Agent returns an agent by its id, also a revoked one.
func (s *Store) Agent(ctx context.Context, id string) (*run.Agent, error) {
	return get(ctx, s, "agent "+strconv.Quote(id), `SELECT `+agentColumns+` FROM agents WHERE id = $1`, []any{clean(id)}, readAgent)
}

// Agents returns all agents in the order in which they joined.
func (s *Store) Agents(ctx context.Context) ([]run.Agent, error) {
	return list(ctx, s, `SELECT `+agentColumns+` FROM agents ORDER BY joined, id`, nil, readAgent)
}

// PutJoinToken stores a new token, or a new expiry of one that is not spent: all else of that
// stays. The error wraps run.ErrConflict if the stored one is spent or has another hash. j.ID
// must be UTF-8 without NUL, which is not checked.
func (s *Store) PutJoinToken(ctx context.Context, j *run.JoinToken) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec(`INSERT INTO join_tokens (id, hash, created, expires, by_whom, spent, agent) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO UPDATE SET expires = excluded.expires WHERE join_tokens.spent = 0 AND join_tokens.hash = excluded.hash`,
			j.ID, blob(j.Hash), ns(j.Created), ns(j.Expires), clean(j.By), ns(j.Spent), clean(j.Agent))
		if err == nil && n == 0 {
			err = conflict("join token " + j.ID + " is there already")
		}
		return err
	})
}

const joinTokenColumns = `id, hash, created, expires, by_whom, spent, agent`

// readJoinToken reads a row of joinTokenColumns. The error is that of scan.
func readJoinToken(scan func(...any) error) (j run.JoinToken, err error) {
	var created, expires, spent int64
	err = scan(&j.ID, &j.Hash, &created, &expires, &j.By, &spent, &j.Agent)
	j.Created, j.Expires, j.Spent = at(created), at(expires), at(spent)
	return j, err
}

// SpendJoinToken marks a token as spent by an agent at a time. The error wraps run.ErrNotFound
// if there is no such id, or hash is wrong or empty, and run.ErrConflict if the token is spent
// already or has expired at that time.
func (s *Store) SpendJoinToken(ctx context.Context, id string, hash []byte, agent string, when time.Time) error {
	return s.write(ctx, func(t *tx) error {
		j, err := readJoinToken(t.QueryRowContext(ctx, `SELECT `+joinTokenColumns+` FROM join_tokens WHERE id = $1`, clean(id)).Scan)
		ok, err := found(err)
		switch {
		case err != nil:
			return err
		case !ok || len(hash) == 0 || subtle.ConstantTimeCompare(hash, j.Hash) != 1:
			return missing("join token " + strconv.Quote(id))
		case !j.Spent.IsZero():
			return conflict("join token " + id + " is spent: make another")
		case !when.Before(j.Expires):
			return conflict("join token " + id + " has expired: make another")
		}
		return t.run(`UPDATE join_tokens SET spent = $1, agent = $2 WHERE id = $3`, ns(when), clean(agent), id)
	})
}

// JoinToken returns a token by its id, also a spent or expired one. The bus calls it for each
// connection with a join token.
func (s *Store) JoinToken(ctx context.Context, id string) (*run.JoinToken, error) {
	return get(ctx, s, "join token "+strconv.Quote(id), `SELECT `+joinTokenColumns+` FROM join_tokens WHERE id = $1`, []any{clean(id)}, readJoinToken)
}

// JoinTokens returns all join tokens in the order of their creation.
func (s *Store) JoinTokens(ctx context.Context) ([]run.JoinToken, error) {
	return list(ctx, s, `SELECT `+joinTokenColumns+` FROM join_tokens ORDER BY created, id`, nil, readJoinToken)
}

// Setting returns the value that PutSetting has stored under a name, or nil without an error
// if nothing is stored. A stored empty value is not nil.
func (s *Store) Setting(ctx context.Context, name string) ([]byte, error) {
	var value []byte
	ok, err := found(s.r.QueryRowContext(ctx, `SELECT value FROM settings WHERE name = $1`, clean(name)).Scan(&value))
	if err != nil || !ok {
		return nil, s.failed(err)
	}
	return bytes.Clone(blob(value)), nil
}

// PutSetting stores a value under a name and replaces an earlier one.
func (s *Store) PutSetting(ctx context.Context, name string, value []byte) error {
	return s.write(ctx, func(t *tx) error {
		return t.run(`INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, clean(name), blob(value))
	})
}
