package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

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

// Headers that options add are sent, and the caller's headers replace them.
func TestHTTP2Added(t *testing.T) {
	t.Parallel()
	urls := bothHTTP2(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		fmt.Fprintf(w, "%q %q", r.Header["Authorization"], r.Header["Accept-Encoding"])
	})
	for _, tt := range []struct {
		opts    Options
		headers map[string]string
		want    string
	}{
		{Options{}, nil, "[] []"},
		{Options{Auth: Basic("me", "secret")}, nil, `["Basic bWU6c2VjcmV0"] []`},
		{Options{Auth: Bearer("tok"), Decode: true}, nil, fmt.Sprintf(`["Bearer tok"] [%q]`, acceptEncoding)},
		{Options{Auth: Bearer("tok"), Decode: true}, map[string]string{"authorization": "x", "accept-encoding": "y"}, `["x"] ["y"]`},
	} {
		tt.opts.HTTP2, tt.opts.InsecureSkipVerify = true, true
		for _, url := range urls {
			ctx, c, _ := newClient(t, tt.opts)
			for range 3 {
				if body, err := c.Get(ctx, url, tt.headers); err != nil || string(body) != tt.want {
					t.Errorf("%s, %v; want %s", body, err, tt.want)
				}
			}
		}
	}
}

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
					if tt.want == "" {
						if got.Status != tt.status || got.Redirects != 0 || got.URL != r.URL {
							t.Errorf("%d of %s after %d redirects", got.Status, got.URL, got.Redirects)
						}
						continue
					}
					method, body, _ := strings.Cut(tt.want, " ")
					kind := `type="text/x"`
					if method != tt.method {
						kind = `type=""`
					}
					said := string(got.Body)
					if got.Status != 200 || got.Redirects != 1 || got.URL != url+"/to?x" ||
						!strings.HasPrefix(said, method+" /to?x ") || !strings.HasSuffix(said, " body="+body) || !strings.Contains(said, kind) {
						t.Errorf("%d: the server got %s, want %s", got.Status, said, tt.want)
					}
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

func TestHTTP2Decode(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("gobench 0123456789\n"), 10000)
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		coding := r.URL.Query().Get("c")
		w.Header().Set("Content-Encoding", coding)
		if coding == "broken" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.Write(encode(t, coding, data))
	})
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		ctx, c, _ := newClient(t, Options{HTTP2: true, Decode: true})
		r, err := c.Do(ctx, Request{URL: url + "?c=" + coding})
		if err != nil || !bytes.Equal(r.Body, data) || r.Header.Get("content-encoding") != coding {
			t.Errorf("%s: %d bytes, %v", coding, len(r.Body), err)
		}
		if r, err := c.Do(ctx, Request{URL: url + "?c=" + coding, Discard: true}); err != nil || r.Body != nil {
			t.Errorf("%s: %d bytes, %v", coding, len(r.Body), err)
		}
		ctx, c, rec := newClient(t, Options{HTTP2: true, Decode: true, MaxBody: int64(len(data)) - 1})
		if _, err := c.Do(ctx, Request{URL: url + "?c=" + coding}); err == nil {
			t.Errorf("%s: more than MaxBody", coding)
		}
		wantCounts(t, rec, counts{"http_other_fail": 1, "error.too_large": 1})
	}
	ctx, c, rec := newClient(t, Options{HTTP2: true, Decode: true})
	if _, err := c.Get(ctx, url+"?c=broken", nil); err == nil {
		t.Error("what is no gzip was decoded")
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.protocol": 1})
}

