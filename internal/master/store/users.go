package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// PutUser stores a new user (Version 0), or a changed one whose Version is the stored one, and
// sets u.Version to the new version. Created never changes. The error wraps run.ErrConflict if
// another user has the name in any case, if the version is another, or if a new user's id
// exists; run.ErrNotFound if a changed one does not exist.
func (s *Store) PutUser(ctx context.Context, u *auth.User) error {
	switch {
	case u.ID == "" || u.ID != clean(u.ID):
		return &run.InputError{Field: "id", Text: "must be UTF-8 without NUL, and not empty"}
	case u.Name == "":
		return &run.InputError{Field: "name", Text: "is empty"}
	case !u.Role.Valid():
		return &run.InputError{Field: "role", Text: "is no role: viewer, tester, operator or admin"}
	}
	err := s.write(ctx, func(t *tx) error {
		var other string
		if ok, err := t.one(`SELECT id FROM users WHERE name_lower = $1 AND id <> $2`, []any{lower(u.Name), u.ID}, &other); err != nil {
			return err
		} else if ok {
			return conflict(fmt.Sprintf("there is a user named %q already", u.Name))
		}
		var version int64
		there, err := t.one(`SELECT version FROM users WHERE id = $1`, []any{u.ID}, &version)
		switch {
		case err != nil:
			return err
		case u.Version == 0 && there:
			return conflict("user " + u.ID + " is there already")
		case u.Version == 0:
			return t.run(`INSERT INTO users (id, name, name_lower, role, password, disabled, version, created) VALUES ($1, $2, $3, $4, $5, $6, 1, $7)`,
				u.ID, clean(u.Name), lower(u.Name), string(u.Role), u.Password, btoi(u.Disabled), ns(u.Created))
		case !there:
			return missing("user " + strconv.Quote(u.ID))
		case version != u.Version:
			return conflict(fmt.Sprintf("user %s has been changed meanwhile: the version is %d, not %d", u.Name, version, u.Version))
		}
		return t.run(`UPDATE users SET name = $1, name_lower = $2, role = $3, password = $4, disabled = $5, version = version + 1 WHERE id = $6`,
			clean(u.Name), lower(u.Name), string(u.Role), u.Password, btoi(u.Disabled), u.ID)
	})
	if err == nil {
		u.Version++
	}
	return err
}

const userColumns = `id, name, role, password, disabled, version, created`

// readUser reads a row of userColumns. The error is that of scan.
func readUser(scan func(...any) error) (u auth.User, err error) {
	var created, disabled int64
	err = scan(&u.ID, &u.Name, &u.Role, &u.Password, &disabled, &u.Version, &created)
	u.Created, u.Disabled = at(created), disabled != 0
	return u, err
}

// User returns a user by id.
func (s *Store) User(ctx context.Context, id string) (*auth.User, error) {
	return get(ctx, s, "user "+strconv.Quote(id), `SELECT `+userColumns+` FROM users WHERE id = $1`, []any{clean(id)}, readUser)
}

// UserNamed returns a user by name, in any case.
func (s *Store) UserNamed(ctx context.Context, name string) (*auth.User, error) {
	return get(ctx, s, "user named "+strconv.Quote(name), `SELECT `+userColumns+` FROM users WHERE name_lower = $1`, []any{lower(name)}, readUser)
}

// Users returns all users in the order of their creation.
func (s *Store) Users(ctx context.Context) ([]auth.User, error) {
	return list(ctx, s, `SELECT `+userColumns+` FROM users ORDER BY created, id`, nil, readUser)
}

// ofUser calls f in a transaction if the user exists; otherwise the error wraps
// run.ErrNotFound.
func (s *Store) ofUser(ctx context.Context, id string, f func(*tx) error) error {
	return s.write(ctx, func(t *tx) error {
		var there int
		ok, err := t.one(`SELECT 1 FROM users WHERE id = $1`, []any{clean(id)}, &there)
		if err == nil && !ok {
			err = missing("user " + strconv.Quote(id))
		}
		if err != nil {
			return err
		}
		return f(t)
	})
}

// PutSession stores a new session, or the time of last use of one with the same hash. The
// error wraps run.ErrNotFound if the user does not exist, and run.ErrConflict if the session
// is another user's.
func (s *Store) PutSession(ctx context.Context, x *auth.Session) error {
	if len(x.Hash) == 0 {
		return &run.InputError{Field: "hash", Text: "is empty"}
	}
	return s.ofUser(ctx, x.User, func(t *tx) error {
		n, err := t.exec(`INSERT INTO sessions (hash, user_id, created, seen) VALUES ($1, $2, $3, $4)
			ON CONFLICT (hash) DO UPDATE SET seen = excluded.seen WHERE sessions.user_id = excluded.user_id`, x.Hash, x.User, ns(x.Created), ns(x.Seen))
		if err == nil && n == 0 {
			err = conflict("the session is another user's")
		}
		return err
	})
}

