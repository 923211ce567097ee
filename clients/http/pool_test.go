package http

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/conn"
	"github.com/gobench-io/gobench/internal/testenv"
)

// serve answers every request of a connection.
func serve(p *testenv.Peer) {
	for p.Request() != "" {
		p.Send(ok)
	}
}

func TestOneConnectionInSequence(t *testing.T) {
	t.Parallel()
	s := testenv.Faults(t, serve)
	other := testenv.Faults(t, serve)
	ctx, c, rec := newClient(t)
	for range 10 {
		for _, url := range []string{s.URL + "/a", s.URL + "/b", other.URL} {
			if _, err := c.Get(ctx, url, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if opened, open := connections(rec); opened != 2 || open != 2 || s.Accepted() != 1 || other.Accepted() != 1 {
		t.Errorf("%d opened, %d open; the servers accepted %d and %d; want one each", opened, open, s.Accepted(), other.Accepted())
	}
}

// Beyond MaxConns calls wait for one another, and all get their answers.
func TestMaxConns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		servers int
	}{{"one server", 1}, {"two servers", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var now, most atomic.Int64
			script := func(p *testenv.Peer) {
				for p.Request() != "" {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					now.Add(-1)
					p.Send(ok)
				}
			}
			servers := make([]*testenv.FaultServer, tt.servers)
			for i := range servers {
				servers[i] = testenv.Faults(t, script)
			}
			ctx, c, rec := newClient(t, Options{MaxConns: 3})
			const calls = 300
			done := make(chan error)
			for i := range calls {
				go func() { done <- c.GetIgnoreRes(ctx, servers[i%len(servers)].URL, nil) }()
			}
			for range calls {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			wantCounts(t, rec, counts{"http_ok": calls, "latency": calls})
			if n := most.Load(); n > 3 {
				t.Errorf("%d calls at once, want at most 3", n)
			}
			if opened, open := connections(rec); open > 3 || tt.servers == 1 && opened > 3 {
				t.Errorf("connections: %d opened, %d open; want at most 3", opened, open)
			}
			if c.c.open > 3 || len(c.c.waiters) != 0 {
				t.Errorf("books: %d open, %d wait", c.c.open, len(c.c.waiters))
			}
		})
	}
}

// A call that waits for a connection obeys its ctx, and what frees up later goes to
// the next one.
func TestWaiting(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := testenv.Faults(t, func(p *testenv.Peer) {
		for p.Request() != "" {
			<-release
			p.Send(ok)
		}
	})
	ctx, c, rec := newClient(t, Options{MaxConns: 1})
	first := make(chan error)
	go func() { first <- c.GetIgnoreRes(ctx, s.URL, nil) }()
	waitFor(t, func() bool { return s.Accepted() == 1 })

	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := c.GetIgnoreRes(soon, s.URL, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ctx that ended: %v", err)
	}
	third := make(chan error)
	go func() { third <- c.GetIgnoreRes(ctx, s.URL, nil) }()
	waitFor(t, func() bool { c.c.mu.Lock(); defer c.c.mu.Unlock(); return len(c.c.waiters) == 1 })
	close(release)
	for _, done := range []chan error{first, third} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2, "http_other_fail": 1, "error.timeout": 1})
	if opened, _ := connections(rec); opened != 1 {
		t.Errorf("%d connections opened, want 1", opened)
	}
}

// Waiting for a connection is part of the whole time.
func TestWaitingTimesOut(t *testing.T) {
	t.Parallel()
	ctx, c, rec := newClient(t, Options{MaxConns: 1, Timeout: 20 * time.Millisecond})
	c.c.open = 1 // the only place is taken
	if err := c.GetIgnoreRes(ctx, "http://127.0.0.1:1", nil); conn.Classify(err) != conn.Timeout {
		t.Error(err)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.timeout": 1})
	if errs := rec.Errors("home"); errs["timeout: wait for one of MaxConns connections: i/o timeout"] != 1 {
		t.Errorf("errors %v", errs)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that in 10 s")
		}
	}
}

