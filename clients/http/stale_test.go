package http

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A connection that the server closed while it was idle causes no failure if nothing was sent
// over it, nor, with Resend, for requests that may be sent twice. What is sent again is counted.
func TestStaleConnections(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH"} {
		for _, end := range []string{"end", "reset", "half close"} {
			for _, tt := range []struct{ old, resend bool }{{false, false}, {false, true}, {true, false}} {
				old := tt.old
				name := fmt.Sprintf("%s after %s, idle for long %v, resend %v", method, end, old, tt.resend)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := servers.Faults(t, func(p *servers.Peer) {
						for p.Request() != "" {
							answer := ok
							if method == "HEAD" {
								answer = strings.TrimSuffix(ok, "ok")
							}
							p.Send(answer)
							if p.N > 0 {
								continue
							}
							switch end {
							case "reset":
								p.Reset()
							case "half close":
								p.HalfClose()
								p.Hold()
							}
							return
						}
					})
					ctx, c, rec := newClient(t, Options{Resend: tt.resend})
					if _, err := c.Do(ctx, Request{Method: method, URL: s.URL}); err != nil {
						t.Fatal(err)
					}
					waitFor(t, c.c.idle.Gone) // the close has arrived, but the client has not noticed it
					if c.c.idle.used = conn.Now(); old {
						c.c.idle.used -= checkAfter
					}
					_, err := c.Do(ctx, Request{Method: method, URL: s.URL})
					// The kernel knows of a reset: nothing more can be sent there.
					again := old || end == "reset" || tt.resend && method != "POST" && method != "PATCH"
					if again {
						if err != nil {
							t.Error(err)
						}
						want := counts{"http_ok": 2, "latency": 2}
						if !old { // an old one is checked before it is used
							want["resent"] = 1
						}
						wantCounts(t, rec, want)
						if s.Accepted() != 2 {
							t.Errorf("%d connections, want 2", s.Accepted())
						}
					} else {
						if class := conn.Classify(err); class != conn.EOF && class != conn.Reset {
							t.Errorf("%v, want eof or reset", err)
						}
						wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "http_other_fail": 1,
							"error." + conn.Classify(err).String(): 1})
					}
				})
			}
		}
	}
}

// A request is repeated only once, and only before the first byte of the answer.
func TestStaleConnectionsGiveUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		second   string // what the second connection receives
		reuse    string // what the first connection receives as its second answer
		accepted int
	}{
		{"the new one breaks too", "", "", 2},
		{"an answer had begun", ok, "HTTP/1.1 200", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Faults(t, func(p *servers.Peer) {
				p.Request()
				if p.N == 0 {
					p.Send(ok)
					p.Request()
					p.Send(tt.reuse)
				} else {
					p.Send(tt.second)
				}
			})
			ctx, c, rec := newClient(t, Options{Resend: true})
			if _, err := c.Get(ctx, s.URL, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(ctx, s.URL, nil); conn.Classify(err) != conn.EOF {
				t.Errorf("%v, want eof", err)
			}
			want := counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.eof": 1}
			if tt.accepted > 1 {
				want["resent"] = 1
			}
			wantCounts(t, rec, want)
			if s.Accepted() != tt.accepted {
				t.Errorf("%d connections, want %d", s.Accepted(), tt.accepted)
			}
		})
	}
}

// Unrequested bytes from the server are not the next answer.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, func(p *servers.Peer) {
		for p.Request() != "" {
			p.Send(ok)
			if p.N == 0 {
				p.Send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				return
			}
		}
	})
	ctx, c, rec := newClient(t)
	if _, err := c.Get(ctx, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	if l := c.c.idle; l != nil { // otherwise it arrived with the answer, and the connection was dropped
		waitFor(t, l.Gone)
		l.used -= checkAfter
	}
	if _, err := c.Get(ctx, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
}

// If the new connection can't be opened, that is the failure, counted once.
func TestStaleConnectionAndNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1<<10))
		_, _ = io.WriteString(c, ok)
		l.Close()
		c.Close()
	}()
	ctx, c, rec := newClient(t, Options{Resend: true})
	url := "http://" + l.Addr().String()
	if _, err := c.Get(ctx, url, nil); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c.c.idle.Gone)
	if _, err := c.Get(ctx, url, nil); conn.Classify(err) != conn.Refused {
		t.Errorf("%v, want refused", err)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "resent": 1, "http_other_fail": 1, "error.refused": 1})
	if _, open := connections(rec); open != 0 || c.c.open != 0 {
		t.Errorf("%d connections open, %d places taken", open, c.c.open)
	}
}
