package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run/version"
)

// body is an answer of JSON.
type body[T any] struct{ Body T }

func answer[T any](v T) *body[T] { return &body[T]{Body: v} }

// nothing is what a request without parameters brings, and an answer without a body.
type nothing struct{}

// with is a request whose body is a T.
type with[T any] struct{ Body T }

// byID is a request for one thing.
type byID struct {
	ID string `path:"id" maxLength:"64"`
}

// loggedIn is the answer to a login.
type loggedIn struct {
	SetCookie string `header:"Set-Cookie"`
	Body      types.Me
}

func (s *Server) information(ctx context.Context, _ *nothing) (*body[types.Information], error) {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	return answer(types.Information{Product: "gobench", Setup: s.setup.hash != nil}), nil
}

func (s *Server) doSetup(ctx context.Context, in *with[types.Setup]) (*loggedIn, error) {
	asked(ctx).object = in.Body.Name
	u, err := s.first(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return s.let(ctx, u)
}

func (s *Server) login(ctx context.Context, in *with[types.Login]) (*loggedIn, error) {
	if auth.CheckName(in.Body.Name) == nil { // what else was typed there may be a password
		asked(ctx).object = in.Body.Name
	}
	u, err := s.check(ctx, in.Body.Name, in.Body.Password)
	if err != nil {
		return nil, err
	}
	return s.let(ctx, u)
}

// let lets a user in.
func (s *Server) let(ctx context.Context, u *auth.User) (*loggedIn, error) {
	q := asked(ctx)
	c, err := s.begin(ctx, q.http, u)
	if err != nil {
		return nil, err
	}
	q.who = &who{user: *u, role: u.Role}
	return &loggedIn{
		SetCookie: c.String(),
		Body:      types.Me{User: *u, Role: u.Role, Expires: s.now().Add(sessionIdle).UTC(), Version: version.Version},
	}, nil
}

// loggedOut takes the cookie back.
type loggedOut struct {
	SetCookie string `header:"Set-Cookie"`
}

func (s *Server) logout(ctx context.Context, _ *nothing) (*loggedOut, error) {
	q := asked(ctx)
	s.logins.Lock()
	defer s.logins.Unlock()
	if err := s.endSession(ctx, q.who.session); err != nil {
		return nil, err
	}
	c := http.Cookie{Name: cookie(q.http), Path: "/", MaxAge: -1, HttpOnly: true, Secure: q.http.TLS != nil, SameSite: http.SameSiteStrictMode}
	return &loggedOut{SetCookie: c.String()}, nil
}

func (s *Server) me(ctx context.Context, _ *nothing) (*body[types.Me], error) {
	w := asked(ctx).who
	return answer(types.Me{User: w.user, Role: w.role, Token: w.token, Expires: w.expires.UTC(), Version: version.Version}), nil
}

func (s *Server) changePassword(ctx context.Context, in *with[types.Password]) (*loggedIn, error) {
	q := asked(ctx)
	u, err := s.check(ctx, q.who.user.Name, in.Body.Old)
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
	return s.let(ctx, u)
}

// setPassword gives a user a password; it is not kept yet.
func (s *Server) setPassword(ctx context.Context, u *auth.User, password, pointer string) (err error) {
	if err := auth.CheckPassword(password, u.Name); err != nil {
		return invalid(pointer, err.Error())
	}
	u.Password, err = s.hasher.hash(ctx, password)
	return err
}

// tokenLife is how long an API token is good for if nothing else is asked.
const tokenLife = 90 * 24 * time.Hour

type tokensOf struct {
	User string `query:"user" maxLength:"64" doc:"id, or all: of admins only; none: one's own"`
}

func (s *Server) tokens(ctx context.Context, in *tokensOf) (*body[types.List[auth.Token]], error) {
	w := asked(ctx).who
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

func (s *Server) newToken(ctx context.Context, in *with[types.NewToken]) (*body[types.MadeToken], error) {
	q, now := asked(ctx), s.now().UTC()
	name, err := checkLabel("/name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	role := in.Body.Role
	if role == "" {
		role = q.who.role
	}
	if !q.who.role.Covers(role) {
		return nil, invalid("/role", "is more than yours: "+string(q.who.role))
	}
	life := tokenLife
	if in.Body.Days > 0 {
		life = time.Duration(in.Body.Days) * 24 * time.Hour
	}
	secret := auth.NewSecret()
	t := auth.Token{ID: auth.NewID(), Name: name, User: q.who.user.ID, Role: role, Hash: auth.Hash(secret), Created: now, Expires: now.Add(life)}
	if err := s.store.PutToken(ctx, &t); err != nil {
		return nil, err
	}
	q.object, q.detail = t.ID, "role "+string(role)
	return answer(types.MadeToken{Token: t, Text: auth.TokenText(t.ID, secret)}), nil
}

func (s *Server) revokeToken(ctx context.Context, in *byID) (*nothing, error) {
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
	s.streams.end(func(w *who) bool { return w.token != nil && w.token.ID == t.ID })
	return nil, nil
}

// orEmpty makes an empty list of none: JSON then has [], not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
