package http

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Bodies of any size are transferred whole in both directions, over plain HTTP and TLS.
func TestBodySizes(t *testing.T) {
	t.Parallel()
	handler := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Sum", fmt.Sprintf("%x", sha256.Sum256(body)))
		if r.URL.Path == "/chunked" {
			for len(body) > 0 {
				n := min(len(body), 1000)
				w.Write(body[:n])
				w.(nethttp.Flusher).Flush()
				body = body[n:]
			}
		}
		w.Write(body)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, srv := range []*httptest.Server{plain, secure} {
		for _, size := range []int{0, 1, 1000, oneWrite - 200, oneWrite, inTurn, inTurn + 1, 1 << 20, 5 << 20} {
			for _, path := range []string{"/", "/chunked"} {
				t.Run(fmt.Sprintf("%s%s %d", srv.URL[:5], path, size), func(t *testing.T) {
					t.Parallel()
					ctx, c, rec := newClient(t, Options{InsecureSkipVerify: true})
					body := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
					for range 3 {
						r, err := c.Do(ctx, Request{Method: "POST", URL: srv.URL + path, Body: body})
						if err != nil {
							t.Fatal(err)
						}
						if r.Header.Get("X-Sum") != fmt.Sprintf("%x", sha256.Sum256(body)) {
							t.Error("the server got another body")
						}
						if !bytes.Equal(r.Body, body) {
							t.Errorf("%d bytes came back", len(r.Body))
						}
					}
					wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
					wantOneConnection(t, rec)
				})
			}
		}
	}
}

// A server may answer while it reads, and may read on only while its answer is read.
func TestEchoWhileReading(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		const size = 32 << 20
		p.Head()
		p.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size))
		io.CopyN(p, p, size)
		p.Hold()
	})
	ctx, c, rec := newClient(t)
	body := make([]byte, 32<<20)
	if got, err := c.Post(ctx, s.URL, body, nil); err != nil || len(got) != len(body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1})
}

// A server may answer before it has read everything, and not read the rest.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	const refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"
	for _, size := range []int{1000, oneWrite, inTurn, 32 << 20} {
		for name, after := range map[string]func(p *servers.Peer){
			"ends":  func(*servers.Peer) {},
			"holds": func(p *servers.Peer) { p.Wait() },
		} {
			t.Run(fmt.Sprintf("%d, then %s", size, name), func(t *testing.T) {
				t.Parallel()
				s := servers.Faults(t, func(p *servers.Peer) { p.Head(); p.Send(refusal); after(p) })
				ctx, c, rec := newClient(t)
				body, err := c.Post(ctx, s.URL, make([]byte, size), nil)
				if err != nil || string(body) != "big" {
					t.Errorf("%q, %v", body, err)
				}
				wantCounts(t, rec, counts{"http_fail": 1, "latency": 1})
			})
		}
	}
}

// A large request that fails is counted once, and leaves nothing running.
func TestLargeRequestFails(t *testing.T) {
	servers.NoLeaks(t)
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		class  string
	}{
		{"reset", func(p *servers.Peer) { p.Head(); p.Reset() }, "reset"},
		{"nobody reads", func(p *servers.Peer) { p.Head(); p.Wait() }, "timeout"},
		{"garbage", func(p *servers.Peer) { p.Head(); p.Send("garbage"); p.Wait() }, "protocol"},
	} {
		s := servers.Faults(t, tt.script)
		ctx, c, rec := newClient(t, limited(tt.class, 100*time.Millisecond))
		if _, err := c.Post(ctx, s.URL, make([]byte, 32<<20), nil); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		wantCounts(t, rec, counts{"http_other_fail": 1, "error." + tt.class: 1})
		c.Close()
	}
}

// Latency is exactly from the call to the last byte of the body.
func TestLatency(t *testing.T) {
	t.Parallel()
	const pause = 30 * time.Millisecond
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
	}{
		{"slow to answer", func(p *servers.Peer) { p.Request(); time.Sleep(pause); p.Send(ok) }},
		{"slow within the head", func(p *servers.Peer) { p.Request(); p.Send(ok[:10]); time.Sleep(pause); p.Send(ok[10:]) }},
		{"slow within the body", func(p *servers.Peer) {
			p.Request()
			p.Send(strings.TrimSuffix(ok, "k"))
			time.Sleep(pause)
			p.Send("k")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Faults(t, tt.script)
			ctx, c, rec := newClient(t)
			began := time.Now()
			if err := c.GetIgnoreRes(ctx, s.URL, nil); err != nil {
				t.Fatal(err)
			}
			all := time.Since(began)
			got := time.Duration(rec.Quantile("home.latency", 0.5))
			if got < pause*99/100 || got > all*101/100 { // the histogram is exact to 0.4 %
				t.Errorf("latency %v, want %v to %v", got, pause, all)
			}
		})
	}
}

// bytes_in and bytes_out count everything read and written, including heads, even if the answer
// was incomplete.
func TestBytes(t *testing.T) {
	t.Parallel()
	half := strings.TrimSuffix(ok, "k")
	var got string
	s := servers.Faults(t, func(p *servers.Peer) { got = p.Request(); p.Send(half) })
	ctx, c, rec := newClient(t)
	_, _ = c.Post(ctx, s.URL, []byte("hello"), nil)
	want := counts{"bytes_in": int64(len(half)), "bytes_out": int64(len(got))}
	all := rec.Counts("home.")
	for title, n := range want {
		if all[title] != n {
			t.Errorf("%s = %d, want %d", title, all[title], n)
		}
	}
}
