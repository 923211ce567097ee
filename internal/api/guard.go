package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// call is a request on its way through the guard of its route. guard makes it and calls each
// of steps once, in their order: later ones use what earlier ones set.
type call struct {
	*Server
	rt   *route
	q    *request
	out  *recorder
	r    *http.Request
	body []byte // JSON; empty if the route takes none
}

// steps are what a guard does, in this order. Each returns a problem if the request goes
// no further; leave, if not nil, is called once the request has been answered.
var steps = []func(*call) (leave func(), p *problem){
	(*call).identify,
	(*call).authorize,
	(*call).checkID,
	(*call).reserveArchive,
	(*call).reserveBigBody,
	(*call).readBody,
	(*call).openStream,
	(*call).audit,
}

// guard returns a handler that passes a request on to next if it keeps the rule of its route,
// and else answers with a problem. It writes to the audit log what changes something, and who
// was denied. With an idempotency key, next is called by once. The handler needs the recorder
// and the request of ServeHTTP.
func (s *Server) guard(rt *route, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{Server: s, rt: rt, q: requestOf(r.Context()), out: w.(*recorder), r: r}
		for _, step := range steps {
			leave, p := step(c)
			if p != nil {
				c.reject(p)
				return
			}
			if leave != nil {
				defer leave()
			}
		}
		if key := c.r.Header.Values("Idempotency-Key"); rt.idempotent && len(key) > 0 {
			s.once(c.out, c.r, key, c.body, next)
			return
		}
		next(c.out, c.r)
	}
}

// reject answers with a problem. The connection of a request with a body ends, as the body
// may not have been read.
func (c *call) reject(p *problem) {
	if c.r.ContentLength != 0 {
		c.out.Header().Set("Connection", "close")
	}
	p.write(c.out, c.q)
}

// identify sets the user of the request, or nil without a valid login, which is no problem
// here. The problem is that the store failed.
func (c *call) identify() (leave func(), p *problem) {
	found, err := c.authenticate(c.r)
	if err != nil {
		c.q.log.Error("request failed", slog.Any("error", err))
		return nil, problemOf(err)
	}
	c.q.caller = found
	return nil, nil
}

// authorize returns a problem, 401 or 403, if the request has no login or its role does not
// cover the route's. It writes that to the audit log, except a missing login on a route
// that is open to this host.
func (c *call) authorize() (leave func(), p *problem) {
	switch rt := c.rt; {
	case rt.role == "":
		return nil, nil
	case c.q.caller == nil && rt.local:
		if !local(c.r) {
			return nil, errUnauthenticated // not for the audit log: a scraper without a token would fill it
		}
		return nil, nil
	case c.q.caller == nil:
		p = errUnauthenticated
	case !c.q.caller.role.Covers(rt.role):
		p = errForbidden
	default:
		return nil, nil
	}
	c.denied(c.r, c.rt)
	return nil, p
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkID stores the id in the path, if there is one, as the audit log's object. It returns
// errNotFound if the id has another form than the ids of its kind.
func (c *call) checkID() (leave func(), p *problem) {
	id := c.r.PathValue("id")
	if id == "" {
		return nil, nil
	}
	c.q.object = id
	if strings.Contains(c.rt.pattern, " /api/v1/runs/") && !run.ValidID(id) || !idForm.MatchString(id) {
		return nil, errNotFound
	}
	return nil, nil
}

// reserveArchive bounds how many archives are read at once. It does not wait for a place,
// because an upload has no deadline: the problem is 503. leave frees the place.
func (c *call) reserveArchive() (leave func(), p *problem) {
	if c.rt.archive == 0 {
		return nil, nil
	}
	select {
	case c.archives <- struct{}{}:
		return func() { <-c.archives }, nil
	default:
		return nil, retryLater(http.StatusServiceUnavailable, types.Unavailable, "another archive is being read", 5*time.Second)
	}
}

// reserveBigBody bounds how many big bodies, of more than smallBody or of unknown length, are
// in memory at once. One waits up to Times.BigBody for its turn; the problem is 503. leave
// frees the place; it is nil for a small body.
func (c *call) reserveBigBody() (leave func(), p *problem) {
	if c.rt.body <= smallBody || c.r.ContentLength >= 0 && c.r.ContentLength <= smallBody {
		return nil, nil
	}
	select {
	case c.big <- struct{}{}:
		return func() { <-c.big }, nil
	case <-time.After(c.options.Times.BigBody):
		return nil, retryLater(http.StatusServiceUnavailable, types.Unavailable, "too many big bodies at once", time.Second)
	}
}

// readBody reads and checks a JSON body, within Times.Body, and stores it for the handler.
// A body that is an archive is left for the handler to read. The problem is readBody's or
// archiveBodyOf's.
func (c *call) readBody() (leave func(), p *problem) {
	if c.rt.archive > 0 {
		if c.r.Body, p = archiveBodyOf(c.out, c.r, c.rt.archive, c.options.Times.Body); p == nil {
			c.out.Header().Set("Connection", "close") // the handler may leave a part of it unread
		}
		return nil, p
	}
	if c.body, p = readBody(c.out, c.r, c.rt.body); p != nil {
		return nil, p
	}
	_ = c.out.control.SetReadDeadline(time.Time{})
	c.r.Body = io.NopCloser(bytes.NewReader(c.body))
	return nil, nil
}

// openStream counts an answer that may take long, and has its context end with the user's
// login. The problem is that of streams.add. An endless route must have a role.
func (c *call) openStream() (leave func(), p *problem) {
	if !c.rt.endless {
		return nil, nil
	}
	ctx, leave, p := c.streams.add(c.r.Context(), c.Server, c.q.caller)
	if p != nil {
		return nil, p
	}
	c.r = c.r.WithContext(ctx)
	return leave, nil
}

// audit returns a leave that writes to the audit log what the route did; nil if its rule has
// no action. It returns no problem.
func (c *call) audit() (leave func(), p *problem) {
	if c.rt.audit == "" {
		return nil, nil
	}
	return func() { c.audited(c.r, c.rt, c.out) }, nil
}
