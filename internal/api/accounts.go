package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run/version"
)

// body is an answer whose body is a T, as JSON.
type body[T any] struct{ Body T }

func answer[T any](v T) *body[T] { return &body[T]{Body: v} }

// empty is a request without parameters, and an answer without a body.
type empty struct{}

// withBody is a request whose body is a T.
type withBody[T any] struct{ Body T }

// byID is a request for the record with an id.
type byID struct {
	ID string `path:"id" maxLength:"64"`
}

// loggedIn is the answer to a login.
type loggedIn struct {
	SetCookie string `header:"Set-Cookie"`
	Body      types.Me
}

// information returns what is public about the master, without a login: Setup is true while
// it has a setup token for the first user, also an expired one.
func (s *Server) information(ctx context.Context, _ *empty) (*body[types.Information], error) {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	return answer(types.Information{Product: "gobench", Setup: s.setup.hash != nil}), nil
}

// doSetup creates the first user and logs it in: the answer has the cookie and the user. Its
// errors are those of first, and of startSession, when the user exists already.
func (s *Server) doSetup(ctx context.Context, in *withBody[types.Setup]) (*loggedIn, error) {
	requestOf(ctx).object = in.Body.Name
	u, err := s.first(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return s.startSession(ctx, u)
}

// login starts a session of the user with a name and a password: the answer has the cookie and
// the user. Its errors are those of checkPassword and startSession.
func (s *Server) login(ctx context.Context, in *withBody[types.Login]) (*loggedIn, error) {
	if auth.CheckName(in.Body.Name) == nil { // other text may be a password typed into the wrong field
		requestOf(ctx).object = in.Body.Name
	}
	u, err := s.checkPassword(ctx, in.Body.Name, in.Body.Password)
	if err != nil {
		return nil, err
	}
	return s.startSession(ctx, u)
}

// startSession logs a user in: it stores a new session, which replaces the request's, and
// returns the cookie and the user. The request's caller is that user then. An error is of the
// store.
func (s *Server) startSession(ctx context.Context, u *auth.User) (*loggedIn, error) {
	q := requestOf(ctx)
	c, err := s.newSession(ctx, q.http, u)
	if err != nil {
		return nil, err
	}
	q.caller = &caller{user: *u, role: u.Role}
	return &loggedIn{
		SetCookie: c.String(),
		Body:      types.Me{User: *u, Role: u.Role, Expires: s.now().Add(sessionIdle).UTC(), Version: version.Version},
	}, nil
}

// loggedOut is the answer to a logout: it deletes the cookie.
type loggedOut struct {
	SetCookie string `header:"Set-Cookie"`
}

// logout ends the session of the request, which must have one, and its streams, and deletes
// the cookie.
func (s *Server) logout(ctx context.Context, _ *empty) (*loggedOut, error) {
	q := requestOf(ctx)
	s.logins.Lock()
	defer s.logins.Unlock()
	if err := s.endSession(ctx, q.caller.session); err != nil {
		return nil, err
	}
	c := http.Cookie{Name: cookie(q.http), Path: "/", MaxAge: -1, HttpOnly: true, Secure: q.http.TLS != nil, SameSite: http.SameSiteStrictMode}
	return &loggedOut{SetCookie: c.String()}, nil
}

func (s *Server) me(ctx context.Context, _ *empty) (*body[types.Me], error) {
	w := requestOf(ctx).caller
	return answer(types.Me{User: w.user, Role: w.role, Token: w.token, Expires: w.expires.UTC(), Version: version.Version}), nil
}

// changePassword changes the password of the request's user, ends all the user's sessions
// and starts a new one. API tokens stay valid. It returns a problem (422) if the old
// password is wrong or the new one is not allowed, and (429) as checkPassword does. After an
// error of the store the new password may be stored.
func (s *Server) changePassword(ctx context.Context, in *withBody[types.Password]) (*loggedIn, error) {
	q := requestOf(ctx)
	u, err := s.checkPassword(ctx, q.caller.user.Name, in.Body.Old)
	if err != nil {
		if err == errLogin {
			return nil, invalid("/old", "is not your password")
		}
		return nil, err
	}
	if err := s.setPassword(ctx, u, in.Body.New, "/new"); err != nil {
		return nil, err
	}
	if err := s.store.PutUser(ctx, u); err != nil {
		return nil, err
	}
	if err := s.endSessions(ctx, u.ID, false); err != nil {
		return nil, err
	}
	return s.startSession(ctx, u)
}

// setPassword checks a password and sets u.Password to its hash. It does not store u, and u
// must not be stored if it returns an error: a problem (422, of the value at pointer),
// errBusy, or ctx's.
func (s *Server) setPassword(ctx context.Context, u *auth.User, password, pointer string) (err error) {
	if err := auth.CheckPassword(password, u.Name); err != nil {
		return invalid(pointer, err.Error())
	}
	u.Password, err = s.hasher.hash(ctx, password)
	return err
}

// tokenLife is the default validity of an API token.
const tokenLife = 90 * 24 * time.Hour

type tokensOf struct {
	User string `query:"user" maxLength:"64" doc:"id, or all (for admins); unset: the user's own"`
}

// tokens returns API tokens, without secrets: the user's own, or, for admins only (else
// errForbidden), those of another user or of all. Revoked and expired ones may be among
// them.
func (s *Server) tokens(ctx context.Context, in *tokensOf) (*body[types.List[auth.Token]], error) {
	w := requestOf(ctx).caller
	of := w.user.ID
	if in.User != "" && in.User != of {
		if !w.role.Covers(auth.Admin) {
			return nil, errForbidden
		}
		if of = in.User; of == "all" {
			of = ""
		}
	}
	tokens, err := s.store.Tokens(ctx, of)
	return answer(types.List[auth.Token]{Items: orEmpty(tokens)}), err
}

// newToken creates an API token of the request's user, valid for tokenLife unless the
// request says otherwise. The answer has its secret, which is not stored. It returns a
// problem (422) if the name is not allowed or the role is above the request's.
func (s *Server) newToken(ctx context.Context, in *withBody[types.NewToken]) (*body[types.MadeToken], error) {
	q, now := requestOf(ctx), s.now().UTC()
	name, err := checkLabel("/name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	role := in.Body.Role
	if role == "" {
		role = q.caller.role
	}
	if !q.caller.role.Covers(role) {
		return nil, invalid("/role", "is more than yours: "+string(q.caller.role))
	}
	life := tokenLife
	if in.Body.Days > 0 {
		life = time.Duration(in.Body.Days) * 24 * time.Hour
	}
	secret := auth.NewSecret()
	t := auth.Token{ID: auth.NewID(), Name: name, User: q.caller.user.ID, Role: role, Hash: auth.Hash(secret), Created: now, Expires: now.Add(life)}
	if err := s.store.PutToken(ctx, &t); err != nil {
		return nil, err
	}
	q.object, q.detail = t.ID, "role "+string(role)
	return answer(types.MadeToken{Token: t, Text: auth.TokenText(t.ID, secret)}), nil
}

// revokeToken makes an API token invalid and ends its streams. A token that is revoked
// already stays as it is. The error wraps run.ErrNotFound without such a token.
func (s *Server) revokeToken(ctx context.Context, in *byID) (*empty, error) {
	s.logins.Lock()
	defer s.logins.Unlock()
	t, err := s.store.Token(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if t.Revoked.IsZero() {
		t.Revoked = s.now().UTC()
		if err := s.store.PutToken(ctx, t); err != nil {
			return nil, err
		}
	}
	s.streams.end(func(w *caller) bool { return w.token != nil && w.token.ID == t.ID })
	return nil, nil
}

// orEmpty returns list itself, or an empty one instead of nil: JSON then has [], not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
