package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

// versioned is an answer with a version, as ETag.
type versioned[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

func tag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

func answerVersion[T any](v T, version int64) *versioned[T] {
	return &versioned[T]{ETag: tag(version), Body: v}
}

// change is a request to change a record at the version that was read.
type change[T any] struct {
	ID      string `path:"id" maxLength:"64"`
	IfMatch string `header:"If-Match" maxLength:"256" doc:"the ETag that was read; *: any version"`
	Body    T
}

// checkVersion returns a problem unless a record has the version that the client has read:
// 428 without If-Match, errStale (412) if no ETag in it is that of version. "*" is any
// version.
func checkVersion(ifMatch string, version int64) error {
	switch {
	case ifMatch == "":
		return refuse(http.StatusPreconditionRequired, types.NoPrecondition, "send If-Match with the ETag that you read, or *")
	case strings.TrimSpace(ifMatch) == "*":
		return nil
	}
	for one := range strings.SplitSeq(ifMatch, ",") {
		if strings.TrimSpace(one) == tag(version) {
			return nil
		}
	}
	return errStale
}

func (s *Server) users(ctx context.Context, _ *empty) (*body[types.List[auth.User]], error) {
	users, err := s.store.Users(ctx)
	return answer(types.List[auth.User]{Items: orEmpty(users)}), err
}

// user returns a user with its version as ETag. The error wraps run.ErrNotFound if it does not
// exist.
func (s *Server) user(ctx context.Context, in *byID) (*versioned[auth.User], error) {
	u, err := s.store.User(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answerVersion(*u, u.Version), nil
}

// newUser creates a user and returns it with its version as ETag; its errors are those of
// create.
func (s *Server) newUser(ctx context.Context, in *withBody[types.NewUser]) (*versioned[auth.User], error) {
	u, err := s.create(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	q := requestOf(ctx)
	q.object, q.detail = u.ID, u.Name+", role "+string(u.Role)
	return answerVersion(*u, u.Version), nil
}

// changeUser changes the fields that are set, all or none, and returns the user. It returns a
// problem if If-Match is missing or has another version, the password is not allowed, or no
// enabled admin would be left (409). A new password or disabling ends the user's sessions, and
// disabling also the streams of the user's tokens; an error of that comes after the change.
func (s *Server) changeUser(ctx context.Context, in *change[types.UserChange]) (*versioned[auth.User], error) {
	s.userChanges.Lock()
	defer s.userChanges.Unlock()
	u, err := s.store.User(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.IfMatch, u.Version); err != nil {
		return nil, err
	}
	was := *u
	changes := []string{u.Name}
	if in.Body.Role != nil {
		u.Role = *in.Body.Role
		changes = append(changes, "role "+string(was.Role)+" to "+string(u.Role))
	}
	if in.Body.Disabled != nil {
		u.Disabled = *in.Body.Disabled
		changes = append(changes, "disabled "+strconv.FormatBool(u.Disabled))
	}
	if in.Body.Password != nil {
		if err := s.setPassword(ctx, u, *in.Body.Password, "/password"); err != nil {
			return nil, err
		}
		changes = append(changes, "password")
	}
	if was.Role == auth.Admin && !was.Disabled && (u.Role != auth.Admin || u.Disabled) {
		if err := s.anotherAdmin(ctx, u.ID); err != nil {
			return nil, err
		}
	}
	requestOf(ctx).detail = strings.Join(changes, ", ")
	if err := s.store.PutUser(ctx, u); err != nil {
		return nil, err
	}
	if u.Disabled || u.Password != was.Password {
		if err := s.endSessions(ctx, u.ID, u.Disabled); err != nil {
			return nil, err
		}
	}
	return answerVersion(*u, u.Version), nil
}

// anotherAdmin returns a problem (409) if there is no enabled admin besides the user with
// this id. The caller must hold s.userChanges.
func (s *Server) anotherAdmin(ctx context.Context, user string) error {
	users, err := s.store.Users(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.ID != user && u.Role == auth.Admin && !u.Disabled {
			return nil
		}
	}
	return refuse(http.StatusConflict, types.Conflict, "this is the last admin: make another one first")
}

type auditQuery struct {
	Before int64 `query:"before" minimum:"0" doc:"number of the oldest entry of the previous page; unset: from the newest on"`
	Limit  int   `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// auditLog returns a page of the audit log, newest first, below the number Before; Next is
// set if the page is full, even if no further entry exists.
func (s *Server) auditLog(ctx context.Context, in *auditQuery) (*body[types.Page[auth.Entry]], error) {
	entries, err := s.store.Entries(ctx, in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	page := types.Page[auth.Entry]{Items: orEmpty(entries)}
	if len(entries) == in.Limit {
		page.Next = strconv.FormatInt(entries[len(entries)-1].Number, 10)
	}
	return answer(page), nil
}
