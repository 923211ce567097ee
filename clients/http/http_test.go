package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// echo answers with the request: method, URI, selected headers and body.
func echo(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Echo", "yes")
	fmt.Fprintf(w, "%s %s host=%s agent=%q length=%d type=%q body=%s", r.Method, r.URL.RequestURI(), r.Host,
		r.Header["User-Agent"], r.ContentLength, r.Header.Get("Content-Type"), body)
}

func TestMethods(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(echo))
	t.Cleanup(srv.Close)
	url := srv.URL + "/a?b=c"
	host := strings.TrimPrefix(srv.URL, "http://")
	json := map[string]string{"Content-Type": "application/json"}
	body := []byte(`{"a":1}`)
	want := func(method string, length int, kind, body string) string {
		return fmt.Sprintf("%s /a?b=c host=%s agent=%q length=%d type=%q body=%s", method, host, []string{userAgent}, length, kind, body)
	}
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, c HttpClient) ([]byte, error)
		want string
	}{
		{"Get", func(ctx context.Context, c HttpClient) ([]byte, error) { return c.Get(ctx, url, nil) }, want("GET", 0, "", "")},
		{"GetIgnoreRes", func(ctx context.Context, c HttpClient) ([]byte, error) { return nil, c.GetIgnoreRes(ctx, url, nil) }, ""},
		{"Post", func(ctx context.Context, c HttpClient) ([]byte, error) { return c.Post(ctx, url, body, json) },
			want("POST", 7, "application/json", `{"a":1}`)},
		{"Post without a body", func(ctx context.Context, c HttpClient) ([]byte, error) { return c.Post(ctx, url, nil, nil) }, want("POST", 0, "", "")},
		{"PostIgnoreRes", func(ctx context.Context, c HttpClient) ([]byte, error) {
			return nil, c.PostIgnoreRes(ctx, url, body, json)
		}, ""},
		{"Put", func(ctx context.Context, c HttpClient) ([]byte, error) { return c.Put(ctx, url, body, json) },
			want("PUT", 7, "application/json", `{"a":1}`)},
		{"Patch", func(ctx context.Context, c HttpClient) ([]byte, error) { return c.Patch(ctx, url, body, json) },
			want("PATCH", 7, "application/json", `{"a":1}`)},
		{"Do", func(ctx context.Context, c HttpClient) ([]byte, error) {
			r, err := c.Do(ctx, Request{Method: "DELETE", URL: url})
			if r.Status != 200 || r.Header.Get("x-echo") != "yes" || r.Header.Get("X-Nothing") != "" {
				t.Errorf("Do: %d, X-Echo %q", r.Status, r.Header.Get("x-echo"))
			}
			return r.Body, err
		}, want("DELETE", 0, "", "")},
		{"Do without a method", func(ctx context.Context, c HttpClient) ([]byte, error) {
			r, err := c.Do(ctx, Request{URL: url})
			return r.Body, err
		}, want("GET", 0, "", "")},
		{"Do, discarding", func(ctx context.Context, c HttpClient) ([]byte, error) {
			r, err := c.Do(ctx, Request{URL: url, Discard: true})
			return r.Body, err
		}, ""},
		{"Do HEAD", func(ctx context.Context, c HttpClient) ([]byte, error) {
			r, err := c.Do(ctx, Request{Method: "HEAD", URL: url})
			if r.Header.Get("Content-Length") == "" {
				t.Error("HEAD: no Content-Length")
			}
			return r.Body, err
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, c, rec := newClient(t)
			for range 3 { // the third is sent from the template that the second made
				got, err := tt.call(ctx, c)
				if err != nil || string(got) != tt.want {
					t.Errorf("%q, %v; want %q", got, err, tt.want)
				}
			}
			wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
			wantOneConnection(t, rec)
		})
	}
}

