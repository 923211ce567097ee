package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// pointed answers /STATUS with a redirect of that status to /to, and echoes other requests.
func pointed(w nethttp.ResponseWriter, r *nethttp.Request) {
	var status int
	if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &status); n == 1 {
		w.Header().Set("Location", "/to?x#frag")
		w.WriteHeader(status)
		return
	}
	echo(w, r)
}

// pointing starts a server with pointed.
func pointing(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(nethttp.HandlerFunc(pointed))
	t.Cleanup(srv.Close)
	return srv
}

// Tests which statuses are followed, with which method and body (RFC 9110, section 15.4).
func TestRedirectMethods(t *testing.T) {
	t.Parallel()
	srv := pointing(t)
	for _, tt := range []struct {
		status int
		method string
		want   string // method and body of the next request; "": there is no next one
	}{
		{301, "GET", "GET"}, {301, "HEAD", "HEAD"}, {301, "POST", "GET"}, {301, "PUT", "PUT hello"}, {301, "DELETE", "DELETE hello"},
		{302, "GET", "GET"}, {302, "POST", "GET"}, {302, "PATCH", "PATCH hello"},
		{303, "GET", "GET"}, {303, "HEAD", "HEAD"}, {303, "POST", "GET"}, {303, "PUT", "GET"}, {303, "DELETE", "GET"},
		{307, "GET", "GET"}, {307, "POST", "POST hello"}, {307, "PUT", "PUT hello"},
		{308, "GET", "GET"}, {308, "POST", "POST hello"},
		{300, "GET", ""}, {304, "GET", ""}, {305, "GET", ""}, {306, "GET", ""}, {399, "GET", ""}, {404, "GET", ""},
	} {
		for _, kind := range []string{"bytes", "source"} {
			t.Run(fmt.Sprintf("%d %s %s", tt.status, tt.method, kind), func(t *testing.T) {
				t.Parallel()
				ctx, c, rec := newClient(t, Options{MaxRedirects: 1})
				r := Request{Method: tt.method, URL: fmt.Sprintf("%s/%d", srv.URL, tt.status), Headers: map[string]string{"Content-Type": "text/x", "X-Own": "1"}}
				r.addBody(kind)
				for range 3 {
					got, err := c.Do(ctx, r)
					if err != nil {
						t.Fatal(err)
					}
					wantFollowed(t, got, r, tt.status, srv.URL+"/to?x", tt.want)
				}
				want := counts{"http_ok": 3, "latency": 3, "redirects": 3}
				if tt.want == "" {
					want = counts{"http_fail": 3, "latency": 3}
				}
				wantCounts(t, rec, want)
				if opened, _ := connections(rec); opened != 1 {
					t.Errorf("%d connections", opened)
				}
			})
		}
	}
}

// wantFollowed compares the answer to a call whose first answer has the given status with what
// is wanted: the redirect itself, if want is empty, else the answer of end, which describes the
// request as the server got it, want being its method and, if it has one, its body.
func wantFollowed(t *testing.T, got Response, r Request, status int, end, want string) {
	t.Helper()
	if want == "" {
		if got.Status != status || got.Redirects != 0 || got.URL != r.URL {
			t.Errorf("%d of %s after %d redirects", got.Status, got.URL, got.Redirects)
		}
		return
	}
	if got.Status != 200 || got.Redirects != 1 || got.URL != end {
		t.Errorf("%d of %s after %d redirects", got.Status, got.URL, got.Redirects)
	}
	method, body, _ := strings.Cut(want, " ")
	if method == "HEAD" {
		return
	}
	said, kind := string(got.Body), `type="text/x"`
	if method != r.Method { // without the body, its headers are removed too
		kind = `type=""`
	}
	if !strings.HasPrefix(said, method+" /to?x ") || !strings.HasSuffix(said, " body="+body) || !strings.Contains(said, kind) {
		t.Errorf("%d: the server got %s, want %s", status, said, want)
	}
}

// Tests where a Location leads, and which are invalid: then the call returns the redirect.
func TestLocations(t *testing.T) {
	t.Parallel()
	const base = "http://127.0.0.1:1/a/b?c=d"
	for _, tt := range []struct{ location, want string }{
		{"/x", "http://127.0.0.1:1/x"},
		{"x", "http://127.0.0.1:1/a/x"},
		{"../x?y", "http://127.0.0.1:1/x?y"},
		{"?y", "http://127.0.0.1:1/a/b?y"},
		{"#f", "http://127.0.0.1:1/a/b?c=d"},
		{"//other.test/x", "http://other.test/x"},
		{"https://other.test", "https://other.test"},
		{"http://other.test:81/é b", "http://other.test:81/%C3%A9%20b"},
		{"", ""},
		{"ftp://other.test/", ""},
		{"mailto:a@b.test", ""},
		{"http://", ""},
		{"http://me:secret@other.test/", ""},
		{"http://a b/", ""},
		{"http://other.test:99999/", ""},
		{"/%zz", ""},
		{"http://[::1/", ""},
		{"javascript:alert(1)", ""},
	} {
		_, c, _ := newClient(t, Options{MaxRedirects: 1})
		q := &call{request: Request{Method: "GET", URL: base}}
		if err := c.c.prepare(q); err != nil {
			t.Fatal(err)
		}
		f := q.follow
		f.raw = base
		got := ""
		if u := f.points([]byte("X: 1\r\nlocation: " + tt.location + "\r\n\r\n")); u != nil {
			got = u.String()
		}
		if got != tt.want {
			t.Errorf("%q leads to %q, want %q", tt.location, got, tt.want)
		}
	}
}

