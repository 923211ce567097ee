package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// How long a session lasts: after its last request, and in all.
const (
	sessionIdle = 12 * time.Hour
	sessionLife = 7 * 24 * time.Hour
)

// touchEvery is how often the time of a session's or token's last use is stored.
const touchEvery = time.Minute

// caller is the user of a request, and the login that it was sent with.
type caller struct {
	user    auth.User
	role    auth.Role // the effective one: a token may have less than its user
	token   *auth.Token
	session []byte // hash of its secret; nil: a token
	expires time.Time
}

// cookie returns the name of the session's cookie. With the prefix __Host- browsers send it
// to this host and over TLS only; they refuse it without TLS.
func cookie(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-gobench"
	}
	return "gobench"
}

// authenticate returns the user of a request, or nil and no error if it has no valid login.
// A header Authorization excludes the cookie. The error is that of the store. It stores the
// time of use, at most once in touchEvery; see stored for its errors.
func (s *Server) authenticate(r *http.Request) (*caller, error) {
	var w *caller
	var err error
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		text, ok := strings.CutPrefix(header[0], "Bearer ")
		if !ok || len(header) != 1 {
			return nil, nil
		}
		id, secret, ok := auth.ParseToken(text)
		if !ok {
			return nil, nil
		}
		w, err = s.byToken(r.Context(), id, auth.Hash(secret))
	} else {
		cookies := r.CookiesNamed(cookie(r))
		if len(cookies) != 1 || cookies[0].Value == "" {
			return nil, nil
		}
		w, err = s.bySession(r.Context(), auth.Hash(cookies[0].Value))
	}
	if errors.Is(err, run.ErrNotFound) {
		return nil, nil
	}
	return w, err
}

// byToken returns the user of the token with an id and the hash of a secret; nil if the
// secret is wrong, the token is revoked or has expired, or its user is disabled. The error
// wraps run.ErrNotFound if the token or its user does not exist. The role is the lower one
// of both. It stores the time of use, at most once in touchEvery; the caller must not hold
// s.logins.
func (s *Server) byToken(ctx context.Context, id string, hash []byte) (*caller, error) {
	t, err := s.store.Token(ctx, id)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if !auth.Same(t.Hash, hash) || !t.Revoked.IsZero() || !now.Before(t.Expires) {
		return nil, nil
	}
	u, err := s.store.User(ctx, t.User)
	if err != nil || u.Disabled {
		return nil, err
	}
	w := &caller{user: *u, role: t.Role, token: t, expires: t.Expires}
	if !u.Role.Covers(t.Role) {
		w.role = u.Role // the owner's was lowered
	}
	if now.Sub(t.Used) < touchEvery {
		return w, nil
	}
	s.logins.Lock()
	defer s.logins.Unlock()
	if t, err = s.store.Token(ctx, id); err != nil || !t.Revoked.IsZero() {
		return nil, err // just revoked
	}
	t.Used = now
	w.token = t
	return w, s.stored(ctx, now, s.store.PutToken(ctx, t))
}

// stored returns err, which is of storing a time of use, if it means that the session or token
// was deleted. Others, as of a full disk, are logged, at most one in touchEvery: the request is
// carried out anyway. The caller must hold s.logins.
func (s *Server) stored(ctx context.Context, now time.Time, err error) error {
	if errors.Is(err, run.ErrNotFound) {
		return err
	}
	if err != nil && ctx.Err() == nil && now.Sub(s.unstored) >= touchEvery {
		s.unstored = now
		s.log.Error("the time of last use of a session or token could not be stored", slog.Any("error", err))
	}
	return nil
}

// bySession returns the user of the session with a hash; nil if it has expired or its user
// is disabled. The error wraps run.ErrNotFound if the session or its user does not exist.
// It stores the time of use, at most once in touchEvery; the caller must not hold s.logins.
func (s *Server) bySession(ctx context.Context, hash []byte) (*caller, error) {
	session, err := s.store.Session(ctx, hash)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if now.Sub(session.Seen) >= sessionIdle || now.Sub(session.Created) >= sessionLife {
		return nil, nil
	}
	u, err := s.store.User(ctx, session.User)
	if err != nil || u.Disabled {
		return nil, err
	}
	if now.Sub(session.Seen) >= touchEvery {
		s.logins.Lock()
		defer s.logins.Unlock()
		if session, err = s.store.Session(ctx, hash); err != nil {
			return nil, err // just logged out
		}
		session.Seen = now
		if err := s.stored(ctx, now, s.store.PutSession(ctx, session)); err != nil {
			return nil, err
		}
	}
	expires := session.Seen.Add(sessionIdle)
	if end := session.Created.Add(sessionLife); end.Before(expires) {
		expires = end
	}
	return &caller{user: *u, role: u.Role, session: hash, expires: expires}, nil
}

