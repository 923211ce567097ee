package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

// ownership restricts a route to the owner of the record that its path names, and to
// users with a higher role.
type ownership struct {
	others auth.Role // the least role that may call the route for records of other users
	owns   func(s *Server, ctx context.Context, w *caller, id string) (bool, error)
	denied *problem // the answer to everyone else
}

var errNotOwner = refuse(http.StatusForbidden, types.Forbidden, "it is another user's: only operators may do that")

var (
	ownRun = &ownership{others: auth.Operator, denied: errNotOwner,
		owns: func(s *Server, ctx context.Context, w *caller, id string) (bool, error) {
			o, err := s.master.Run(ctx, id)
			return err == nil && strings.EqualFold(w.user.Name, o.Owner), err
		}}
	ownApplication = &ownership{others: auth.Operator, denied: errNotOwner,
		owns: func(s *Server, ctx context.Context, w *caller, id string) (bool, error) {
			a, err := s.master.Application(ctx, id)
			return err == nil && strings.EqualFold(w.user.Name, a.Owner), err
		}}
	// ownToken answers for another user's token as for one that does not exist.
	ownToken = &ownership{others: auth.Admin, denied: errNotFound,
		owns: func(s *Server, ctx context.Context, w *caller, id string) (bool, error) {
			t, err := s.store.Token(ctx, id)
			return err == nil && t.User == w.user.ID, err
		}}
)

// permit returns nil if the user of the request may call a route: with the kind of login
// that it asks for, and for the record in its path. It returns a problem if not, and an
// error that wraps run.ErrNotFound if the record does not exist. The guard has checked the
// role.
func (s *Server) permit(ctx context.Context, rt *route) error {
	q := requestOf(ctx)
	if rt.session && q.caller.session == nil {
		return errSessionRequired
	}
	if rt.own == nil {
		return nil
	}
	owns, err := rt.own.owns(s, ctx, q.caller, q.http.PathValue("id"))
	if err != nil {
		return err
	}
	if !owns && !q.caller.role.Covers(rt.own.others) {
		return rt.own.denied
	}
	return nil
}

var errSessionRequired = refuse(http.StatusForbidden, types.SessionRequired, "an API token can't do that: log in with name and password")