// Bodies from any source are sent whole, with a length or without, with trailers.
func TestHTTP2UploadsAndFaults(t *testing.T) {
	t.Parallel()
	urls := bothHTTP2(t, summing)
	for _, size := range []int{0, 1, 1000, pieceSize + 1, 3 << 20} {
		data := strings.Repeat("0123456789", size/10+1)[:size]
		path := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		sized := fmt.Sprintf("PUT %d length=%d [] sum=%x trailers=%q", size, size, sha256.Sum256([]byte(data)), "")
		unknown := strings.Replace(sized, fmt.Sprintf("length=%d", size), "length=-1", 1)
		for name, tt := range map[string]struct {
			request Request
			want    string
		}{
			"bytes": {Request{Body: []byte(data)}, sized},
			"file":  {Request{Source: File(path)}, sized},
			"longer than told": {Request{Source: sourceFunc(func() (io.ReadCloser, int64, error) {
				return io.NopCloser(strings.NewReader(data + "x")), int64(size), nil
			})}, sized},
			"stream":            {Request{Source: stringSource(data)}, unknown},
			"file, no length":   {Request{Source: File(path), Chunked: true}, unknown},
			"bytes, no length":  {Request{Body: []byte(data), Chunked: true}, unknown},
			"trailers":          {Request{Body: []byte(data), Trailers: map[string]string{"x-sum": "abc"}}, strings.Replace(unknown, `trailers=""`, `trailers="abc"`, 1)},
			"a lack of trailer": {Request{Source: File(path), Trailers: map[string]string{}}, unknown},
		} {
			for _, url := range urls {
				ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true})
				r := tt.request
				r.Method, r.URL = "PUT", url
				for range 3 {
					got, err := c.Do(ctx, r)
					if err != nil || string(got.Body) != tt.want {
						t.Errorf("%s of %d: %s, %v; want %s", name, size, got.Body, err, tt.want)
					}
				}
				wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
				if opened, open := connections(rec); opened != 1 || open != 1 {
					t.Errorf("connections: %d opened, %d open; want 1, 1", opened, open)
				}
			}
		}
	}
}

// A trailer's value may be set while the body is read; an invalid one fails the call.
func TestHTTP2TrailerOfStream(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, summing)
	ctx, c, rec := newClient(t, Options{HTTP2: true})
	for _, value := range []string{"late", "1\r\nY: 2"} {
		trailers := map[string]string{"X-Sum": ""}
		source := Stream(func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("hello"), readFunc(func([]byte) (int, error) {
				trailers["X-Sum"] = value
				return 0, io.EOF
			}))), nil
		})
		r, err := c.Do(ctx, Request{Method: "POST", URL: url, Source: source, Trailers: trailers})
		if value == "late" && (err != nil || !strings.HasSuffix(string(r.Body), `trailers="late"`)) {
			t.Errorf("%s, %v", r.Body, err)
		}
		if value != "late" && (err == nil || !strings.Contains(err.Error(), "trailer X-Sum: control character")) {
			t.Error(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.other": 1})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// An error of a body fails the operation with its reason, leaves nothing open, and the
// connection is still usable.
func TestHTTP2UploadFaults(t *testing.T) {
	servers.NoLeaks(t)
	hang := func(w nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() }
	read := func(w nethttp.ResponseWriter, r *nethttp.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	pipe := func() (io.Reader, func()) { r, _ := io.Pipe(); return r, func() { r.Close() } }
	for _, tt := range []struct {
		name   string
		server nethttp.HandlerFunc
		body   func() (io.Reader, func())
		size   int64
		class  string // "": an answer
		text   string
	}{
		{"ends early", read, func() (io.Reader, func()) { return strings.NewReader("hello"), nil }, 8, "other",
			"send the body: it ended 3 bytes before the size that its Source returned"},
		{"can't be read", read, func() (io.Reader, func()) {
			return io.MultiReader(strings.NewReader("hello"), failing{errors.New("disk on fire")}), nil
		}, -1, "other", "send the body: disk on fire"},
		{"says nothing", read, func() (io.Reader, func()) { return silent{}, nil }, -1, "other", "multiple Read calls return no data or error"},
		{"nobody reads", hang, func() (io.Reader, func()) { return endless{}, nil }, -1, "timeout", "i/o timeout"},
		{"never comes", read, pipe, -1, "timeout", "i/o timeout"},
		{"reset", func(w nethttp.ResponseWriter, r *nethttp.Request) { panic(nethttp.ErrAbortHandler) },
			func() (io.Reader, func()) { return endless{}, nil }, 1 << 40, "reset", "received from peer"},
		{"answered before it was sent", func(w nethttp.ResponseWriter, r *nethttp.Request) { fmt.Fprint(w, "enough") },
			func() (io.Reader, func()) { return endless{}, nil }, 1 << 40, "", ""},
		{"answered before it came", func(w nethttp.ResponseWriter, r *nethttp.Request) { w.WriteHeader(204) }, pipe, -1, "", ""},
		{"refused before it came", func(w nethttp.ResponseWriter, r *nethttp.Request) { w.WriteHeader(413) }, pipe, 100, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if r.Method != "GET" {
					tt.server(w, r)
				}
			})
			ctx, c, rec := newClient(t, Options{HTTP2: true, Timeout: 500 * time.Millisecond})
			defer c.Close()
			var closed atomic.Int64
			source := sourceFunc(func() (io.ReadCloser, int64, error) {
				r, end := tt.body()
				return struct {
					io.Reader
					io.Closer
				}{r, closer(func() {
					closed.Add(1)
					if end != nil {
						end()
					}
				})}, tt.size, nil
			})
			_, err := c.Do(ctx, Request{Method: "PUT", URL: url, Source: source})
			got := outcomes(rec)
			if tt.class == "" {
				if err != nil || got["latency"] != 1 {
					t.Errorf("%v, counts %v", err, got)
				}
			} else if err == nil || conn.Classify(err).String() != tt.class || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %s: %s", err, tt.class, tt.text)
			} else if got["http_other_fail"] != 1 || got["error."+tt.class] != 1 {
				t.Errorf("counts %v", got)
			}
			if closed.Load() != 1 {
				t.Errorf("closed %d times, want once", closed.Load())
			}
			if _, err := c.Get(ctx, url, nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if opened, _ := connections(rec); opened != 1 {
				t.Errorf("%d connections, want the one", opened)
			}
		})
	}
}