// Session returns a session by the hash of its secret. It does not check the session's age.
func (s *Store) Session(ctx context.Context, hash []byte) (*auth.Session, error) {
	return get(ctx, s, "such session", `SELECT hash, user_id, created, seen FROM sessions WHERE hash = $1`, []any{blob(hash)},
		func(scan func(...any) error) (x auth.Session, err error) {
			var created, seen int64
			err = scan(&x.Hash, &x.User, &created, &seen)
			x.Created, x.Seen = at(created), at(seen)
			return x, err
		})
}

// DeleteSession deletes a session. It is no error if the session does not exist.
func (s *Store) DeleteSession(ctx context.Context, hash []byte) error {
	return s.write(ctx, func(t *tx) error { return t.run(`DELETE FROM sessions WHERE hash = $1`, blob(hash)) })
}

// DeleteSessionsOf deletes all sessions of a user.
func (s *Store) DeleteSessionsOf(ctx context.Context, user string) error {
	return s.write(ctx, func(t *tx) error { return t.run(`DELETE FROM sessions WHERE user_id = $1`, clean(user)) })
}

// DeleteOldSessions deletes the sessions that were last seen before seenBefore or created
// before createdBefore.
func (s *Store) DeleteOldSessions(ctx context.Context, seenBefore, createdBefore time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.run(`DELETE FROM sessions WHERE seen < $1 OR created < $2`, ns(seenBefore), ns(createdBefore))
	})
}

// PutToken stores a new token, or changes the name and times of one with the same id. A time
// of use never decreases, and a revocation stays as it is. The error wraps run.ErrNotFound if
// the user does not exist, and run.ErrConflict if the stored token has another user, role or
// hash.
func (s *Store) PutToken(ctx context.Context, x *auth.Token) error {
	if x.ID == "" || x.ID != clean(x.ID) || len(x.Hash) == 0 || !x.Role.Valid() {
		return &run.InputError{Field: "token", Text: "has no id, no hash or no role"}
	}
	return s.ofUser(ctx, x.User, func(t *tx) error {
		n, err := t.exec(`INSERT INTO tokens (id, name, user_id, role, hash, created, expires, used, revoked) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, expires = excluded.expires,
			used = CASE WHEN excluded.used > tokens.used THEN excluded.used ELSE tokens.used END,
			revoked = CASE WHEN tokens.revoked = 0 THEN excluded.revoked ELSE tokens.revoked END
			WHERE tokens.user_id = excluded.user_id AND tokens.role = excluded.role AND tokens.hash = excluded.hash`,
			x.ID, clean(x.Name), x.User, string(x.Role), x.Hash, ns(x.Created), ns(x.Expires), ns(x.Used), ns(x.Revoked))
		if err == nil && n == 0 {
			err = conflict("token " + x.ID + " is there already, with another user, role or secret")
		}
		return err
	})
}

const tokenColumns = `id, name, user_id, role, hash, created, expires, used, revoked`

// readToken reads a row of tokenColumns. The error is that of scan.
func readToken(scan func(...any) error) (x auth.Token, err error) {
	var created, expires, used, revoked int64
	err = scan(&x.ID, &x.Name, &x.User, &x.Role, &x.Hash, &created, &expires, &used, &revoked)
	x.Created, x.Expires, x.Used, x.Revoked = at(created), at(expires), at(used), at(revoked)
	return x, err
}

// Token returns a token by its id, also a revoked or expired one.
func (s *Store) Token(ctx context.Context, id string) (*auth.Token, error) {
	return get(ctx, s, "token "+strconv.Quote(id), `SELECT `+tokenColumns+` FROM tokens WHERE id = $1`, []any{clean(id)}, readToken)
}

// Tokens returns the tokens of a user (an id), or all if user is empty, in the order of
// creation, also revoked and expired ones. A user who does not exist has none.
func (s *Store) Tokens(ctx context.Context, user string) ([]auth.Token, error) {
	query, args := `SELECT `+tokenColumns+` FROM tokens`, []any{}
	if user != "" {
		query, args = query+` WHERE user_id = $1`, append(args, clean(user))
	}
	return list(ctx, s, query+` ORDER BY created, id`, args, readToken)
}
