package http

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// h2c starts an HTTP/2 server without TLS, in this process.
func h2c(t *testing.T, config *nethttp.HTTP2Config, handler nethttp.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(nethttp.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = config
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// mirror answers with the request.
func mirror(w nethttp.ResponseWriter, r *nethttp.Request) {
	w.Header().Set("X-Asked", fmt.Sprintf("%s %s %s %s", r.Proto, r.Method, r.Host, r.RequestURI))
	w.Header()["X-Agent"] = r.Header["User-Agent"]
	w.Header()["X-Own"] = r.Header["Own"]
	_, _ = io.Copy(w, r.Body)
}

// nginx speaks HTTP/2 with prior knowledge and by ALPN; one connection serves calls
// in sequence.
func TestHTTP2Nginx(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, `location /proto { return 200 "$server_protocol $request_method $http_own"; }`)
	for _, url := range []string{ng.H2C, ng.H2} {
		ctx, c, rec := newClient(t, Options{HTTP2: true, RootCAs: ng.Roots})
		for range 3 {
			if body, err := c.Get(ctx, url+"/proto", map[string]string{"Own": "x"}); err != nil || string(body) != "HTTP/2.0 GET x" {
				t.Errorf("%s: %q, %v", url, body, err)
			}
		}
		if body, err := c.Get(ctx, url+"/big", nil); err != nil || len(body) != servers.BigSize {
			t.Errorf("%s: %d bytes, %v", url, len(body), err)
		}
		if err := c.GetIgnoreRes(ctx, url+"/big", nil); err != nil {
			t.Error(err)
		}
		large := bytes.Repeat([]byte("x"), 1<<20)
		if r, err := c.Do(ctx, Request{Method: "PUT", URL: url + "/put/a", Body: large}); err != nil || r.Status/100 != 2 {
			t.Errorf("%s: %v, %v", url, r.Status, err)
		}
		if body, err := c.Get(ctx, url+"/put/a", nil); err != nil || !bytes.Equal(body, large) {
			t.Errorf("%s: %d bytes, %v", url, len(body), err)
		}
		if _, err := c.Get(ctx, url+"/status/404", nil); err != nil {
			t.Error(err)
		}
		wantCounts(t, rec, counts{"http_ok": 7, "http_fail": 1, "latency": 8})
		wantOneConnection(t, rec)
		got := rec.Counts("home.")
		if in, out := got["bytes_in"], got["bytes_out"]; in < 2*servers.BigSize+1<<20 || in > 2*servers.BigSize+2<<20 || out < 1<<20 || out > 2<<20 {
			t.Errorf("%s: %d bytes in, %d out", url, in, out)
		}
		c.Close()
		if _, open := connections(rec); open != 0 {
			t.Errorf("%s: %d open after Close", url, open)
		}
	}
}

func TestHTTP2Requests(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, mirror)
	host := strings.TrimPrefix(url, "http://")
	ctx, c, _ := newClient(t, Options{HTTP2: true})
	for _, tt := range []struct {
		request Request
		asked   string
		agent   string
		body    string
	}{
		{Request{URL: url}, "HTTP/2.0 GET " + host + " /", userAgent, ""},
		{Request{URL: url + "/a b?q=%20|#x"}, "HTTP/2.0 GET " + host + " /a%20b?q=%20|", userAgent, ""},
		{Request{URL: url + "//double?x"}, "HTTP/2.0 GET " + host + " //double?x", userAgent, ""},
		{Request{Method: "POST", URL: url, Body: []byte("body")}, "HTTP/2.0 POST " + host + " /", userAgent, "body"},
		{Request{Method: "POST", URL: url}, "HTTP/2.0 POST " + host + " /", userAgent, ""},
		{Request{Method: "HEAD", URL: url}, "HTTP/2.0 HEAD " + host + " /", userAgent, ""},
		{Request{URL: url, Headers: map[string]string{"host": "a.test", "USER-AGENT": "mine", "Own": "1", "Connection": "close"}}, "HTTP/2.0 GET a.test /", "mine", ""},
		{Request{URL: url, Headers: map[string]string{"User-Agent": ""}}, "HTTP/2.0 GET " + host + " /", "", ""},
	} {
		r, err := c.Do(ctx, tt.request)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Status != 200 || r.Header.Get("x-asked") != tt.asked || r.Header.Get("X-Agent") != tt.agent || string(r.Body) != tt.body ||
			r.Header.Get("X-Own") != tt.request.Headers["Own"] {
			t.Errorf("%+v: status %d, %q, body %q", tt.request, r.Status, r.Header.lines, r.Body)
		}
	}
}

