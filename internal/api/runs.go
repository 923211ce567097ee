package api

import (
	"context"
	"errors"
	"strings"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

type runsQuery struct {
	PageQuery
	State       run.State `query:"state" enum:"queued,compiling,starting,running,stopping,finished,failed,cancelled"`
	Application string    `query:"application" maxLength:"64" doc:"id"`
	Tag         string    `query:"tag" maxLength:"512" doc:"of the application"`
	Owner       string    `query:"owner" maxLength:"64"`
	Text        string    `query:"text" maxLength:"512" doc:"in the name"`
}

// runs returns a page of runs that match the filter, newest first.
func (s *Server) runs(ctx context.Context, in *runsQuery) (*body[types.Page[run.Order]], error) {
	f := run.Filter{State: in.State, Application: in.Application, Tag: in.Tag, Owner: in.Owner, Text: in.Text, After: in.After, Limit: in.Limit}
	page, next, err := s.master.Runs(ctx, f)
	return answer(types.Page[run.Order]{Items: orEmpty(page), Next: next}), err
}

// submit queues a run of an application, or of a source, which becomes an application of
// the request's user, and returns the run. It returns a problem (422 or 413) if a value is
// not allowed or the application does not exist; else the error is the master's.
func (s *Server) submit(ctx context.Context, in *withBody[types.Submission]) (*body[run.Order], error) {
	q := requestOf(ctx)
	b := in.Body
	sub := Submission{Application: b.Application, Options: b.Options, Owner: q.caller.user.Name}
	if b.Application == "" {
		if b.Source == nil {
			return nil, invalid("/source", "is missing: send an application, or a source with a name")
		}
		var err error
		if sub.Name, err = checkLabel("/name", b.Name); err != nil {
			return nil, err
		}
		if sub.Tags, err = checkTags("/tags", b.Tags); err != nil {
			return nil, err
		}
		if err := s.options.limits.checkSource("/source", *b.Source); err != nil {
			return nil, err
		}
		sub.Source = *b.Source
		q.detail = digest(sub.Source) + ", "
	} else {
		if b.Source != nil || b.Name != "" || len(b.Tags) > 0 {
			return nil, invalid("/application", "excludes source, name and tags")
		}
		if !idForm.MatchString(b.Application) {
			return nil, invalid("/application", "is no id of an application")
		}
		if _, err := s.master.Application(ctx, b.Application); err != nil {
			if errors.Is(err, run.ErrNotFound) {
				return nil, invalid("/application", "is no id of an application")
			}
			return nil, err
		}
		q.detail = "application " + b.Application + ", "
	}
	q.detail += targets(&b.Options)
	o, err := s.master.Submit(ctx, sub)
	return queued(q, o, err)
}

// targets returns where a run may connect to, for the audit log: "targets A B", or "targets
// any".
func targets(o *run.Options) string {
	if len(o.Guards.Targets) == 0 {
		return "targets any"
	}
	return "targets " + strings.Join(o.Guards.Targets, " ")
}

// queued answers a request with the run that it has queued, or returns err, that of queuing
// it, unless it is nil.
func queued(q *request, o *run.Order, err error) (*body[run.Order], error) {
	if err != nil {
		return nil, err
	}
	q.object = o.ID
	return answer(*o), nil
}

// rerun queues a run with the source and the options of another one, also if its application
// has changed since, for the request's user, and returns the new run. The error is the
// master's: it wraps run.ErrNotFound without such a run, run.ErrConflict if that was imported,
// or a *run.InputError if its options are no longer valid.
func (s *Server) rerun(ctx context.Context, in *byID) (*body[run.Order], error) {
	o, err := s.master.Run(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	q := requestOf(ctx)
	q.detail = "of run " + o.ID + ", " + targets(&o.Options)
	again, err := s.master.Rerun(ctx, o.ID, q.caller.user.Name)
	return queued(q, again, err)
}

// run returns a run with its version as ETag. The error wraps run.ErrNotFound if it does not
// exist.
func (s *Server) run(ctx context.Context, in *byID) (*versioned[run.Order], error) {
	o, err := s.master.Run(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answerVersion(*o, o.Version), nil
}

func (s *Server) transitions(ctx context.Context, in *byID) (*body[types.List[run.Transition]], error) {
	all, err := s.master.Transitions(ctx, in.ID)
	return answer(types.List[run.Transition]{Items: orEmpty(all)}), err
}

func (s *Server) stopRun(ctx context.Context, in *byID) (*empty, error) {
	return nil, s.master.Stop(ctx, in.ID, requestOf(ctx).caller.user.Name)
}

func (s *Server) cancelRun(ctx context.Context, in *byID) (*empty, error) {
	return nil, s.master.Cancel(ctx, in.ID, requestOf(ctx).caller.user.Name)
}

func (s *Server) deleteRun(ctx context.Context, in *byID) (*empty, error) {
	return nil, s.master.Delete(ctx, in.ID)
}

// forRun is a request with a body for one run.
type forRun[T any] struct {
	ID   string `path:"id" maxLength:"64"`
	Body T
}

// control changes a run's load. It returns a problem (422) if the fields of the request do
// not fit what it asks for; else the error is the master's, such as run.ErrConflict without
// a load.
func (s *Server) control(ctx context.Context, in *forRun[types.Control]) (*empty, error) {
	q, b := requestOf(ctx), in.Body
	if b.What == "scale" && (b.Users == nil) == (b.Rate == nil) {
		return nil, invalid("/users", "scale needs either users or rate")
	}
	if b.What != "scale" && (b.Users != nil || b.Rate != nil || b.Class != "") {
		return nil, invalid("/what", "only scale has a class, users or a rate")
	}
	q.detail = b.What
	return nil, s.master.Control(ctx, in.ID, event.Change{What: b.What, Class: b.Class, Users: b.Users, Rate: b.Rate, By: q.caller.user.Name})
}

// stopAll cancels the active run and, on request, all queued ones, and returns the ids of
// those that it cancelled. With an error of the master the client gets no ids, but the
// audit log does.
func (s *Server) stopAll(ctx context.Context, in *withBody[types.StopAll]) (*body[types.Stopped], error) {
	q := requestOf(ctx)
	ids, err := s.master.StopAll(ctx, in.Body.Queued, q.caller.user.Name)
	q.detail = strings.Join(ids, " ")
	return answer(types.Stopped{Runs: orEmpty(ids)}), err
}
