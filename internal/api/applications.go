package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// PageQuery holds the parameters of a page.
type PageQuery struct {
	After string `query:"after" maxLength:"256" pattern:"^[A-Za-z0-9._~=-]*$" doc:"next of the previous page"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

type applicationsQuery struct {
	PageQuery
	Tag   string `query:"tag" maxLength:"512"`
	Owner string `query:"owner" maxLength:"64"`
	Text  string `query:"text" maxLength:"512" doc:"in the name"`
}

func (s *Server) applications(ctx context.Context, in *applicationsQuery) (*body[types.Page[run.Application]], error) {
	page, next, err := s.master.Applications(ctx, run.Filter{Tag: in.Tag, Owner: in.Owner, Text: in.Text, After: in.After, Limit: in.Limit})
	return answer(types.Page[run.Application]{Items: orEmpty(page), Next: next}), err
}

// application returns an application with its source, except the data of private files, and
// its version as ETag. The error wraps run.ErrNotFound if it does not exist.
func (s *Server) application(ctx context.Context, in *byID) (*versioned[run.Application], error) {
	a, err := s.master.Application(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answerVersion(withoutPrivate(*a), a.Version), nil
}

// newApplication stores an application of the request's user, and returns it without the
// data of private files. The error is a problem of fill, or the master's.
func (s *Server) newApplication(ctx context.Context, in *withBody[types.NewApplication]) (*versioned[run.Application], error) {
	q := requestOf(ctx)
	a := &run.Application{Owner: q.caller.user.Name}
	if err := s.fill(a, in.Body); err != nil {
		return nil, err
	}
	if err := s.master.PutApplication(ctx, a); err != nil {
		return nil, err
	}
	q.object, q.detail = a.ID, a.Name+", "+digest(a.Source)
	return answerVersion(withoutPrivate(*a), a.Version), nil
}

// changeApplication replaces what a user wrote of an application, all of it; the owner
// stays. It returns a problem as checkVersion and fill do, and errStale also if another
// user changed it first.
func (s *Server) changeApplication(ctx context.Context, in *change[types.NewApplication]) (*versioned[run.Application], error) {
	q := requestOf(ctx)
	old, err := s.master.Application(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.IfMatch, old.Version); err != nil {
		return nil, err
	}
	a := *old
	if err := s.fill(&a, in.Body); err != nil {
		return nil, err
	}
	if err := s.master.PutApplication(ctx, &a); err != nil {
		if now, err2 := s.master.Application(ctx, in.ID); errors.Is(err, run.ErrConflict) && err2 == nil && now.Version != old.Version {
			return nil, errStale // another user changed it first
		}
		return nil, err
	}
	q.detail = a.Name + ", " + digest(a.Source)
	return answerVersion(withoutPrivate(a), a.Version), nil
}

// deleteApplication deletes an application with its runs. The error is the master's, such
// as run.ErrConflict if one of the runs has not ended.
func (s *Server) deleteApplication(ctx context.Context, in *byID) (*empty, error) {
	a, err := s.master.Application(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	requestOf(ctx).detail = a.Name
	return nil, s.master.DeleteApplication(ctx, in.ID)
}

// fill checks what a user wrote and sets an application's name, tags and source to it. It
// returns a problem (422 or 413) if a value is not allowed; a must not be used then.
func (s *Server) fill(a *run.Application, in types.NewApplication) (err error) {
	if a.Name, err = checkLabel("/name", in.Name); err != nil {
		return err
	}
	if a.Tags, err = checkTags("/tags", in.Tags); err != nil {
		return err
	}
	a.Source = run.Source{Scenario: in.Scenario, File: in.File, GoMod: in.GoMod, GoSum: in.GoSum, Files: in.Files}
	return s.options.limits.checkSource("", a.Source)
}

// withoutPrivate returns a copy of an application without the data of private files. It
// does not change a.
func withoutPrivate(a run.Application) run.Application {
	a.Source.Files = slices.Clone(a.Source.Files)
	for i := range a.Source.Files {
		if f := &a.Source.Files[i]; f.Private {
			f.Data = []byte{}
		}
	}
	return a
}

// digest returns "scenario sha256 HEX", which describes a source in the audit log: the hash
// is of its scenario, without further files.
func digest(s run.Source) string {
	h := sha256.Sum256([]byte(s.Scenario))
	return "scenario sha256 " + hex.EncodeToString(h[:])
}
