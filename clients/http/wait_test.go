package http

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Beyond MaxConns calls wait for each other, and all get their answers.
func TestMaxConns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		servers int
	}{{"one server", 1}, {"two servers", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var now, most atomic.Int64
			script := func(p *servers.Peer) {
				for p.Request() != "" {
					n := now.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					now.Add(-1)
					p.Send(ok)
				}
			}
			faulty := make([]*servers.FaultServer, tt.servers)
			for i := range faulty {
				faulty[i] = servers.Faults(t, script)
			}
			ctx, c, rec := newClient(t, Options{MaxConns: 3})
			const calls = 300
			done := make(chan error)
			for i := range calls {
				go func() { done <- c.GetIgnoreRes(ctx, faulty[i%len(faulty)].URL, nil) }()
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

// A call that waits for a connection ends with its ctx, and the next waiter gets the free
// connection.
func TestWaiting(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := servers.Faults(t, func(p *servers.Peer) {
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
	waitFor(t, func() bool { return waiting(c) == 1 })
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

// Waiting for a connection counts toward Timeout.
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

// If an idle connection to another server holds the place, it is closed for this one.
func TestMaxConnsOfManyServers(t *testing.T) {
	t.Parallel()
	faulty := []*servers.FaultServer{servers.Faults(t, serve), servers.Faults(t, serve), servers.Faults(t, serve)}
	ctx, c, rec := newClient(t, Options{MaxConns: 2})
	for _, i := range []int{0, 1, 0, 2, 0, 1} { // the one idle longest is closed: 1, then 2
		if err := c.GetIgnoreRes(ctx, faulty[i].URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{1, 2, 1} {
		if got := faulty[i].Accepted(); got != want {
			t.Errorf("server %d accepted %d connections, want %d", i, got, want)
		}
	}
	if opened, open := connections(rec); opened != 4 || open != 2 {
		t.Errorf("connections: %d opened, %d open; want 4, 2", opened, open)
	}
}

// When a connection breaks, a waiting call gets its place.
func TestBrokenConnectionLeavesItsPlace(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := servers.Faults(t, func(p *servers.Peer) {
		for p.Request() != "" {
			if p.N == 0 {
				<-release
				p.Reset()
				return
			}
			p.Send(ok)
		}
	})
	ctx, c, rec := newClient(t, Options{MaxConns: 1})
	done := make(chan error)
	go func() { done <- c.GetIgnoreRes(ctx, s.URL, nil) }()
	waitFor(t, func() bool { return s.Accepted() == 1 })
	go func() { done <- c.GetIgnoreRes(ctx, s.URL, nil) }()
	waitFor(t, func() bool { return waiting(c) == 1 })
	close(release)
	if a, b := <-done, <-done; (a == nil) == (b == nil) {
		t.Errorf("%v and %v, want one reset", a, b)
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.reset": 1})
}

// The end of the client also ends waiting.
func TestEndOfWaiting(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"Close", "ctx"} {
		root, rec := executortest.Context(t)
		ctx, cancel := context.WithCancel(root)
		defer cancel()
		c, err := NewHttpClient(ctx, "home", Options{MaxConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := servers.Faults(t, serve)
		if err := c.GetIgnoreRes(root, s.URL, nil); err != nil { // starts the watch of ctx
			t.Fatal(err)
		}
		l := c.c.idle
		c.c.idle = nil // the only connection is in use
		done := make(chan error)
		go func() { done <- c.GetIgnoreRes(root, s.URL, nil) }()
		waitFor(t, func() bool { return waiting(c) == 1 })
		want := counts{"http_ok": 1, "latency": 1, "http_other_fail": 1, "error.canceled": 1}
		if how == "Close" {
			c.Close()
			if err := <-done; err != errClosed {
				t.Errorf("%s: %v", how, err)
			}
		} else {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", how, err)
			}
		}
		c.c.put(l) // after the end it is closed
		wantCounts(t, rec, want)
		if _, open := connections(rec); open != 0 || c.c.open != 0 {
			t.Errorf("%s: %d connections open, %d places taken", how, open, c.c.open)
		}
	}
}

// If a waiter that has just given up receives a connection, the next waiter gets it.
func TestGivenInTheLastMoment(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	ctx, c, _ := newClient(t)
	if err := c.GetIgnoreRes(ctx, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	give := func(l *link) {
		w := &waiter{target: c.c.all.target, ready: make(chan *link, 1)} // already removed from the list
		w.ready <- l
		c.c.stopWaiting(w)
	}
	l := c.c.idle
	c.c.idle = nil
	give(l)
	if c.c.idle != l {
		t.Error("the connection is lost")
	}
	c.c.open++
	give(nil)
	if c.c.open != 1 {
		t.Errorf("%d places taken, want 1", c.c.open)
	}
}

// A connection that is opened after the client has ended is closed at once.
func TestConnectedTooLate(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	ctx, c, rec := newClient(t)
	q := call{request: Request{Method: "GET", URL: s.URL}, start: conn.Now()}
	if err := c.c.prepare(&q); err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.c.open = 1
	if _, err := c.c.dial(ctx, &q); err != errClosed {
		t.Errorf("%v, want %v", err, errClosed)
	}
	if c.c.open != 0 || c.c.all != nil || len(rec.Counts("home.")) != 0 {
		t.Errorf("%d places taken, counts %v", c.c.open, rec.Counts("home."))
	}
}

// waiting returns how many calls wait for a connection.
func waiting(c HttpClient) int {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	return len(c.c.waiters)
}
