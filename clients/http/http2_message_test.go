package http

import (
	"compress/gzip"
	"fmt"
	"io"
	nethttp "net/http"
	"testing"
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