// Each status is counted under its metric, over plain HTTP and TLS, and nginx has counted the
// same.
func TestAgainstNginx(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	want := []struct {
		path   string
		status int
		body   string
	}{
		{"/", 200, servers.Index},
		{"/chunked/index.html", 200, servers.Index},
		{"/close/index.html", 200, servers.Index},
		{"/status/204", 204, ""},
		{"/status/301", 301, "<html>"},
		{"/status/404", 404, "<html>"},
		{"/status/500", 500, "<html>"},
	}
	for _, base := range []string{ng.URL, ng.TLS} {
		ctx, c, rec := newClient(t, Options{RootCAs: ng.Roots})
		for range 2 {
			for _, tt := range want {
				r, err := c.Do(ctx, Request{URL: base + tt.path})
				if err != nil {
					t.Fatal(err)
				}
				if r.Status != tt.status || !strings.HasPrefix(string(r.Body), tt.body) || (tt.body == "") != (len(r.Body) == 0) {
					t.Errorf("%s: %d with %d bytes, want %d", tt.path, r.Status, len(r.Body), tt.status)
				}
				if err := c.GetIgnoreRes(ctx, base+tt.path, nil); err != nil {
					t.Error(err)
				}
			}
		}
		big, err := c.Get(ctx, base+"/big", nil)
		if err != nil || len(big) != servers.BigSize || !bytes.HasSuffix(big, []byte("0123456789abcdef")) {
			t.Errorf("/big: %d bytes, %v", len(big), err)
		}
		if err := c.GetIgnoreRes(ctx, base+"/big", nil); err != nil {
			t.Error(err)
		}
		file := base + "/put/file"
		if _, err := c.Put(ctx, file, big, nil); err != nil {
			t.Error(err)
		}
		if back, err := c.Get(ctx, file, nil); err != nil || !bytes.Equal(back, big) {
			t.Errorf("what was put: %d bytes, %v", len(back), err)
		}
		if r, err := c.Do(ctx, Request{Method: "DELETE", URL: file}); err != nil || r.Status != 204 {
			t.Errorf("DELETE: %d, %v", r.Status, err)
		}
		if r, err := c.Do(ctx, Request{Method: "HEAD", URL: base + "/big"}); err != nil || r.Header.Get("content-length") != "8388608" {
			t.Errorf("HEAD: %q, %v", r.Header.Get("content-length"), err)
		}
		wantCounts(t, rec, counts{"http_ok": 4*4 + 6, "http_fail": 3 * 4, "latency": 7*4 + 6})
		// nginx closes after /close/ and after a 500, each asked four times.
		if opened, open := connections(rec); opened != 9 || open != 1 {
			t.Errorf("connections: %d opened, %d open; want 9, 1", opened, open)
		}
		if in := rec.Counts("home.")["bytes_in"]; in < 3*servers.BigSize || in > 3*servers.BigSize+100_000 {
			t.Errorf("bytes_in = %d", in)
		}
		if out := rec.Counts("home.")["bytes_out"]; out < servers.BigSize || out > servers.BigSize+10_000 {
			t.Errorf("bytes_out = %d", out)
		}
	}
	log := ng.Log(t)
	if want := 2 * (7*4 + 6); len(log) != want {
		t.Errorf("nginx has served %d requests, want %d", len(log), want)
	}
	resumed := slices.IndexFunc(log, func(line string) bool { return strings.HasSuffix(line, " r") })
	if resumed < 0 {
		t.Error("no TLS session was resumed")
	}
}

// S2-7: a request may be sent concurrently, so that a slow answer does not slow down the
// sender.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	const calls = 100
	arrived, release := make(chan struct{}, calls), make(chan struct{})
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		arrived <- struct{}{}
		<-release
		echo(w, r)
	}))
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t)
	done := make(chan error, calls)
	for i := range calls {
		go func() {
			body, err := c.Get(ctx, fmt.Sprintf("%s/%d", srv.URL, i%10), nil)
			if err == nil && !strings.HasPrefix(string(body), fmt.Sprintf("GET /%d host", i%10)) {
				err = fmt.Errorf("call %d got %q", i, body)
			}
			done <- err
		}()
	}
	for range calls {
		<-arrived // all requests are in flight at once
	}
	close(release)
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": calls, "latency": calls})
	if opened, open := connections(rec); opened != calls || open != calls {
		t.Errorf("connections: %d opened, %d open; want %d each", opened, open, calls)
	}
}

func TestPrefixesAreShared(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(echo))
	t.Cleanup(srv.Close)
	ctx, rec := executortest.Context(t)
	for _, prefix := range []string{"a", "b", "a"} {
		c, err := NewHttpClient(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(ctx, srv.URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := rec.Counts("a.")["http_ok"], rec.Counts("b.")["http_ok"]; a != 2 || b != 1 {
		t.Errorf("a: %d, b: %d; want 2, 1", a, b)
	}
}

func TestNewHttpClientErrors(t *testing.T) {
	t.Parallel()
	ctx, _ := executortest.Context(t)
	for _, tt := range []struct {
		name   string
		prefix string
		opts   []Options
		want   string
	}{
		{"no prefix", "", nil, ""},
		{"two options", "a", make([]Options, 2), `http client "a": 2 options given, want one`},
		{"negative timeout", "a", []Options{{Timeout: -1}}, `http client "a": options: a negative limit`},
		{"prefix too long", strings.Repeat("x", 200), nil, "http client"},
	} {
		if tt.name == "no prefix" {
			continue // decided by what titles may be: see internal/measure/meter
		}
		if _, err := NewHttpClient(ctx, tt.prefix, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := (HttpClient{}).Get(ctx, "http://a", nil); err == nil {
		t.Error("a client that was not made took a call")
	}
}
