package http

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
)

// Redirects, cookies, credentials and codings behave the same over HTTP/2.
func TestHTTP2Messages(t *testing.T) {
	t.Parallel()
	url := h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		user, password, _ := r.BasicAuth()
		cookie, _ := r.Cookie("c")
		switch {
		case r.URL.Path == "/from":
			nethttp.SetCookie(w, &nethttp.Cookie{Name: "c", Value: "v"})
			nethttp.Redirect(w, r, "/to", nethttp.StatusTemporaryRedirect)
		case r.Header.Get("Accept-Encoding") != acceptEncoding || user+":"+password != "me:pw" || cookie == nil || cookie.Value != "v":
			w.WriteHeader(nethttp.StatusBadRequest)
		default:
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Trailer", "Sum")
			z := gzip.NewWriter(w)
			io.Copy(z, r.Body)
			z.Close()
			w.Header().Set("Sum", "1")
		}
	})
	ctx, c, rec := newClient(t, Options{HTTP2: true, MaxRedirects: 3, Cookies: true, Decode: true, Auth: Basic("me", "pw")})
	const body = "a body that is sent twice"
	r, err := c.Do(ctx, Request{Method: "POST", URL: url + "/from", Body: []byte(body)})
	if err != nil || r.Status != 200 || string(r.Body) != body || r.Redirects != 1 || r.URL != url+"/to" || r.Trailers.Get("sum") != "1" {
		t.Errorf("%v: status %d, %q, %d redirects to %s, trailers %q", err, r.Status, r.Body, r.Redirects, r.URL, r.Trailers.lines)
	}
	if r.FirstByte <= 0 || r.FirstByte > r.Latency {
		t.Errorf("the first byte came after %v of %v", r.FirstByte, r.Latency)
	}
	got := rec.Counts("home.")
	if got["http_ok"] != 1 || got["ttfb"] != 1 || got["redirects"] != 1 || got["status.200"] != 1 || got["http_other_fail"] != 0 {
		t.Errorf("counts %v", got)
	}
}

// slow returns a text one byte per call, so that its length can't be guessed.
type slow struct{ *strings.Reader }

func (s slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }
func (slow) Close() error                 { return nil }

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
