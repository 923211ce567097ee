package http

import (
	"context"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Redirects are followed as over HTTP/1.1, over the same connection.
func TestHTTP2Redirects(t *testing.T) {
	t.Parallel()
	urls := bothHTTP2(t, pointed)
	for _, tt := range []struct {
		status int
		method string
		want   string // method and body of the next request; "": there is no next one
	}{
		{301, "GET", "GET"}, {301, "POST", "GET"}, {301, "PUT", "PUT hello"}, {302, "POST", "GET"}, {303, "PUT", "GET"},
		{307, "POST", "POST hello"}, {308, "PATCH", "PATCH hello"}, {304, "GET", ""}, {404, "GET", ""},
	} {
		for _, url := range urls {
			for _, kind := range []string{"bytes", "source"} {
				ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true, MaxRedirects: 1})
				r := Request{Method: tt.method, URL: fmt.Sprintf("%s/%d", url, tt.status), Headers: map[string]string{"Content-Type": "text/x"}}
				r.addBody(kind)
				for range 3 {
					got, err := c.Do(ctx, r)
					if err != nil {
						t.Fatal(err)
					}
					wantFollowed(t, got, r, tt.status, url+"/to?x", tt.want)
				}
				want, reused := counts{"http_ok": 3, "latency": 3, "redirects": 3}, int64(5)
				if tt.want == "" {
					want, reused = counts{"http_fail": 3, "latency": 3}, 2
				}
				wantCounts(t, rec, want)
				if got := rec.Counts("home."); got["connections_opened"] != 1 || got["connections_reused"] != reused {
					t.Errorf("%d connections, %d reused", got["connections_opened"], got["connections_reused"])
				}
			}
		}
	}
}

// Credentials and cookies for one server are not sent to another, from h2c to TLS and back.
func TestHTTP2RedirectAway(t *testing.T) {
	t.Parallel()
	seen := make(chan *nethttp.Request, 10)
	urls := bothHTTP2(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/far" {
			nethttp.Redirect(w, r, r.URL.Query().Get("to"), nethttp.StatusTemporaryRedirect)
			return
		}
		seen <- r
	})
	for i, url := range urls {
		there := urls[1-i]
		for _, auth := range []Auth{Basic("me", "secret"), {}} {
			ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true, MaxRedirects: 1, Auth: auth})
			headers := map[string]string{"Cookie": "a=b", "Host": "named.test", "X-Own": "1"}
			if auth == (Auth{}) {
				headers["authorization"] = "mine"
			}
			if _, err := c.Post(ctx, url+"/far?to="+there+"/end", []byte("x"), headers); err != nil {
				t.Fatal(err)
			}
			r := <-seen
			host := there[strings.Index(there, "//")+2:]
			if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("X-Own") != "1" || r.Host != host {
				t.Errorf("%s got %v, host %s", host, r.Header, r.Host)
			}
			// One operation, of the server that has answered it.
			if got := peers(rec, "requests"); len(got) != 1 || got[host] != 1 {
				t.Errorf("peers %v", got)
			}
		}
	}
}

// With Resend, a connection that ends during the second request of an operation, before its
// answer, is no failure either: the request is sent once more on a new one, and counted.
func TestHTTP2RedirectAgain(t *testing.T) {
	t.Parallel()
	type key struct{}
	var seen atomic.Int64
	s := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch {
		case r.URL.Path == "/start":
			nethttp.Redirect(w, r, "/end", nethttp.StatusTemporaryRedirect)
		case seen.Add(1) == 1:
			r.Context().Value(key{}).(net.Conn).Close()
		default:
			summing(w, r)
		}
	}))
	s.Config.Protocols = new(nethttp.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) }
	s.Start()
	t.Cleanup(s.Close)
	ctx, c, rec := newClient(t, Options{HTTP2: true, MaxRedirects: 1, Resend: true})
	r, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL + "/start", Source: stringSource("hello")})
	if err != nil || !strings.HasPrefix(string(r.Body), "PUT 5 ") {
		t.Errorf("%q, %v", r.Body, err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "redirects": 1, "resent": 1})
	if opened, open := connections(rec); opened != 2 || open != 1 || seen.Load() != 2 {
		t.Errorf("%d opened, %d open, %d requests to /end; want 2, 1, 2", opened, open, seen.Load())
	}
}

// Cookies, Digest and Decode together.
func TestHTTP2Follows(t *testing.T) {
	t.Parallel()
	d := &digestServer{algorithm: "SHA-256", qop: "auth"}
	for _, url := range bothHTTP2(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("Cookie") == "" {
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2; HttpOnly")
			nethttp.Redirect(w, r, r.RequestURI, nethttp.StatusTemporaryRedirect)
			return
		}
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, r)
		if rec.Code == 200 {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprintf(rec.Body, " cookie=%s", r.Header.Get("Cookie"))
			w.Write(encode(t, "gzip", rec.Body.Bytes()))
			return
		}
		w.Header().Set("WWW-Authenticate", rec.Header().Get("WWW-Authenticate"))
		w.WriteHeader(rec.Code)
	}) {
		d.mu.Lock()
		d.nonce = ""
		d.mu.Unlock()
		ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true, MaxRedirects: 1, Cookies: true, Decode: true, Auth: Digest("me", "secret")})
		for i := range 3 {
			r, err := c.Do(ctx, Request{Method: "PUT", URL: url + "/x?y=%20", Body: []byte("hello")})
			if err != nil || r.Status != 200 || !strings.HasPrefix(string(r.Body), "PUT /x?y=%20 ") || !strings.HasSuffix(string(r.Body), "body=hello cookie=a=1; b=2") {
				t.Errorf("call %d: %d %q, %v", i, r.Status, r.Body, err)
			}
		}
		wantCounts(t, rec, counts{"http_ok": 3, "latency": 3, "redirects": 1, "challenges": 1})
		if got := statuses(rec); got != "[200:3 2xx:3]" {
			t.Errorf("statuses %s", got)
		}
	}
	if d.refused != 0 {
		t.Errorf("%d credentials were wrong", d.refused)
	}
}
