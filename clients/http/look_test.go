package http

import (
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// masked returns a text without what differs from run to run: addresses, times.
func masked(s string) string {
	s = regexp.MustCompile(`(127\.0\.0\.1|localhost):\d+`).ReplaceAllString(s, "ADDR")
	s = regexp.MustCompile(`[0-9.]+(ns| µs| ms| s)\b`).ReplaceAllString(s, "TIME")
	return regexp.MustCompile(`(?m)^< Date: .*\n`).ReplaceAllString(s, "")
}

func wantSeen(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i, w := range want {
		if i >= len(got) || masked(got[i]) != w {
			t.Errorf("exchange %d:\n%s\nwant\n%s", i+1, masked(strings.Join(got[min(i, len(got)):min(i+1, len(got))], "")), w)
		}
	}
	if len(got) > len(want) {
		t.Errorf("%d more exchanges:\n%s", len(got)-len(want), strings.Join(got[len(want):], "\n"))
	}
}

// A watcher receives each request of an operation and its decoded answer, with their durations,
// and without secrets.
func TestWatchedExchanges(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		for {
			switch request := p.Request(); {
			case request == "":
				return
			case strings.HasPrefix(request, "GET /from"):
				p.Send("HTTP/1.1 302 Found\r\nLocation: /to?token=secret\r\nSet-Cookie: a=secret; Path=/\r\nContent-Length: 4\r\n\r\ngone")
			case strings.HasPrefix(request, "GET /to"):
				p.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + chunked(encode(t, "gzip", []byte("hello\n\x1b[2Jthere"))) + "0\r\nX-End: 1\r\n\r\n")
			default:
				p.Send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\x00\x01\x02")
			}
		}
	})
	ctx, c, rec := newClient(t, Options{MaxRedirects: 3, Cookies: true, Decode: true, Auth: Basic("me", "secret")})
	seen := rec.Watch()
	if body, err := c.Get(ctx, s.URL+"/from", nil); err != nil || string(body) != "hello\n\x1b[2Jthere" {
		t.Fatalf("%q, %v", body, err)
	}
	if err := c.PostIgnoreRes(ctx, s.URL+"/x", []byte("a=1&secret=secret"), nil); err != nil {
		t.Fatal(err)
	}
	wantSeen(t, seen(), `GET http://ADDR/from
  peer ADDR, a new connection, connect TIME, first byte TIME, all TIME
> GET /from HTTP/1.1
> Host: ADDR
> User-Agent: `+userAgent+`
> Authorization: Basic [redacted]
> Accept-Encoding: gzip, deflate, br, zstd
< HTTP/1.1 302 Found
< Location: /to?token=[redacted]
< Set-Cookie: a=[redacted]; Path=/
< Content-Length: 4
<
< gone`, `GET http://ADDR/to?token=[redacted]
  peer ADDR, a connection used before, decoded from gzip, first byte TIME, all TIME
> GET /to?token=[redacted] HTTP/1.1
> Host: ADDR
> User-Agent: `+userAgent+`
> Authorization: Basic [redacted]
> Accept-Encoding: gzip, deflate, br, zstd
> Cookie: a=[redacted]
< HTTP/1.1 200 OK
< Transfer-Encoding: chunked
< Content-Encoding: gzip
<
< hello
< \x1b[2Jthere`, `POST http://ADDR/x
  peer ADDR, a connection used before, first byte TIME, all TIME
> POST /x HTTP/1.1
> Host: ADDR
> User-Agent: `+userAgent+`
> Authorization: Basic [redacted]
> Accept-Encoding: gzip, deflate, br, zstd
> Cookie: a=[redacted]
> Content-Length: 17
>
> a=1&secret=[redacted]
< HTTP/1.1 200 OK
< Content-Length: 3
<
< [3 bytes that are no text]`)
	if got := rec.Counts("home."); got["http_ok"] != 2 || got["redirects"] != 1 {
		t.Errorf("watching changes what is counted: %v", got)
	}
}