// The error for a server that does not speak HTTP/2 has the class protocol, with and without
// TLS, whether the server refuses or ignores the offer.
func TestHTTP2Unspoken(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	ca := servers.NewCA(t)
	served := func(protocols []string) string {
		return "https://" + servers.Faults(t, func(p *servers.Peer) {
			p.Conn = tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}, NextProtos: protocols})
			serve(p)
		}).Addr
	}
	for name, url := range map[string]string{
		"nginx, no TLS":         ng.URL,
		"no ALPN":               served(nil),
		"ALPN without h2":       served([]string{"http/1.1"}),
		"another without TLS":   servers.Faults(t, func(p *servers.Peer) { p.Request(); p.Send(ok); p.Hold() }).URL,
		"garbage from a server": servers.Faults(t, func(p *servers.Peer) { p.Send("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"); p.Hold() }).URL,
	} {
		rec, err := ask(t, Options{HTTP2: true, RootCAs: ca.Pool(), Timeout: 5 * time.Second}, url, 1, false)
		if err == nil {
			t.Errorf("%s: an answer", name)
		}
		if !strings.HasSuffix(err.Error(), "the server does not speak HTTP/2") {
			t.Errorf("%s: %v", name, err)
		}
		wantCounts(t, rec, counts{"http_other_fail": 1, "error.protocol": 1})
		if _, open := connections(rec); open != 0 {
			t.Errorf("%s: %d connections open", name, open)
		}
	}
}

// HTTP/2 uses a tunnel through proxies, also without TLS.
func TestHTTP2Proxy(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	for _, url := range []string{ng.H2C, ng.H2} {
		p := servers.HTTPProxy(t, "", nil)
		rec, err := ask(t, Options{HTTP2: true, RootCAs: ng.Roots, Proxy: "http://" + p.Addr}, url+"/", 2, false)
		if err != nil {
			t.Fatal(err)
		}
		wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
		if got := p.Asked(); len(got) != 1 || got[0] != "CONNECT "+url[strings.Index(url, "//")+2:] {
			t.Errorf("the proxy was asked for %q", got)
		}
	}
}

func BenchmarkHTTP2(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &nethttp.Server{Protocols: new(nethttp.Protocols), Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { w.Write(page) })}
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(l)
	defer s.Close()
	ctx, c, _ := newClient(b, Options{HTTP2: true})
	b.ReportAllocs()
	for b.Loop() {
		if err := c.GetIgnoreRes(ctx, "http://"+l.Addr().String()+"/", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// If a call has just given up, the place that it receives is free for the next ones.
func TestHTTP2GivenInTheLastMoment(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, mirror)
	ctx, c, _ := newClient(t, Options{HTTP2: true, MaxStreams: 1, MaxConns: 1})
	if err := c.GetIgnoreRes(ctx, url, nil); err != nil {
		t.Fatal(err)
	}
	c.c.mu.Lock()
	m := c.c.extra.muxes[0]
	if !c.c.enter(m) || m.cc.InFlight() != 1 {
		t.Error("no place on a free connection")
	}
	c.c.mu.Unlock()
	w := &waiter{target: m.target, ready: make(chan *link, 1)} // taken off the list already
	w.ready <- m.link
	c.c.stopWaiting(w)
	if m.calls != 0 || m.cc.InFlight() != 0 {
		t.Errorf("%d calls, %d in flight", m.calls, m.cc.InFlight())
	}
	if err := c.GetIgnoreRes(ctx, url, nil); err != nil {
		t.Error(err)
	}
}

// bothHTTP2 starts handler as an HTTP/2 server without and with TLS; clients accept any
// certificate.
func bothHTTP2(t *testing.T, handler nethttp.HandlerFunc) []string {
	t.Helper()
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	return []string{h2c(t, nil, handler), secure.URL}
}