// After the call the client does not read the caller's body any more; -race would report a late
// read.
func TestHTTP2BodyIsTheCallers(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) { w.WriteHeader(413) })
	ctx, c, _ := newClient(t, Options{HTTP2: true})
	body := make([]byte, 60<<10)
	for i := range 50 {
		if _, err := c.Post(ctx, url, body, nil); err != nil {
			t.Fatal(err)
		}
		for j := range body {
			body[j] = byte(i)
		}
	}
}

// Expect: 100-continue holds the body back until the server accepts it, or ContinueTimeout has
// passed.
func TestHTTP2Expect(t *testing.T) {
	t.Parallel()
	for _, url := range bothHTTP2(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/no":
			w.WriteHeader(403)
		default:
			summing(w, r)
		}
	}) {
		for _, source := range []bool{false, true} {
			ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true, ContinueTimeout: time.Minute})
			const size = 1 << 20
			r := Request{Method: "POST", Body: make([]byte, size), Headers: map[string]string{"expect": "100-Continue"}}
			if source {
				r.Body, r.Source = nil, Stream(func() (io.ReadCloser, error) {
					return io.NopCloser(bytes.NewReader(make([]byte, size))), nil
				})
			}
			for path, want := range map[string]int{"/": 200, "/more": 200, "/no": 403} {
				r.URL = url + path
				got, err := c.Do(ctx, r)
				if err != nil || got.Status != want || want == 200 && !strings.HasPrefix(string(got.Body), fmt.Sprintf("POST %d ", size)) {
					t.Errorf("%s: %d %s, %v", path, got.Status, got.Body, err)
				}
			}
			wantCounts(t, rec, counts{"http_ok": 2, "http_fail": 1, "latency": 3})
			if out := rec.Counts("home.")["bytes_out"]; out < 2*size || out > 2*size+40<<10 {
				t.Errorf("%d bytes sent, want two bodies of 1 MiB", out)
			}
		}
	}
	// nginx does not ask for bodies, and here refuses Expect.
	ng := servers.Nginx(t, `location /417 { if ($http_expect) { return 417; } return 200 "taken"; }`)
	const wait = 200 * time.Millisecond
	ctx, c, _ := newClient(t, Options{HTTP2: true, ContinueTimeout: wait})
	r, err := c.Do(ctx, Request{Method: "PUT", URL: ng.H2C + "/put/x", Body: []byte("hello"), Headers: map[string]string{"Expect": "100-continue"}})
	if err != nil || r.Status != 201 || r.Latency < wait || r.Latency > 20*wait {
		t.Errorf("%d after %v, %v", r.Status, r.Latency, err)
	}
	ctx, c, rec := newClient(t, Options{HTTP2: true, ContinueTimeout: time.Minute})
	for range 3 {
		r, err := c.Do(ctx, Request{Method: "POST", URL: ng.H2C + "/417", Body: []byte("hello"), Headers: map[string]string{"Expect": "100-continue"}})
		if err != nil || string(r.Body) != "taken" {
			t.Errorf("%d %s, %v", r.Status, r.Body, err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
	if log := ng.Log(t); len(log) != 7 {
		t.Errorf("nginx saw %q, want each of three requests twice after the first one", log)
	}
}

// Answers have trailers, and the time to their head; 1xx is not the answer.
func TestHTTP2Answers(t *testing.T) {
	t.Parallel()
	const pause = 200 * time.Millisecond
	for _, url := range bothHTTP2(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(103)
		time.Sleep(pause)
		fmt.Fprint(w, "hello")
		w.(nethttp.Flusher).Flush()
		time.Sleep(pause)
		w.Header().Set("X-Sum", "abc")
		w.Header().Set(nethttp.TrailerPrefix+"X-More", "d")
	}) {
		ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true})
		for i := range 2 {
			r, err := c.Do(ctx, Request{URL: url})
			if err != nil || string(r.Body) != "hello" || r.Trailers.Get("x-sum") != "abc" || r.Trailers.Get("X-More") != "d" || r.Header.Get("X-Sum") != "" {
				t.Errorf("%q, head %q, trailers %q, %v", r.Body, r.Header.lines, r.Trailers.lines, err)
			}
			if r.FirstByte < pause || r.Latency < 2*pause || r.Latency < r.FirstByte+pause*3/10 { // the answer is sometimes read late
				t.Errorf("first byte after %v of %v", r.FirstByte, r.Latency)
			}
			if r, err := c.Do(ctx, Request{URL: url, Discard: true}); err != nil || r.Trailers.lines != nil || r.Header.lines != nil {
				t.Errorf("thrown away: %q, %v", r.Trailers.lines, err)
			}
			if n := rec.Counts("home.")["connections_reused"]; n != int64(2*i+1) {
				t.Errorf("%d reused after %d calls", n, 2*i+2)
			}
		}
		if rec.Counts("home.")["ttfb"] != 4 || rec.Quantile("home.ttfb", 0.5) < int64(pause) {
			t.Errorf("ttfb: %d, %v", rec.Counts("home.")["ttfb"], time.Duration(rec.Quantile("home.ttfb", 0.5)))
		}
	}
}

