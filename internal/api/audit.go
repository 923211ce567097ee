package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
)

// maxDenials is how many requests of nobody who is known are written down in a minute:
// the rest is counted, so that a flood does not fill the disk.
const maxDenials = 60

// denials counts what nobody who is known was denied. Its zero value is ready.
type denials struct {
	mu      sync.Mutex
	began   time.Time
	count   int
	skipped int
}

// next tells whether one more is to be written down, and how many were not since the
// last one that was.
func (d *denials) next(now time.Time) (skipped int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.began) >= time.Minute {
		d.began, d.count = now, 0
	}
	if d.count >= maxDenials {
		d.skipped++
		return 0, false
	}
	d.count++
	skipped, d.skipped = d.skipped, 0
	return skipped, true
}

// denied writes down that a request was not let through to its route.
func (s *Server) denied(r *http.Request, rt *route) {
	action := rt.audit
	if action == "" {
		action = rt.pattern
	}
	s.enter(r.Context(), action, "denied", r.PathValue("id"), "")
}

// audited writes down what a route has done.
func (s *Server) audited(r *http.Request, rt *route, out *recorder) {
	q := asked(r.Context())
	result, detail := "ok", q.detail
	switch {
	case out.status == http.StatusUnauthorized || out.status == http.StatusForbidden:
		result = "denied"
	case out.status >= http.StatusBadRequest || out.status == 0:
		result = "failed"
		detail = fmt.Sprintf("status %d %s", out.status, detail)
	}
	s.enter(r.Context(), rt.audit, result, q.object, detail)
}

// enter puts an entry into the audit log, and into the log.
func (s *Server) enter(ctx context.Context, action, result, object, detail string) {
	q, now := asked(ctx), s.now().UTC()
	e := &auth.Entry{Time: now, Address: q.address, Action: action, Object: object, Detail: detail, Result: result}
	if q.who != nil {
		e.User = q.who.user.Name
		if q.who.token != nil {
			e.Token = q.who.token.ID
		}
	} else if result != "ok" {
		skipped, ok := s.denials.next(now)
		if !ok {
			return
		}
		if skipped > 0 {
			e.Detail = fmt.Sprintf("%s (and %d more that are not written down)", e.Detail, skipped)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // who asks may be gone
	defer cancel()
	if err := s.store.Audit(ctx, e); err != nil {
		q.log.Error("audit entry could not be kept", slog.Any("error", err))
	}
	q.log.Info("audit", slog.String("action", e.Action), slog.String("result", e.Result), slog.String("user", e.User), slog.String("token", e.Token),
		slog.String("object", e.Object), slog.String("detail", e.Detail), slog.String("address", e.Address))
}
