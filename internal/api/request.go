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

// request is what is known of a request beside what net/http knows.
type request struct {
	id      string
	path    string // as it came, without the query
	address string // of the peer, without its port: what proxies say is not believed
	log     *slog.Logger
	who     *who // nil: nobody
	http    *http.Request

	object, detail string // for the audit log
}

type requestKey struct{}

// asked gives the request that ctx belongs to.
func asked(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{log: slog.New(slog.DiscardHandler)}
}

// security are the headers of all answers.
var security = map[string]string{
	"Content-Security-Policy":      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// ServeHTTP checks what a request is for, whoever sent it, and passes it on to its route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	out := &recorder{ResponseWriter: w, control: http.NewResponseController(w), wait: s.options.Times.Write}
	id := auth.NewID()
	q := &request{id: id, path: r.URL.Path, address: peer(r), log: s.log.With(slog.String("request", id))}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
	q.http = r
	_ = out.control.SetWriteDeadline(time.Time{}) // that of the request before
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
				q.log.Info("request given up", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", out.status))
				panic(v)
			}
			q.log.Error("request panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			if out.status != 0 {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
			problemOf(fmt.Errorf("panic: %v", v)).write(out, q)
		}
		user := ""
		if q.who != nil {
			user = q.who.user.Name
		}
		q.log.Info("request", slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", out.status), slog.Int64("bytes", out.bytes),
			slog.Duration("took", time.Since(began)), slog.String("user", user), slog.String("address", q.address))
	}()
	if p := s.wrong(r); p != nil {
		h.Set("Connection", "close")
		p.write(out, q)
		return
	}
	if !served(r.URL.Path) {
		s.ui(out, r, q)
		return
	}
	h.Set("Cache-Control", "no-store")
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		elsewhere(out, r, q, handler)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// served tells whether a path is the API's, and not the UI's.
func served(p string) bool {
	return strings.HasPrefix(p, "/api/") || p == "/api" || p == "/healthz" || p == "/readyz" || p == "/metrics"
}

// wrong tells what is wrong with a request whatever it asks for.
func (s *Server) wrong(r *http.Request) *problem {
	if !s.mine(r) {
		return refuse(http.StatusMisdirectedRequest, types.Misdirected, "this master does not go by the name that was called: it is to be told its names when it starts")
	}
	if clean := path.Clean(r.URL.Path); r.URL.Path != clean && r.URL.Path != clean+"/" || strings.ContainsAny(r.URL.Path, "\x00\\") || r.URL.Path == "*" {
		return errNotFound
	}
	// Also what only reads is refused to pages of other sites: answers are secret too.
	probe := *r
	probe.Method = http.MethodPost
	if served(r.URL.Path) && s.origin.Check(&probe) != nil {
		return refuse(http.StatusForbidden, types.CrossOrigin, "pages of other sites may not ask")
	}
	return nil
}

// mine tells whether Host is one of this master's: a page of another site that has its
// own name point here (DNS rebinding) is not served. Ports may be any, as tunnels have it.
func (s *Server) mine(r *http.Request) bool {
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

func peer(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// elsewhere answers what no route is for, as ServeMux says it.
func elsewhere(w http.ResponseWriter, r *http.Request, q *request, h http.Handler) {
	var said statusOnly
	h.ServeHTTP(&said, r)
	if said.status == http.StatusMethodNotAllowed {
		allow := said.Header().Get("Allow")
		w.Header().Set("Allow", allow)
		refuse(said.status, types.MethodNotAllowed, "here only "+allow+" can be").write(w, q)
		return
	}
	errNotFound.write(w, q)
}

// ui serves what is not the API's.
func (s *Server) ui(w http.ResponseWriter, r *http.Request, q *request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(http.StatusMethodNotAllowed, types.MethodNotAllowed, "here only GET, HEAD can be").write(w, q)
	case s.options.UI != nil:
		s.options.UI.ServeHTTP(w, r)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "This is a gobench master. Its API is under /api/v1 and described by /api/v1/openapi.json.\n")
	default:
		errNotFound.write(w, q)
	}
}
