package http

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Tests operations of several requests with all kinds of connections: proxies, Unix sockets,
// both HTTP versions. Other tests cover each option alone.

// engine is a server in this process and the options that a client needs for it.
type engine struct {
	name string
	url  string
	opts Options
}

func engines(t *testing.T, handler nethttp.HandlerFunc) []engine {
	t.Helper()
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	return []engine{{"HTTP/1.1", plain.URL, Options{}}, {"HTTP/2", h2c(t, nil, handler), Options{HTTP2: true}}}
}

// Through a proxy each request of an operation is sent as its target requires: with whole URLs
// for http, in a tunnel for https. Only the proxy receives its credentials.
func TestProxyRedirects(t *testing.T) {
	t.Parallel()
	var plain, secure *httptest.Server
	plain = httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/start" {
			nethttp.SetCookie(w, &nethttp.Cookie{Name: "visit", Value: "1", Path: "/"})
			nethttp.Redirect(w, r, "https://"+secure.Listener.Addr().String()+"/middle?a=b", nethttp.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s proxy=%q cookie=%s auth=%s body=%s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization"), r.Header.Get("Cookie"), r.Header.Get("Authorization"), body)
	}))
	secure = httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.RequestURI != "/middle?a=b" || r.Header.Get("Proxy-Authorization") != "" || r.Header.Get("Authorization") != "" {
			w.WriteHeader(400)
			fmt.Fprint(w, r.RequestURI, r.Header)
			return
		}
		nethttp.Redirect(w, r, "http://"+plain.Listener.Addr().String()+"/end?c=d", nethttp.StatusTemporaryRedirect)
	}))
	plain.Start()
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	host := func(url string) string { return url[strings.Index(url, "//")+2:] }
	for _, scheme := range []string{"http", "socks5"} {
		proxy := servers.HTTPProxy(t, "me:secret", nil)
		want := []string{"POST " + plain.URL + "/start", "CONNECT " + host(secure.URL), "POST " + plain.URL + "/end?c=d"}
		if scheme == "socks5" {
			proxy = servers.SOCKSProxy(t, "me:secret", nil)
			want = []string{host(plain.URL), host(secure.URL)}
		}
		ctx, c, rec := newClient(t, Options{Proxy: scheme + "://me:secret@" + proxy.Addr, InsecureSkipVerify: true, MaxRedirects: 2, Cookies: true, Auth: Bearer("tok")})
		const times = 3 // from the second time on the first request is a rendered one
		for range times {
			body, err := c.Post(ctx, plain.URL+"/start", []byte("hello"), nil)
			if err != nil || string(body) != `POST /end?c=d proxy="" cookie=visit=1 auth=Bearer tok body=hello` {
				t.Errorf("%s: %s, %v", scheme, body, err)
			}
		}
		wantCounts(t, rec, counts{"http_ok": times, "latency": times, "redirects": 2 * times})
		asked := slices.DeleteFunc(proxy.Asked(), func(s string) bool { return strings.HasPrefix(s, "refused") })
		if scheme == "http" {
			want = append(want, want[0], want[2], want[0], want[2]) // the tunnel stays open
		}
		if len(asked) != len(proxy.Asked()) || !slices.EqualFunc(asked, want, strings.HasSuffix) {
			t.Errorf("the proxy was asked for %q, want %q", proxy.Asked(), want)
		}
		if got := peers(rec, "requests"); len(got) != 1 || got[proxy.Addr] != times {
			t.Errorf("%s: peers %v, want %d operations of the proxy", scheme, got, times)
		}
		if opened, _ := connections(rec); opened != 2 {
			t.Errorf("%d connections, want one for each target", opened)
		}
	}
}

// Digest signs the target as the server sees it, which differs from the one sent to the proxy.
func TestProxyDigest(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "socks5"} {
		d := &digestServer{algorithm: "MD5", qop: "auth", lasts: 2}
		srv := httptest.NewServer(d)
		t.Cleanup(srv.Close)
		proxy := servers.HTTPProxy(t, "", nil)
		if scheme == "socks5" {
			proxy = servers.SOCKSProxy(t, "", nil)
		}
		ctx, c, rec := newClient(t, Options{Proxy: scheme + "://" + proxy.Addr, Auth: Digest("me", "secret")})
		for range 4 {
			if body, err := c.Put(ctx, srv.URL+"/a?b=%20", []byte("hello"), nil); err != nil || !strings.HasSuffix(string(body), "body=hello") {
				t.Errorf("%s, %v", body, err)
			}
		}
		wantCounts(t, rec, counts{"http_ok": 4, "latency": 4, "challenges": 2})
		if d.refused != 0 {
			t.Errorf("%s: %d credentials were wrong", scheme, d.refused)
		}
	}
}

