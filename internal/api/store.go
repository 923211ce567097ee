package api

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// Store stores users, sessions, tokens, the audit log and replies. Its methods may be called
// by several goroutines at once. An error wraps run.ErrNotFound if the record does not
// exist, and run.ErrConflict if it has changed since it was read, or exists already.
type Store interface {
	// PutUser stores a new user (Version 0), or a changed one whose Version is the stored
	// one. Names are unique without regard to case. It sets Version.
	PutUser(ctx context.Context, u *auth.User) error
	User(ctx context.Context, id string) (*auth.User, error)
	// UserNamed returns a user by name, without regard to case.
	UserNamed(ctx context.Context, name string) (*auth.User, error)
	Users(ctx context.Context) ([]auth.User, error)

	// PutSession stores a session, or the time of use of one that exists.
	PutSession(ctx context.Context, s *auth.Session) error
	Session(ctx context.Context, hash []byte) (*auth.Session, error)
	// DeleteSession and DeleteSessionsOf return nil if there is nothing to delete.
	DeleteSession(ctx context.Context, hash []byte) error
	DeleteSessionsOf(ctx context.Context, user string) error
	DeleteOldSessions(ctx context.Context, seenBefore, createdBefore time.Time) error

	// PutToken stores a new token, or the changed name, use and revocation of one that
	// exists.
	PutToken(ctx context.Context, t *auth.Token) error
	Token(ctx context.Context, id string) (*auth.Token, error)
	// Tokens returns the tokens of a user, or of all users if user is empty.
	Tokens(ctx context.Context, user string) ([]auth.Token, error)

	// Audit appends an entry: it sets Number and Chain.
	Audit(ctx context.Context, e *auth.Entry) error
	// Entries returns up to limit entries of the audit log before a number (0: the newest),
	// newest first.
	Entries(ctx context.Context, before int64, limit int) ([]auth.Entry, error)

	// Reply returns the answer to a user's key, or nil. PutReply stores one; it returns
	// run.ErrConflict if the key has an answer.
	Reply(ctx context.Context, user, key string) (*auth.Reply, error)
	PutReply(ctx context.Context, r *auth.Reply) error
	DeleteOldReplies(ctx context.Context, before time.Time) error
}
