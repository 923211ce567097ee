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

// maxDenials is how many denied requests without a login are written to the audit log in a
// minute. The rest are only counted, so that a flood does not fill the disk.
const maxDenials = 60

// denials counts denied requests without a login. Its zero value is ready to use.
type denials struct {
	mu      sync.Mutex
	began   time.Time
	count   int
	skipped int
}

// next reports whether one more is to be written, and how many were skipped since the last one
// that was. If not, it counts as skipped.
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

// denied writes to the audit log that the guard refused a request. The action of a route
// that changes nothing is its pattern.
func (s *Server) denied(r *http.Request, rt *route) {
	action := rt.audit
	if action == "" {
		action = rt.pattern
	}
	s.writeAudit(r.Context(), action, "denied", r.PathValue("id"), "")
}

// audited writes to the audit log what a route did: "ok", "denied" or "failed" by the
// status of its answer. It must be called after the answer.
func (s *Server) audited(r *http.Request, rt *route, out *recorder) {
	q := requestOf(r.Context())
	result, detail := "ok", q.detail
	switch {
	case out.status == http.StatusUnauthorized || out.status == http.StatusForbidden:
		result = "denied"
	case out.status >= http.StatusBadRequest || out.status == 0:
		result = "failed"
		detail = fmt.Sprintf("status %d %s", out.status, detail)
	}
	s.writeAudit(r.Context(), rt.audit, result, q.object, detail)
}

// writeAudit adds an entry to the audit log and to the log. It waits up to 10 s for the
// store, even if ctx ends. An error is only logged. Without a login, beyond maxDenials in a
// minute, entries of denied and failed requests are skipped.
func (s *Server) writeAudit(ctx context.Context, action, result, object, detail string) {
	q, now := requestOf(ctx), s.now().UTC()
	e := &auth.Entry{Time: now, Address: q.address, Action: action, Object: object, Detail: detail, Result: result}
	if q.caller != nil {
		e.User = q.caller.user.Name
		if q.caller.token != nil {
			e.Token = q.caller.token.ID
		}
	} else if result != "ok" {
		skipped, ok := s.denials.next(now)
		if !ok {
			return
		}
		if skipped > 0 {
			e.Detail = fmt.Sprintf("%s (and %d more that are not listed)", e.Detail, skipped)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // the client may be gone
	defer cancel()
	if err := s.store.Audit(ctx, e); err != nil {
		q.log.Error("audit entry could not be stored", slog.Any("error", err))
	}
	q.log.Info("audit", slog.String("action", e.Action), slog.String("result", e.Result), slog.String("user", e.User), slog.String("token", e.Token),
		slog.String("object", e.Object), slog.String("detail", e.Detail), slog.String("address", e.Address))
}
