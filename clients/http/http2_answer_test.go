package http

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

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
		beforeEnd := false // the first byte was read while the server paused after it; a busy host reads it late
		for i := range 2 {
			r, err := c.Do(ctx, Request{URL: url})
			if err != nil || string(r.Body) != "hello" || r.Trailers.Get("x-sum") != "abc" || r.Trailers.Get("X-More") != "d" || r.Header.Get("X-Sum") != "" {
				t.Errorf("%q, head %q, trailers %q, %v", r.Body, r.Header.lines, r.Trailers.lines, err)
			}
			if r.FirstByte < pause || r.Latency < 2*pause || r.Latency < r.FirstByte {
				t.Errorf("first byte after %v of %v", r.FirstByte, r.Latency)
			}
			beforeEnd = beforeEnd || r.Latency-r.FirstByte > pause*3/10
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
		for i := 0; !beforeEnd && i < 100; i++ {
			r, err := c.Do(ctx, Request{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			beforeEnd = r.Latency-r.FirstByte > pause*3/10
		}
		if !beforeEnd {
			t.Error("the first byte was never earlier than the last one")
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
