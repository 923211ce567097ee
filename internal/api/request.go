package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/auth"
	"github.com/gobench-io/gobench/internal/api/types"
)

// request holds what the server knows of a request besides what net/http knows.
type request struct {
	id      string
	path    string // as received, without the query
	address string // of the peer, without its port; headers of proxies are ignored
	log     *slog.Logger
	caller  *caller // nil: no valid login
	http    *http.Request

	object, detail string // for the audit log
}

type requestKey struct{}

// requestOf returns the request that ctx belongs to; never nil: without one, an empty
// request whose log discards all.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{log: slog.New(slog.DiscardHandler)}
}

// security holds headers that every answer has.
var security = map[string]string{
	"Content-Security-Policy":      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// ServeHTTP writes the request to the log, checks its host, path and origin, and passes it
// on to its route or to the dashboard. A panic of a handler is logged and answered with
// status 500; if the answer has begun, it closes the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	out := &recorder{ResponseWriter: w, control: http.NewResponseController(w), wait: s.options.Times.Write}
	id := auth.NewID()
	q := &request{id: id, path: r.URL.Path, address: peer(r), log: s.log.With(slog.String("request", id))}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
	q.http = r
	_ = out.control.SetWriteDeadline(time.Time{}) // clears the one of the previous request
	if r.ContentLength != 0 {
		_ = out.control.SetReadDeadline(time.Now().Add(s.options.Times.Body))
	}
	h := out.Header()
	for name, value := range security {
		h.Set(name, value)
	}
	h.Set("X-Request-Id", id)
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				q.log.Info("request aborted", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", out.status))
				panic(v)
			}
			q.log.Error("request panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			if out.status != 0 {
				panic(http.ErrAbortHandler) // a truncated answer must not look complete
			}
			problemOf(fmt.Errorf("panic: %v", v)).write(out, q)
		}
		user := ""
		if q.caller != nil {
			user = q.caller.user.Name
		}
		q.log.Info("request", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", out.status), slog.Int64("bytes", out.bytes),
			slog.Duration("took", time.Since(began)), slog.String("user", user), slog.String("address", q.address))
	}()
	if p := s.checkTarget(r); p != nil {
		h.Set("Connection", "close")
		p.write(out, q)
		return
	}
	if !isAPI(r.URL.Path) {
		s.ui(out, r, q)
		return
	}
	h.Set("Cache-Control", "no-store")
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		noRoute(out, r, q, handler)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// isAPI reports whether a path belongs to the API and not to the dashboard.
func isAPI(p string) bool {
	return strings.HasPrefix(p, "/api/") || p == "/api" || p == "/healthz" || p == "/readyz" || p == "/metrics"
}

// checkTarget returns a problem if the host (421), path (404) or, for the API, the origin
// (403) of a request is not allowed.
func (s *Server) checkTarget(r *http.Request) *problem {
	if !s.ownName(r) {
		return refuse(http.StatusMisdirectedRequest, types.Misdirected, "this master does not answer to the host name of the request: start it with that name")
	}
	if clean := path.Clean(r.URL.Path); r.URL.Path != clean && r.URL.Path != clean+"/" || strings.ContainsAny(r.URL.Path, "\x00\\") || r.URL.Path == "*" {
		return errNotFound
	}
	// Pages of other sites may not read either, because answers are confidential.
	probe := *r
	probe.Method = http.MethodPost
	if isAPI(r.URL.Path) && s.origin.Check(&probe) != nil {
		return refuse(http.StatusForbidden, types.CrossOrigin, "pages of other sites may not send requests")
	}
	return nil
}

// ownName reports whether the Host header names this master: loopback, the address of the
// connection, or a name of Options.Hosts. A page of another site whose name resolves to
// this host (DNS rebinding) is refused. Any port is allowed, for tunnels.
func (s *Server) ownName(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() {
			return true
		}
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if tcp, ok := local.(*net.TCPAddr); ok && tcp.AddrPort().Addr().Unmap() == ip.Unmap() {
			return true
		}
	}
	return strings.EqualFold(host, "localhost") || slices.ContainsFunc(s.options.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// peer returns the address of a request's connection, without its port.
func peer(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// noRoute answers a request that matches no route: 405, with Allow, if another method would
// match, else 404. h is the handler that ServeMux chose.
func noRoute(w http.ResponseWriter, r *http.Request, q *request, h http.Handler) {
	var found statusOnly
	h.ServeHTTP(&found, r)
	if found.status == http.StatusMethodNotAllowed {
		allow := found.Header().Get("Allow")
		w.Header().Set("Allow", allow)
		refuse(found.status, types.MethodNotAllowed, "only these methods are allowed here: "+allow).write(w, q)
		return
	}
	errNotFound.write(w, q)
}

// ui serves paths outside the API with Options.UI; if that is nil, one line of text at "/",
// and 404 elsewhere. Methods other than GET and HEAD are refused (405).
func (s *Server) ui(w http.ResponseWriter, r *http.Request, q *request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(http.StatusMethodNotAllowed, types.MethodNotAllowed, "only these methods are allowed here: GET, HEAD").write(w, q)
	case s.options.UI != nil:
		s.options.UI.ServeHTTP(w, r)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "This is a gobench master. Its API is under /api/v1 and described by /api/v1/openapi.json.\n")
	default:
		errNotFound.write(w, q)
	}
}