// Answers that violate the protocol, and answers that only seem to.
func TestHTTP2Malformed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/short": "protocol", "/head": "protocol", "/304": "", "/near": ""} {
		url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			switch r.URL.Path {
			case "/short":
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, "half")
			case "/head":
				w.Header().Set("X-Long", strings.Repeat("x", 66<<10))
			case "/near":
				w.Header().Set("X-Long", strings.Repeat("x", 63<<10))
			case "/304":
				w.Header().Set("Content-Length", "100")
				w.WriteHeader(304)
			}
		})
		ctx, c, rec := newClient(t, Options{HTTP2: true})
		_, err := c.Do(ctx, Request{URL: url + path})
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if got := conn.Classify(err).String(); err == nil || got != want {
			t.Errorf("%s: %s: %v", path, got, err)
		}
		wantCounts(t, rec, counts{"http_other_fail": 1, "error." + want: 1})
	}
}

// Headers that HTTP/2 does not allow are an error of each call.
func TestHTTP2Refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"upgrade", "websocket", "header upgrade: not allowed in HTTP/2 (RFC 9113, section 8.2.2): leave it out"},
		{"Keep-Alive", "timeout=5", "header Keep-Alive: not allowed in HTTP/2"},
		{"Proxy-Connection", "keep-alive", "header Proxy-Connection: not allowed in HTTP/2"},
		{"Connection", "close, X-Own", `header Connection: "X-Own": HTTP/2 allows only close and keep-alive`},
		{"TE", "gzip", `header TE: "gzip": HTTP/2 allows only trailers`},
		{"Host", "", "header Host: empty"},
		{"Transfer-Encoding", "chunked", "set Request.Chunked"},
	} {
		ctx, c, rec := newClient(t, Options{HTTP2: true})
		for range 3 {
			if _, err := c.Get(ctx, "http://127.0.0.1:1/", map[string]string{tt.name: tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		}
		if got := rec.Counts("home."); len(got) != 0 {
			t.Errorf("counts %v, want none", got)
		}
	}
}

// Connection: close closes the connection after the calls that it serves.
func TestHTTP2Close(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		fmt.Fprintf(w, "%s %q", r.RemoteAddr, r.Header["Connection"])
	})
	ctx, c, rec := newClient(t, Options{HTTP2: true, MaxConns: 1})
	seen := map[string]bool{}
	for range 5 {
		body, err := c.Get(ctx, url, map[string]string{"connection": "close"})
		if err != nil || !strings.HasSuffix(string(body), " []") || seen[string(body)] {
			t.Errorf("%s, %v", body, err)
		}
		seen[string(body)] = true
	}
	if err := c.GetIgnoreRes(ctx, url, map[string]string{"Connection": "keep-alive", "TE": "trailers"}); err != nil {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"http_ok": 6, "latency": 6})
	if opened, open := connections(rec); opened != 6 || open != 1 {
		t.Errorf("%d opened, %d open; want 6, 1", opened, open)
	}
}

