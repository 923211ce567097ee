package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

// replyLife is how long the answer to an idempotency key is stored.
const replyLife = 24 * time.Hour

var keyForm = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)

// once calls next for the first request with an idempotency key of its user, and stores the
// answer for replyLife; if it can't be stored, that is logged. Repeated requests get the
// stored answer, with Idempotent-Replayed: true, once a request with the key that is being
// answered is done. An answer with an error is not stored, so the key may be used again. It
// answers with a problem if the key is malformed (400) or was used for another method, path or
// body (409). If the request ends while it waits, next is not called.
func (s *Server) once(w *recorder, r *http.Request, keys []string, body []byte, next http.HandlerFunc) {
	q := requestOf(r.Context())
	if len(keys) != 1 || !keyForm.MatchString(keys[0]) {
		refuse(http.StatusBadRequest, types.Malformed, "Idempotency-Key must have 1 to 128 characters of ASCII, without spaces").write(w, q)
		return
	}
	user, key := q.caller.user.ID, keys[0]
	unlock, err := s.replies.lock(r.Context(), user+" "+key)
	if err != nil {
		problemOf(err).write(w, q)
		return
	}
	defer unlock()
	what := sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", r.Method, r.URL.Path, body))
	old, err := s.store.Reply(r.Context(), user, key)
	switch {
	case err != nil:
		q.log.Error("request failed", slog.Any("error", err))
		problemOf(err).write(w, q)
		return
	case old != nil:
		if !auth.Same(old.Request, what[:]) {
			refuse(http.StatusConflict, types.KeyReused, "this Idempotency-Key was sent with another request").write(w, q)
			return
		}
		q.detail = "repeated, idempotency key " + key
		w.Header().Set("Content-Type", old.Type)
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(old.Status)
		_, _ = w.Write(old.Body)
		return
	}
	var answered []byte
	w.copy = func(b []byte) { answered = append(answered, b...) }
	next(w, r)
	w.copy = nil
	if w.status >= http.StatusBadRequest {
		return
	}
	reply := &auth.Reply{User: user, Key: key, Request: what[:], Status: w.status, Type: w.Header().Get("Content-Type"), Body: answered, Created: s.now().UTC()}
	if err := s.store.PutReply(context.WithoutCancel(r.Context()), reply); err != nil {
		q.log.Error("the answer to an idempotency key could not be stored", slog.Any("error", err))
	}
}

// locks holds a lock for each name in use. Its zero value is ready to use.
type locks struct {
	mu   sync.Mutex
	held map[string]*namedLock
}

type namedLock struct {
	turn  chan struct{}
	users int // goroutines that hold it or wait for it
}

// lock waits for the lock of a name, until ctx ends: the error then wraps ctx's. The caller
// must call unlock once.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*namedLock{}
	}
	at := l.held[name]
	if at == nil {
		at = &namedLock{turn: make(chan struct{}, 1)}
		l.held[name] = at
	}
	at.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case at.turn <- struct{}{}:
		return func() {
			<-at.turn
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, errors.Join(errors.New("wait for the same request"), ctx.Err())
	}
}