// The limit is exact, and the call returns the answer at the limit; without the option nothing
// is followed.
func TestRedirectLimit(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		if n > 0 {
			nethttp.Redirect(w, r, fmt.Sprintf("/%d", n-1), nethttp.StatusFound)
		}
	}))
	t.Cleanup(srv.Close)
	for _, tt := range []struct{ max, path, status, followed int }{
		{0, 1, 302, 0}, {1, 1, 200, 1}, {1, 2, 302, 1}, {10, 10, 200, 10}, {10, 1000, 302, 10},
	} {
		ctx, c, rec := newClient(t, Options{MaxRedirects: tt.max})
		r, err := c.Do(ctx, Request{URL: fmt.Sprintf("%s/%d", srv.URL, tt.path)})
		if err != nil || r.Status != tt.status || r.Redirects != tt.followed {
			t.Errorf("%+v: %d after %d, %v", tt, r.Status, r.Redirects, err)
		}
		if n := rec.Counts("home.")["redirects"]; n != int64(tt.followed) {
			t.Errorf("%+v: %d redirects counted", tt, n)
		}
		if n := rec.Counts("home.")["latency"]; n != 1 {
			t.Errorf("%+v: %d latencies", tt, n)
		}
	}
}

// Credentials and cookies are not sent to another server; other headers are.
func TestRedirectAway(t *testing.T) {
	t.Parallel()
	seen := make(chan *nethttp.Request, 10)
	other := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { seen <- r }))
	home := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/near":
			nethttp.Redirect(w, r, "/end", nethttp.StatusTemporaryRedirect)
		case "/far":
			nethttp.Redirect(w, r, other.URL+"/end", nethttp.StatusTemporaryRedirect)
		case "/end":
			seen <- r
		}
	}))
	t.Cleanup(home.Close)
	t.Cleanup(other.Close)
	headers := map[string]string{"authorization": "Basic abc", "Cookie": "a=b", "Proxy-Authorization": "x", "Host": "named.test", "X-Other": "1"}
	for _, tt := range []struct {
		path    string
		auth    Auth
		headers map[string]string
		want    map[string]string
	}{
		{"/near", Auth{}, headers, map[string]string{"Authorization": "Basic abc", "Cookie": "a=b", "Proxy-Authorization": "x", "X-Other": "1", "Host": "named.test"}},
		{"/far", Auth{}, headers, map[string]string{"Authorization": "", "Cookie": "", "Proxy-Authorization": "", "X-Other": "1", "Host": strings.TrimPrefix(other.URL, "http://")}},
		{"/near", Bearer("tok"), nil, map[string]string{"Authorization": "Bearer tok"}},
		{"/far", Bearer("tok"), nil, map[string]string{"Authorization": "", "Accept-Encoding": acceptEncoding}},
	} {
		ctx, c, _ := newClient(t, Options{MaxRedirects: 3, Auth: tt.auth, Decode: true})
		for range 3 {
			if _, err := c.Post(ctx, home.URL+tt.path, []byte("x"), tt.headers); err != nil {
				t.Fatal(err)
			}
			r := <-seen
			for name, want := range tt.want {
				got := r.Header.Get(name)
				if name == "Host" {
					got = r.Host
				}
				if got != want {
					t.Errorf("%s: %s is %q, want %q", tt.path, name, got, want)
				}
			}
		}
	}
	if len(headers) != 5 {
		t.Error("the caller's map was changed")
	}
}