// A request that is sent again without Expect keeps its headers for the proxy, also when it is
// rendered from a template.
func TestProxyExpect(t *testing.T) {
	t.Parallel()
	heads := make(chan string, 10)
	proxy := servers.Faults(t, func(p *servers.Peer) {
		for {
			head := p.Head()
			if head == "" {
				return
			}
			heads <- head
			if strings.Contains(head, "Expect:") {
				p.Send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			}
			_, _ = io.ReadFull(p, make([]byte, 5))
			p.Send(ok)
		}
	})
	ctx, c, rec := newClient(t, Options{Proxy: "http://me:secret@" + proxy.Addr, ContinueTimeout: time.Minute})
	for range 3 {
		r, err := c.Do(ctx, Request{Method: "POST", URL: "http://a.test/x", Body: []byte("hello"), Headers: map[string]string{"Expect": "100-continue"}})
		if err != nil || r.Status != 200 {
			t.Errorf("%d, %v", r.Status, err)
		}
		for range 2 {
			if head := <-heads; !strings.HasPrefix(head, "POST http://a.test/x HTTP/1.1\r\n") || strings.Count(head, "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n") != 1 {
				t.Errorf("the proxy got %q", head)
			}
		}
	}
	wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
}

// HeaderTimeout limits each request, Timeout all of them together.
func TestRedirectHeaderTimeout(t *testing.T) {
	t.Parallel()
	const (
		pause  = 250 * time.Millisecond
		header = 5 * pause // which a busy host does not reach by itself
	)
	for _, e := range engines(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		_, _ = io.Copy(io.Discard, r.Body)
		wait := pause
		if r.URL.Query().Has("slow") && n == 1 {
			wait = time.Minute
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(wait):
		}
		if n == 0 {
			w.(nethttp.Flusher).Flush()
			time.Sleep(header) // the body has more time than the head
			return
		}
		nethttp.Redirect(w, r, fmt.Sprintf("/%d?%s", n-1, r.URL.RawQuery), nethttp.StatusTemporaryRedirect)
	}) {
		for _, tt := range []struct {
			path  string
			limit time.Duration // of the whole
			class string
			least time.Duration
		}{
			{"/1", time.Minute, "", header + 2*pause}, // in total more than HeaderTimeout
			{"/2?slow", time.Minute, "timeout", header + pause},
			{"/1000", 6 * pause, "timeout", 6 * pause},
		} {
			for what, source := range map[string]Source{"": nil, " with a body": stringSource("hello")} {
				t.Run(e.name+tt.path+what, func(t *testing.T) {
					t.Parallel()
					o := e.opts
					o.MaxRedirects, o.HeaderTimeout, o.Timeout = 1000, header, tt.limit
					ctx, c, rec := newClient(t, o)
					began := time.Now()
					_, err := c.Do(ctx, Request{Method: "PUT", URL: e.url + tt.path, Source: source})
					took := time.Since(began)
					if got := class(err); got != tt.class || took < tt.least || took > tt.least+30*time.Second {
						t.Errorf("%s after %v, want %q after %v or more: %v", got, took, tt.class, tt.least, err)
					}
					if got := outcomes(rec); got["redirects"] < 1 || got["http_ok"]+got["error.timeout"] != 1 {
						t.Errorf("counts %v", got)
					}
				})
			}
		}
	}
}

// class returns the word for err's class; "" without an error.
func class(err error) string {
	if err == nil {
		return ""
	}
	return conn.Classify(err).String()
}

// With a Unix socket all requests use it, wherever a redirect leads.
func TestUnixRedirects(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gb") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	handler := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/start" {
			nethttp.SetCookie(w, &nethttp.Cookie{Name: "own", Value: r.Host, Path: "/"})
			to := "http://other.test/end"
			if r.TLS != nil {
				to = "https://other.test/end"
			}
			nethttp.Redirect(w, r, to, nethttp.StatusFound)
			return
		}
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.Header.Get("Cookie"))
	})
	for _, tt := range []struct {
		scheme, proto string
	}{{"http", "HTTP/1.1"}, {"https", "HTTP/1.1"}, {"http", "HTTP/2.0"}, {"https", "HTTP/2.0"}} {
		path := filepath.Join(dir, tt.scheme+tt.proto[5:])
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(handler)
		srv.Listener.Close()
		srv.Listener = l
		srv.EnableHTTP2 = tt.proto == "HTTP/2.0"
		if tt.scheme == "https" {
			srv.StartTLS()
		} else {
			srv.Config.Protocols = new(nethttp.Protocols)
			srv.Config.Protocols.SetHTTP1(!srv.EnableHTTP2)
			srv.Config.Protocols.SetUnencryptedHTTP2(srv.EnableHTTP2)
			srv.Start()
		}
		defer srv.Close()
		ctx, c, rec := newClient(t, Options{Unix: path, HTTP2: srv.EnableHTTP2, InsecureSkipVerify: true, MaxRedirects: 1, Cookies: true})
		for range 2 {
			r, err := c.Do(ctx, Request{URL: tt.scheme + "://any.test/start"})
			if err != nil || string(r.Body) != tt.proto+" other.test " || r.URL != tt.scheme+"://other.test/end" {
				t.Errorf("%v: %q of %s, %v", tt, r.Body, r.URL, err)
			}
		}
		wantCounts(t, rec, counts{"http_ok": 2, "latency": 2, "redirects": 2})
		if got := peers(rec, "requests"); got[path] != 2 || len(got) != 1 {
			t.Errorf("peers %v", got)
		}
	}
}

