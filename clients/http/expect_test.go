package http

import (
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Expect: 100-continue holds the body back until the server accepts it, or ContinueTimeout has
// passed (RFC 9110, section 10.1.1).
func TestExpect(t *testing.T) {
	t.Parallel()
	const go100 = "HTTP/1.1 100 Continue\r\n\r\n"
	const wait = 100 * time.Millisecond
	body := func(p *servers.Peer) string {
		b := make([]byte, 5)
		_, _ = io.ReadFull(p, b)
		return string(b)
	}
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer, head string) (got string)
		want   string // the expected result
		status int
		err    string // within the class and text of the error
		heads  int    // requests the server saw
		again  bool
		slow   bool // it takes ContinueTimeout
	}{
		{"100", func(p *servers.Peer, _ string) string { p.Send(go100); b := body(p); p.Send(ok); return b }, "hello", 200, "", 1, true, false},
		{"100 twice, and early hints", func(p *servers.Peer, _ string) string {
			p.Send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", go100, go100)
			b := body(p)
			p.Send(ok)
			return b
		}, "hello", 200, "", 1, true, false},
		{"nothing", func(p *servers.Peer, _ string) string { b := body(p); p.Send(ok); return b }, "hello", 200, "", 1, true, true},
		{"early hints alone", func(p *servers.Peer, _ string) string {
			p.Send("HTTP/1.1 103 Early Hints\r\n\r\n")
			b := body(p)
			p.Send(ok)
			return b
		}, "hello", 200, "", 1, true, true},
		{"a final answer", func(p *servers.Peer, _ string) string {
			p.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			b, _ := io.ReadAll(p)
			return string(b)
		}, "", 403, "", 1, false, false},
		{"417, then once more without", func(p *servers.Peer, head string) string {
			if strings.Contains(head, "Expect:") {
				p.Send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return ""
			}
			b := body(p)
			p.Send(ok)
			return b
		}, "hello", 200, "", 2, true, false},
		{"the end", func(p *servers.Peer, _ string) string { return "" }, "", 0, "connection closed without an answer", 1, false, false},
		{"a reset after 100", func(p *servers.Peer, _ string) string { p.Send(go100); p.Reset(); return "" }, "", 0, "reset", 1, false, false},
		{"garbage", func(p *servers.Peer, _ string) string { p.Send("garbage"); return "" }, "", 0, "not HTTP/1", 1, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			heads, got := make(chan string, 4), make(chan string, 4)
			s := servers.Faults(t, func(p *servers.Peer) {
				head := p.Head()
				if head == "" {
					return
				}
				heads <- head
				if b := tt.script(p, head); b != "" {
					got <- b
				}
				if tt.again {
					p.Hold()
				}
			})
			o := Options{ContinueTimeout: wait}
			if !tt.slow {
				o.ContinueTimeout = time.Minute
			}
			ctx, c, rec := newClient(t, o)
			began := time.Now()
			r, err := c.Do(ctx, Request{Method: "POST", URL: s.URL, Body: []byte("hello"), Headers: map[string]string{"Expect": "100-continue"}})
			took := time.Since(began)
			if tt.err == "" && (err != nil || r.Status != tt.status) || tt.err != "" && (err == nil || !strings.Contains(conn.Classify(err).String()+": "+err.Error(), tt.err)) {
				t.Errorf("%d, %v; want %d, %q", r.Status, err, tt.status, tt.err)
			}
			if tt.slow && (took < wait || took > wait+30*time.Second) {
				t.Errorf("it took %v, want %v or somewhat more", took, wait)
			}
			if tt.want != "" {
				if b := <-got; b != tt.want {
					t.Errorf("the server got %q, want %q", b, tt.want)
				}
			}
			if _, open := connections(rec); (open == 1) != tt.again {
				t.Errorf("%d connections open, want the one: %v", open, tt.again)
			}
			c.Close()
			if len(got) != 0 || len(heads) != tt.heads {
				t.Errorf("%d requests, want %d; more bodies: %d", len(heads), tt.heads, len(got))
			}
			switch {
			case tt.err != "":
				if n := outcomes(rec)["http_other_fail"]; n != 1 {
					t.Errorf("counts %v", outcomes(rec))
				}
			case tt.status == 200:
				wantCounts(t, rec, counts{"http_ok": 1, "latency": 1})
			default:
				wantCounts(t, rec, counts{"http_fail": 1, "latency": 1})
			}
		})
	}
}

// net/http's server asks for the body when its handler reads it.
func TestExpectOfNetHTTP(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(403)
			return
		}
		summing(w, r)
	}))
	t.Cleanup(srv.Close)
	ctx, c, rec := newClient(t, Options{ContinueTimeout: time.Minute})
	for range 3 {
		for path, want := range map[string]int{"/": 200, "/no": 403} {
			r, err := c.Do(ctx, Request{Method: "POST", URL: srv.URL + path, Body: make([]byte, 1<<20), Headers: map[string]string{"Expect": "100-continue"}})
			if err != nil || r.Status != want {
				t.Errorf("%s: %d, %v", path, r.Status, err)
			}
		}
	}
	wantCounts(t, rec, counts{"http_ok": 3, "http_fail": 3, "latency": 6})
	if out := rec.Counts("home.")["bytes_out"]; out > 3<<20+3000 {
		t.Errorf("%d bytes sent, want three bodies of 1 MiB", out)
	}
}
