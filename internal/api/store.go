package api

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// Store keeps who may do what. All its methods may be called at once by any goroutine.
// An error wraps run.ErrNotFound where there is no such thing, and run.ErrConflict where
// it has changed meanwhile, or is there already.
type Store interface {
	// PutUser keeps a new user (Version 0), or a changed one whose Version is the one that
	// is kept. Names are unique without regard to case. It sets Version.
	PutUser(ctx context.Context, u *auth.User) error
	User(ctx context.Context, id string) (*auth.User, error)
	UserNamed(ctx context.Context, name string) (*auth.User, error)
	Users(ctx context.Context) ([]auth.User, error)

	PutSession(ctx context.Context, s *auth.Session) error
	Session(ctx context.Context, hash []byte) (*auth.Session, error)
	DeleteSession(ctx context.Context, hash []byte) error
	DeleteSessionsOf(ctx context.Context, user string) error
	DeleteOldSessions(ctx context.Context, seenBefore, createdBefore time.Time) error

	PutToken(ctx context.Context, t *auth.Token) error
	Token(ctx context.Context, id string) (*auth.Token, error)
	// Tokens gives those of a user, or of all with an empty id.
	Tokens(ctx context.Context, user string) ([]auth.Token, error)

	// Audit appends an entry: it sets Number and Chain.
	Audit(ctx context.Context, e *auth.Entry) error
	// Entries gives a page of the audit log, the newest first, before a number (0: the end).
	Entries(ctx context.Context, before int64, limit int) ([]auth.Entry, error)

	// Reply gives what was answered to a key, or nil. PutReply keeps an answer:
	// run.ErrConflict when there is one.
	Reply(ctx context.Context, user, key string) (*auth.Reply, error)
	PutReply(ctx context.Context, r *auth.Reply) error
	DeleteOldReplies(ctx context.Context, before time.Time) error
}