// An operation that fails after a redirect starts an outage, at its own start, and one whose
// last answer succeeds ends it; a redirect alone does not. It counts for the peer of its last
// request.
func TestRecoveryOfRedirects(t *testing.T) {
	t.Parallel()
	gone := closedURL(t)
	const pause = 50 * time.Millisecond
	for _, e := range engines(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/gone":
			time.Sleep(pause)
			nethttp.Redirect(w, r, gone, nethttp.StatusFound)
		case "/500":
			nethttp.Redirect(w, r, "/broken", nethttp.StatusFound)
		case "/broken":
			w.WriteHeader(500)
		case "/good":
			nethttp.Redirect(w, r, "/end", nethttp.StatusFound)
		}
	}) {
		e.opts.MaxRedirects = 1
		ctx, c, rec := newClient(t, e.opts)
		for i, path := range []string{"/gone", "/500", "/gone", "/good"} {
			if err := c.GetIgnoreRes(ctx, e.url+path, nil); (err != nil) != (path == "/gone") {
				t.Errorf("%s: %v", path, err)
			}
			if n := rec.Counts("home.")["recovery"]; n != int64(i/3) {
				t.Errorf("%s: %d recoveries after call %d, %s", e.name, n, i, path)
			}
		}
		if got := rec.Quantile("home.recovery", 0.5); got < int64(2*pause) {
			t.Errorf("%s: it took %v, want all of the first call and of the others", e.name, time.Duration(got))
		}
		if got := peers(rec, "requests"); len(got) != 1 || got[strings.TrimPrefix(e.url, "http://")] != 2 {
			t.Errorf("%s: peers %v, want the two operations that were answered", e.name, got)
		}
	}
}

// Digest works in a tunnel of HTTP/2 too.
func TestHTTP2ProxyDigest(t *testing.T) {
	t.Parallel()
	d := &digestServer{algorithm: "SHA-256", qop: "auth"}
	srv := httptest.NewUnstartedServer(d)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{NextProtos: []string{"h2"}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	proxy := servers.HTTPProxy(t, "me:secret", nil)
	ctx, c, rec := newClient(t, Options{Proxy: "http://me:secret@" + proxy.Addr, HTTP2: true, InsecureSkipVerify: true, Auth: Digest("me", "secret")})
	for range 3 {
		if body, err := c.Put(ctx, srv.URL+"/a", []byte("hello"), nil); err != nil || !strings.HasSuffix(string(body), "body=hello") {
			t.Errorf("%s, %v", body, err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 3, "latency": 3, "challenges": 1})
	if asked := proxy.Asked(); len(asked) != 1 || !strings.HasPrefix(asked[0], "CONNECT ") || d.refused != 0 {
		t.Errorf("the proxy was asked for %q, %d credentials were wrong", asked, d.refused)
	}
}

// A call that waits in vain for a connection to a redirect's target has sent nothing there, and
// does not count for the server that redirected it.
func TestPeersOfRedirects(t *testing.T) {
	t.Parallel()
	other := closedURL(t)
	var asking atomic.Pointer[HttpClient]
	for _, e := range engines(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/hold" {
			<-r.Context().Done()
			return
		}
		waitFor(t, func() bool { return waiting(*asking.Load()) == 1 }) // waits for the connection that this call uses
		nethttp.Redirect(w, r, other, nethttp.StatusFound)
	}) {
		e.opts.MaxRedirects, e.opts.MaxConns, e.opts.MaxStreams, e.opts.Timeout = 1, 1, 1, 500*time.Millisecond
		ctx, c, rec := newClient(t, e.opts)
		asking.Store(&c)
		done := make(chan error)
		go func() { done <- c.GetIgnoreRes(ctx, e.url, nil) }()
		waitFor(t, func() bool { _, open := connections(rec); return open == 1 })
		go func() { done <- c.GetIgnoreRes(ctx, e.url+"/hold", nil) }()
		for range 2 {
			if err := <-done; conn.Classify(err) != conn.Timeout {
				t.Errorf("%s: %v", e.name, err)
			}
		}
		if got := peers(rec, "requests"); len(got) != 1 || got[strings.TrimPrefix(e.url, "http://")] != 1 {
			t.Errorf("%s: peers %v, want the call that was held", e.name, got)
		}
	}
}
