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

// streams are the answers that go on for long. Each ends when the login that it was
// asked with does. The zero value, with most set, is ready.
type streams struct {
	most int

	mu   sync.Mutex
	open map[*stream]struct{}
}

type stream struct {
	who *who
	end context.CancelFunc
}

// enter counts a stream until leave is called; ctx ends with the login of w at the
// latest.
func (s *streams) enter(ctx context.Context, a *Server, w *who) (_ context.Context, leave func(), p *problem) {
	ctx, end := context.WithTimeout(ctx, w.expires.Sub(a.now()))
	at := &stream{who: w, end: end}
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
		return nil, nil, later(http.StatusServiceUnavailable, types.Unavailable, "too many streams are open", 5*time.Second)
	}
	// The login may have ended before the stream could be told.
	if still, err := a.still(ctx, w); err != nil || !still {
		leave()
		if err != nil {
			return nil, nil, problemOf(err)
		}
		return nil, nil, errUnauthenticated
	}
	return ctx, leave, nil
}

// still tells whether the login of w is in force.
func (s *Server) still(ctx context.Context, w *who) (bool, error) {
	var now *who
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

// end ends the streams of those that match.
func (s *streams) end(match func(*who) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.open {
		if match(at.who) {
			at.end()
		}
	}
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
