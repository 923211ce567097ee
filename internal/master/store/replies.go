package store

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/run"
)

// Reply returns the stored reply to a request of a user (an id) with an idempotency key, or
// nil without an error if no reply is stored.
func (s *Store) Reply(ctx context.Context, user, key string) (*auth.Reply, error) {
	all, err := list(ctx, s, `SELECT user_id, idem, request, status, type, body, created FROM replies WHERE user_id = $1 AND idem = $2`,
		[]any{clean(user), clean(key)}, func(scan func(...any) error) (r auth.Reply, err error) {
			var created int64
			err = scan(&r.User, &r.Key, &r.Request, &r.Status, &r.Type, &r.Body, &created)
			r.Created = at(created)
			return r, err
		})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// PutReply stores a reply. The error wraps run.ErrConflict if there is one of this user for
// its key; that stays.
func (s *Store) PutReply(ctx context.Context, r *auth.Reply) error {
	if r.Key == "" {
		return &run.InputError{Field: "key", Text: "is empty"}
	}
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec(`INSERT INTO replies (user_id, idem, request, status, type, body, created) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
			clean(r.User), clean(r.Key), blob(r.Request), r.Status, clean(r.Type), blob(r.Body), ns(r.Created))
		if err == nil && n == 0 {
			err = conflict("the idempotency key has an answer already")
		}
		return err
	})
}

// DeleteOldReplies deletes the replies that were created before a time.
func (s *Store) DeleteOldReplies(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(t *tx) error { return t.run(`DELETE FROM replies WHERE created < $1`, ns(before)) })
}