// Latency covers the whole operation, the time to the first byte is that of the last answer,
// and Timeout applies to all requests together.
func TestRedirectTimes(t *testing.T) {
	t.Parallel()
	const pause = 30 * time.Millisecond
	s := servers.Faults(t, func(p *servers.Peer) {
		for {
			r := p.Request()
			if r == "" {
				return
			}
			time.Sleep(pause)
			switch {
			case strings.HasPrefix(r, "GET /hold"):
				p.Hold()
			case strings.HasPrefix(r, "GET /to-hold"):
				time.Sleep(10 * pause)
				p.Send("HTTP/1.1 302 Found\r\nLocation: /hold\r\nContent-Length: 0\r\n\r\n")
			case strings.HasPrefix(r, "GET /end"):
				p.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
				time.Sleep(pause)
				p.Send("k")
			default:
				p.Send("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 4\r\n\r\nmove")
			}
		}
	})
	ctx, c, rec := newClient(t, Options{MaxRedirects: 1})
	r, err := c.Do(ctx, Request{URL: s.URL + "/start"})
	if err != nil || r.Latency < 3*pause || r.FirstByte < 2*pause || r.Latency < r.FirstByte {
		t.Errorf("latency %v, first byte %v, %v", r.Latency, r.FirstByte, err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "redirects": 1})
	if in := rec.Counts("home.")["bytes_in"]; in < 100 {
		t.Errorf("%d bytes in, want those of both answers", in)
	}
	const limit = 20 * pause
	ctx, c, rec = newClient(t, Options{MaxRedirects: 1, Timeout: limit})
	began := time.Now()
	err = c.GetIgnoreRes(ctx, s.URL+"/to-hold", nil)
	if took := time.Since(began); conn.Classify(err) != conn.Timeout || took < limit || took > 30*time.Second {
		t.Errorf("%v after %v, want timeout after %v in all", err, took, limit)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.timeout": 1, "redirects": 1})
}

// A redirect's own body is discarded, whatever its size; a failure of the next request is the
// operation's; ctx also ends it between requests.
func TestRedirectFaults(t *testing.T) {
	t.Parallel()
	gone := closedURL(t)
	big := strings.Repeat("x", 1<<20)
	s := servers.Faults(t, func(p *servers.Peer) {
		for {
			r := p.Request()
			switch {
			case r == "":
				return
			case strings.HasPrefix(r, "GET /big"):
				p.Send(fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: %d\r\n\r\n%s", len(big), big))
			case strings.HasPrefix(r, "GET /gone"):
				p.Send("HTTP/1.1 302 Found\r\nLocation: " + gone + "\r\nContent-Length: 0\r\n\r\n")
			case strings.HasPrefix(r, "GET /cut"):
				p.Send("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 9\r\n\r\n")
				return
			case strings.HasPrefix(r, "GET /close"):
				p.Send("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			default:
				p.Send(ok)
			}
		}
	})
	for path, want := range map[string]counts{
		"/big":   {"http_ok": 1, "latency": 1, "redirects": 1},
		"/close": {"http_ok": 1, "latency": 1, "redirects": 1},
		"/gone":  {"http_other_fail": 1, "error.refused": 1, "redirects": 1},
		"/cut":   {"http_other_fail": 1, "error.eof": 1},
	} {
		ctx, c, rec := newClient(t, Options{MaxRedirects: 1, MaxBody: 10})
		body, err := c.Get(ctx, s.URL+path, nil)
		if (err == nil) != (want["http_ok"] == 1) || err == nil && string(body) != "ok" {
			t.Errorf("%s: %q, %v", path, body, err)
		}
		wantCounts(t, rec, want)
	}
	loop := httptest.NewServer(nethttp.RedirectHandler("/", nethttp.StatusFound))
	defer loop.Close()
	for limit := 50 * time.Millisecond; ; limit *= 2 { // in which a slow host follows a redirect
		root, c, rec := newClient(t, Options{MaxRedirects: 1e9})
		ctx, cancel := context.WithTimeout(root, limit)
		err := c.GetIgnoreRes(ctx, loop.URL, nil)
		cancel()
		got := outcomes(rec)
		if !errors.Is(err, context.DeadlineExceeded) || got["http_other_fail"] != 1 || got["error.timeout"] != 1 {
			t.Errorf("%v, counts %v", err, got)
		}
		if got["redirects"] > 0 {
			break
		}
		if limit > 30*time.Second {
			t.Fatal("no redirect was followed")
		}
	}
}

// A body that is sent again is opened again.
func TestRedirectReopens(t *testing.T) {
	t.Parallel()
	srv := pointing(t)
	opened := 0
	ctx, c, _ := newClient(t, Options{MaxRedirects: 1})
	source := sourceFunc(func() (io.ReadCloser, int64, error) {
		if opened++; opened == 3 {
			return nil, 0, errors.New("only twice")
		}
		return io.NopCloser(strings.NewReader("hello")), 5, nil
	})
	r := Request{Method: "POST", URL: srv.URL + "/307", Source: source}
	if got, err := c.Do(ctx, r); err != nil || !strings.HasSuffix(string(got.Body), "length=5 type=\"\" body=hello") {
		t.Errorf("%s, %v", got.Body, err)
	}
	if _, err := c.Do(ctx, r); err == nil || !strings.Contains(err.Error(), "only twice") {
		t.Error(err)
	}
}

// nginx redirects with an absolute URL, to itself and over TLS.
func TestRedirectsOfNginx(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	for _, url := range []string{ng.URL, ng.TLS} {
		ctx, c, rec := newClient(t, Options{MaxRedirects: 5, RootCAs: ng.Roots})
		body, err := c.Get(ctx, url+"/status/301", nil)
		if err != nil || string(body) != servers.Index {
			t.Errorf("%d bytes, %v", len(body), err)
		}
		wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "redirects": 1})
	}
	if log := ng.Log(t); !slices.ContainsFunc(log, func(l string) bool { return strings.HasPrefix(l, "GET / 200 2") }) {
		t.Errorf("nginx saw no second request on a connection: %q", log)
	}
}

// addBody adds a body of that kind to a request whose method has one.
func (r *Request) addBody(kind string) {
	switch {
	case r.Method == "GET" || r.Method == "HEAD":
	case kind == "bytes":
		r.Body = []byte("hello")
	default:
		r.Source = stringSource("hello")
	}
}