// A connection that ends during the second request of an operation, before its answer, is no
// failure either: the request is sent once more on a new one.
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
	ctx, c, rec := newClient(t, Options{HTTP2: true, MaxRedirects: 1})
	r, err := c.Do(ctx, Request{Method: "PUT", URL: s.URL + "/start", Source: stringSource("hello")})
	if err != nil || !strings.HasPrefix(string(r.Body), "PUT 5 ") {
		t.Errorf("%q, %v", r.Body, err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "redirects": 1})
	if opened, open := connections(rec); opened != 2 || open != 1 || seen.Load() != 2 {
		t.Errorf("%d opened, %d open, %d requests to /end; want 2, 1, 2", opened, open, seen.Load())
	}
}

// A call does not return before a pending Read of its Source.
func TestHTTP2WaitsForSource(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) { w.WriteHeader(204) })
	ctx, c, _ := newClient(t, Options{HTTP2: true})
	for range 10 {
		closed := make(chan struct{})
		var reading atomic.Bool
		source := Stream(func() (io.ReadCloser, error) {
			return struct {
				io.Reader
				io.Closer
			}{readFunc(func([]byte) (int, error) {
				reading.Store(true)
				defer reading.Store(false)
				<-closed
				time.Sleep(10 * time.Millisecond)
				return 0, io.ErrClosedPipe
			}), closer(func() { close(closed) })}, nil
		})
		if _, err := c.Do(ctx, Request{Method: "PUT", URL: url, Source: source}); err != nil {
			t.Error(err)
		}
		if reading.Load() {
			t.Error("the source is still read")
		}
	}
}

// The Content-Length of 204 and 304 is not that of their body; with other statuses it must be
// correct.
func TestHTTP2Bodiless(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{200: io.ErrUnexpectedEOF, 204: nil, 304: nil, 404: io.ErrUnexpectedEOF} {
		for _, discard := range []bool{false, true} {
			q := &call{request: Request{Method: "GET", Discard: discard}, maxBody: 1000}
			body := io.NopCloser(failing{io.ErrUnexpectedEOF}) // as net/http returns it
			if err := q.receive2(&nethttp.Response{StatusCode: status, ContentLength: 100, Body: body}); err != want {
				t.Errorf("%d: %v, want %v", status, err, want)
			}
		}
	}
}

// More bytes than announced are an error; net/http's server can't send them.
func TestHTTP2Longer(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		p.Send("\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS
		awaitHeaders(p)
		p.Send("\x00\x00\x05\x01\x04\x00\x00\x00\x01\x88\x0f\x0d\x011", // HEADERS: :status 200, content-length 1
			"\x00\x00\x02\x00\x01\x00\x00\x00\x01ab") // DATA
		p.Hold()
	})
	ctx, c, rec := newClient(t, Options{HTTP2: true, Timeout: 5 * time.Second})
	if body, err := c.Get(ctx, s.URL, nil); conn.Classify(err) != conn.Protocol {
		t.Errorf("%q, %v", body, err)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.protocol": 1})
}
