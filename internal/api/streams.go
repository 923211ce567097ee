package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// streams holds the open answers of routes that may take long. Each ends with the login of
// its request. The zero value with most set is ready to use.
type streams struct {
	most int

	mu   sync.Mutex
	open map[*stream]struct{}
}

type stream struct {
	caller *caller
	end    context.CancelFunc
}

// add adds a stream of w. The returned context ends with the login of w at the latest. The
// caller must call leave when the stream has ended. It returns a problem, and no context, at
// the limit (503), if the login has ended (401), or if the store fails. The caller must not
// hold a.logins.
func (s *streams) add(ctx context.Context, a *Server, w *caller) (_ context.Context, leave func(), p *problem) {
	ctx, end := context.WithTimeout(ctx, w.expires.Sub(a.now()))
	at := &stream{caller: w, end: end}
	s.mu.Lock()
	full := len(s.open) >= s.most
	if !full {
		if s.open == nil {
			s.open = map[*stream]struct{}{}
		}
		s.open[at] = struct{}{}
	}
	s.mu.Unlock()
	leave = func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, at)
	}
	if full {
		end()
		return nil, nil, retryLater(http.StatusServiceUnavailable, types.Unavailable, "too many streams are open", 5*time.Second)
	}
	// The login may have ended just before the stream was added.
	if still, err := a.loginValid(ctx, w); err != nil || !still {
		leave()
		if err != nil {
			return nil, nil, problemOf(err)
		}
		return nil, nil, errUnauthenticated
	}
	return ctx, leave, nil
}

// loginValid reports whether the login of w is still valid; it may store its time of use.
// The error is that of the store. The caller must not hold s.logins.
func (s *Server) loginValid(ctx context.Context, w *caller) (bool, error) {
	var now *caller
	var err error
	if w.token != nil {
		now, err = s.byToken(ctx, w.token.ID, w.token.Hash)
	} else {
		now, err = s.bySession(ctx, w.session)
	}
	if errors.Is(err, run.ErrNotFound) {
		return false, nil
	}
	return now != nil, err
}

// end ends the contexts of the streams whose callers match, and returns before they are
// closed. match is called with the lock held.
func (s *streams) end(match func(*caller) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.open {
		if match(at.caller) {
			at.end()
		}
	}
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