// A connection that the server closed while it was idle is no failure for requests
// that may be sent twice; for the others it is, unless nothing of them was sent.
func TestStaleConnections(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POST", "PATCH"} {
		for _, end := range []string{"end", "reset", "half close"} {
			for _, old := range []bool{false, true} {
				name := fmt.Sprintf("%s after %s, idle for long %v", method, end, old)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := testenv.Faults(t, func(p *testenv.Peer) {
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
					ctx, c, rec := newClient(t)
					if _, err := c.Do(ctx, Request{Method: method, URL: s.URL}); err != nil {
						t.Fatal(err)
					}
					waitFor(t, c.c.idle.Gone) // the news is here, but the client has not looked
					if old {
						c.c.idle.used -= checkAfter
					}
					_, err := c.Do(ctx, Request{Method: method, URL: s.URL})
					// A reset is known to the kernel: nothing more can be sent there.
					again := old || end == "reset" || method != "POST" && method != "PATCH"
					if again {
						if err != nil {
							t.Error(err)
						}
						wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
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

// Only once, and only before the first byte of the answer.
func TestStaleConnectionsGiveUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		second   string // what comes on the second connection
		reuse    string // what comes as the second answer of the first
		accepted int
	}{
		{"the new one breaks too", "", "", 2},
		{"an answer had begun", ok, "HTTP/1.1 200", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testenv.Faults(t, func(p *testenv.Peer) {
				p.Request()
				if p.N == 0 {
					p.Send(ok)
					p.Request()
					p.Send(tt.reuse)
				} else {
					p.Send(tt.second)
				}
			})
			ctx, c, rec := newClient(t)
			if _, err := c.Get(ctx, s.URL, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(ctx, s.URL, nil); conn.Classify(err) != conn.EOF {
				t.Errorf("%v, want eof", err)
			}
			wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.eof": 1})
			if s.Accepted() != tt.accepted {
				t.Errorf("%d connections, want %d", s.Accepted(), tt.accepted)
			}
		})
	}
}

// What the server says unasked is not the next answer.
func TestUnaskedAnswer(t *testing.T) {
	t.Parallel()
	s := testenv.Faults(t, func(p *testenv.Peer) {
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
	if l := c.c.idle; l != nil { // else it came along with the answer, and the connection was dropped
		waitFor(t, l.Gone)
		l.used -= checkAfter
	}
	if _, err := c.Get(ctx, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
}

func TestConnectionClose(t *testing.T) {
	t.Parallel()
	s := testenv.Faults(t, serve) // it does not heed Connection: close
	ctx, c, rec := newClient(t)
	for range 3 {
		if _, err := c.Get(ctx, s.URL, map[string]string{"connection": "Close"}); err != nil {
			t.Fatal(err)
		}
	}
	if opened, open := connections(rec); opened != 3 || open != 0 {
		t.Errorf("connections: %d opened, %d open; want 3, 0", opened, open)
	}
}

func TestClose(t *testing.T) {
	testenv.NoLeaks(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	s := testenv.Faults(t, func(p *testenv.Peer) {
		for p.Request() != "" {
			if p.N == 1 {
				close(arrived)
				<-release
			}
			p.Send(ok)
		}
	})
	ctx, c, rec := newClient(t)
	first := make(chan error)
	if err := c.GetIgnoreRes(ctx, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	idle := c.c.idle
	c.c.idle = nil // keep it out of the next call's hands
	go func() { first <- c.GetIgnoreRes(ctx, s.URL, nil) }()
	<-arrived
	c.c.mu.Lock()
	c.c.idle = idle
	c.c.mu.Unlock()
	c.Close()
	c.Close()
	if _, open := connections(rec); open != 1 {
		t.Errorf("%d connections open, want the one in use", open)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	if _, open := connections(rec); open != 0 {
		t.Errorf("%d connections open after the last call", open)
	}
	if err := c.GetIgnoreRes(ctx, s.URL, nil); err != errClosed {
		t.Errorf("a call after Close: %v", err)
	}
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
}

// A million clients fit: what one costs before its first call.
func TestClientIsSmall(t *testing.T) {
	ctx, _ := executortest.Context(t)
	clients := make([]HttpClient, 1000)
	if n := testing.AllocsPerRun(1, func() {
		for i := range clients {
			var err error
			if clients[i], err = NewHttpClient(ctx, "home"); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 3*float64(len(clients)) {
		t.Errorf("%v allocations for %d clients", n, len(clients))
	}
	if size := unsafe.Sizeof(client{}); size > 192 {
		t.Errorf("a client takes %d bytes, want at most 192", size)
	}
}