func chunked(s []byte) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// An answer with a failing status is stored as a sample with its head and the beginning of its
// body, even if the caller discards them, and only three times. An answer that is followed is
// not stored.
func TestSamplesOfStatus(t *testing.T) {
	t.Parallel()
	handler := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/moved":
			nethttp.Redirect(w, r, "/", nethttp.StatusFound)
		case "/bad":
			w.Header()["Set-Cookie"] = []string{"a=secret"}
			w.WriteHeader(nethttp.StatusBadGateway)
			fmt.Fprint(w, strings.Repeat("0123456789", 100))
		}
	})
	for _, tt := range []struct {
		name, version string
		opts          Options
	}{
		{"HTTP/1.1", "HTTP/1.1", Options{MaxRedirects: 1}},
		{"HTTP/2", "HTTP/2", Options{MaxRedirects: 1, HTTP2: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(handler)
			srv.Config.Protocols = new(nethttp.Protocols)
			srv.Config.Protocols.SetHTTP1(true)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Start()
			defer srv.Close()
			ctx, c, rec := newClient(t, tt.opts)
			for range 5 {
				if err := c.GetIgnoreRes(ctx, srv.URL+"/bad", map[string]string{"X-Api-Key": "secret"}); err != nil {
					t.Fatal(err)
				}
				if err := c.GetIgnoreRes(ctx, srv.URL+"/moved", nil); err != nil {
					t.Fatal(err)
				}
			}
			samples := rec.Samples("home", "status 502")
			if len(samples) != 3 || rec.Samples("home", "status 302") != nil {
				t.Fatalf("%d samples, want 3, and none of 302", len(samples))
			}
			for _, want := range []string{
				"GET " + srv.URL + "/bad\n  peer " + srv.Listener.Addr().String() + ", a ", "\n> GET /bad " + tt.version + "\n> Host: ", "\n> X-Api-Key: [redacted]\n",
				"502", "\n< Set-Cookie: a=[redacted]\n", "\n<\n< 0123456789", "0123456789\n< [400 more bytes]",
			} {
				if !strings.Contains(samples[0], want) {
					t.Errorf("the sample lacks %q:\n%s", want, samples[0])
				}
			}
		})
	}
}

// An HTTP/2 connection with TLS is described as such, and an upload is shown with its framing.
func TestWatchedHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("X-Version", r.Proto)
		fmt.Fprint(w, "hello")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true})
	seen := rec.Watch()
	for range 2 {
		if _, err := c.Do(ctx, Request{Method: "PUT", URL: srv.URL, Body: []byte("up"), Chunked: true}); err != nil {
			t.Fatal(err)
		}
	}
	exchange := func(connection string) string {
		return `PUT https://ADDR
  peer ADDR, ` + connection + `, first byte TIME, all TIME
> PUT / HTTP/2
> Host: ADDR
> User-Agent: ` + userAgent + `
>
> up
< HTTP/2.0 200
< Content-Length: 5
< Content-Type: text/plain; charset=utf-8
< X-Version: HTTP/2.0
<
< hello`
	}
	wantSeen(t, seen(), exchange("a new connection, TLS 1.3, HTTP/2, connect TIME, TLS TIME"), exchange("a connection used before, TLS 1.3, HTTP/2"))
}

// A failure that is not stored costs the same as without samples, however many there are.
func TestFailingAllocs(t *testing.T) {
	url := newRawServer(t, []byte("HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy"))
	ctx, c, _ := newClient(t)
	call := func() {
		if err := c.GetIgnoreRes(ctx, url, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		call()
	}
	want := 0.0
	if raced {
		want += 2
	}
	if n := testing.AllocsPerRun(1000, call); n > want {
		t.Errorf("a status 503 that is not kept: %v allocations, want %v", n, want)
	}
}

// nginx's answers over TLS are shown decoded, and its error page is the sample of a 404.
func TestWatchedNginx(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, "gzip on; gzip_min_length 1;")
	ctx, c, rec := newClient(t, Options{Decode: true, RootCAs: ng.Roots})
	seen := rec.Watch()
	for _, path := range []string{"/", "/nowhere?token=secret"} {
		if err := c.GetIgnoreRes(ctx, ng.TLS+path, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, _, _ := strings.Cut(servers.Index, "\n")
	for i, wants := range [][]string{
		{", a new connection, TLS 1.2, decoded from gzip, connect ", ", TLS ", "\n< HTTP/1.1 200 OK\n< Server: nginx", "\n< Content-Encoding: gzip\n", "\n<\n< " + first},
		{"/nowhere?token=[redacted]\n", ", a connection used before, TLS 1.2", "\n< HTTP/1.1 404 Not Found\n", "<center><h1>404 Not Found</h1></center>"},
	} {
		for _, want := range wants {
			if !strings.Contains(seen()[i], want) {
				t.Errorf("exchange %d lacks %q:\n%s", i+1, want, seen()[i])
			}
		}
	}
	if got := rec.Samples("home", "status 404"); len(got) != 1 || !strings.Contains(got[0], "<h1>404 Not Found</h1>") {
		t.Errorf("samples %q", got)
	}
}
