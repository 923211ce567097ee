package http

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

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
				wantOneConnection(t, rec)
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
			options := limited(tt.class, 500*time.Millisecond)
			options.HTTP2 = true
			ctx, c, rec := newClient(t, options)
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
			_, err = c.Get(ctx, url, nil)
			for i := 0; i < 20 && err != nil && conn.Classify(err) == conn.Timeout; i++ { // of a busy host
				_, err = c.Get(ctx, url, nil)
			}
			if err != nil {
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

// slow returns a text one byte per call, so that its length can't be guessed.
type slow struct{ *strings.Reader }

func (s slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }

func (slow) Close() error { return nil }

// short is a Source that returns a wrong size.
type short struct{}

func (short) Open() (io.ReadCloser, int64, error) { return slow{strings.NewReader("abc")}, 5, nil }

func TestHTTP2Uploads(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/early" {
			w.WriteHeader(nethttp.StatusForbidden)
			return
		}
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %d %v %s", r.ContentLength, len(body), err, r.Trailer.Get("Sum"))
	})
	path := filepath.Join(t.TempDir(), "body")
	large := strings.Repeat("x", 300_000)
	if err := os.WriteFile(path, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(s string) Source {
		return Stream(func() (io.ReadCloser, error) { return slow{strings.NewReader(s)}, nil })
	}
	broken := Stream(func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { io.WriteString(w, "half"); w.CloseWithError(errors.New("disk on fire")) }()
		return r, nil
	})
	for _, tt := range []struct {
		name    string
		request Request
		want    string
		err     string
	}{
		{"a file", Request{Source: File(path)}, "300000 300000 <nil> ", ""},
		{"a large body", Request{Body: []byte(large)}, "300000 300000 <nil> ", ""},
		{"a stream", Request{Source: text("hello")}, "-1 5 <nil> ", ""},
		{"an empty stream", Request{Source: text("")}, "-1 0 <nil> ", ""},
		{"of no length by wish", Request{Body: []byte("hello"), Chunked: true}, "-1 5 <nil> ", ""},
		{"trailers", Request{Source: text("hello"), Trailers: map[string]string{"sum": "7"}}, "-1 5 <nil> 7", ""},
		{"100-continue", Request{Body: []byte("hello"), Headers: map[string]string{"Expect": "100-continue"}}, "5 5 <nil> ", ""},
		{"shorter than told", Request{Source: short{}}, "", "send the body: it ended 2 bytes before the size that its Source returned"},
		{"a broken source", Request{Source: broken}, "", "send the body: disk on fire"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, c, rec := newClient(t, Options{HTTP2: true, Timeout: 20 * time.Second})
			tt.request.Method, tt.request.URL = "PUT", url
			for range 2 {
				r, err := c.Do(ctx, tt.request)
				if tt.err != "" {
					if err == nil || !strings.HasSuffix(err.Error(), tt.err) || conn.Classify(err) != conn.Other {
						t.Errorf("error %v, want %s", err, tt.err)
					}
				} else if err != nil || string(r.Body) != tt.want {
					t.Errorf("%q, %v; want %q", r.Body, err, tt.want)
				}
			}
			want := counts{"http_ok": 2, "latency": 2}
			if tt.err != "" {
				want = counts{"http_other_fail": 2, "error.other": 2}
			}
			got := rec.Counts("home.")
			for title, n := range want {
				if got[title] != n {
					t.Errorf("counts %v, want %v", got, want)
				}
			}
		})
	}
	// An answer that arrives before the body was read ends reading the body.
	ctx, c, _ := newClient(t, Options{HTTP2: true, Timeout: 20 * time.Second})
	r, err := c.Do(ctx, Request{Method: "PUT", URL: url + "/early", Source: Stream(func() (io.ReadCloser, error) {
		r, _ := io.Pipe() // never a byte
		return r, nil
	})})
	if err != nil || r.Status != nethttp.StatusForbidden {
		t.Errorf("%d, %v", r.Status, err)
	}
}