var errLogin = refuse(http.StatusUnauthorized, types.Unauthenticated, "name or password is wrong")

// checkPassword returns the user with this name and password, or errLogin if they do not
// match or the user is disabled. A wrong name takes as long as a wrong password. The error
// is also a problem (429) after too many attempts from the request's address, with this
// name or in all, or while too many passwords are hashed. A login that succeeds is not
// counted as an attempt.
func (s *Server) checkPassword(ctx context.Context, name, password string) (*auth.User, error) {
	now, q := s.now(), requestOf(ctx)
	forget, err := s.attempt(now, strings.ToLower(name)+" "+q.address, q.address)
	if err != nil {
		return nil, err
	}
	u, err := s.store.UserNamed(ctx, name)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return nil, err
	}
	hash := ""
	if u != nil && err == nil {
		hash = u.Password
	}
	ok, err := s.hasher.verify(ctx, password, hash)
	if err != nil {
		forget()
		return nil, err
	}
	if !ok || u.Disabled {
		return nil, errLogin
	}
	forget()
	return u, nil
}

// attempt counts an attempt to log in to an account and from an address, or returns a problem
// (429) with the time to wait if there were too many; one that only the account's limit
// refuses counts for the address. forget removes the attempt: it is for a right password.
func (s *Server) attempt(now time.Time, account, address string) (forget func(), err error) {
	wait, forgetAddress := s.attempts.begin(now, "address "+address, perAddress)
	var forgetAccount func()
	if wait == 0 {
		wait, forgetAccount = s.attempts.begin(now, "account "+account, perAccount)
	}
	if wait > 0 {
		return nil, retryLater(http.StatusTooManyRequests, types.TooMany, "too many attempts to log in", wait)
	}
	return func() {
		forgetAddress()
		forgetAccount()
	}, nil
}

// newSession stores a session of a user and returns its cookie, which the caller must send. It
// ends the session that the request was sent with, if any; after an error that may have ended
// already. The caller must not hold s.logins.
func (s *Server) newSession(ctx context.Context, r *http.Request, u *auth.User) (*http.Cookie, error) {
	s.logins.Lock()
	defer s.logins.Unlock()
	if old := r.CookiesNamed(cookie(r)); len(old) == 1 && old[0].Value != "" {
		if err := s.endSession(ctx, auth.Hash(old[0].Value)); err != nil {
			return nil, err
		}
	}
	secret, now := auth.NewSecret(), s.now()
	if err := s.store.PutSession(ctx, &auth.Session{Hash: auth.Hash(secret), User: u.ID, Created: now, Seen: now}); err != nil {
		return nil, err
	}
	return &http.Cookie{
		Name: cookie(r), Value: secret, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}, nil
}

// endSession ends a session and its streams. It returns nil if the session does not exist.
// The caller must hold s.logins.
func (s *Server) endSession(ctx context.Context, hash []byte) error {
	if err := s.store.DeleteSession(ctx, hash); err != nil && !errors.Is(err, run.ErrNotFound) {
		return err
	}
	s.streams.end(func(w *caller) bool { return bytes.Equal(w.session, hash) && hash != nil })
	return nil
}

// endSessions ends all sessions of the user with an id, and their streams; with tokens also
// the streams of the user's tokens, which stay valid. The caller must not hold s.logins.
func (s *Server) endSessions(ctx context.Context, user string, tokens bool) error {
	s.logins.Lock()
	defer s.logins.Unlock()
	if err := s.store.DeleteSessionsOf(ctx, user); err != nil {
		return err
	}
	s.streams.end(func(w *caller) bool { return w.user.ID == user && (tokens || w.token == nil) })
	return nil
}
