package http

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// If its context ends, a call returns at once in any phase, and leaves nothing behind.
func TestCancel(t *testing.T) {
	half := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer, arrived chan<- bool)
		opts   Options
		scheme string
	}{
		{"before the answer", func(p *servers.Peer, arrived chan<- bool) { p.Request(); arrived <- true; p.Hold() }, Options{}, "http"},
		{"in the body", func(p *servers.Peer, arrived chan<- bool) {
			p.Request()
			p.Send(half)
			arrived <- true
			p.Hold()
		}, Options{}, "http"},
		{"in the handshake", func(p *servers.Peer, arrived chan<- bool) {
			_, _ = p.Read(make([]byte, 1))
			arrived <- true
			p.Hold()
		}, Options{}, "https"},
	} {
		for _, how := range []string{"the client's ctx", "the call's ctx", "the call's deadline"} {
			t.Run(tt.name+" by "+how, func(t *testing.T) {
				servers.NoLeaks(t)
				arrived := make(chan bool, 1)
				s := servers.Faults(t, func(p *servers.Peer) { tt.script(p, arrived) })
				root, rec := executortest.Context(t)
				ctx, cancel := context.WithCancel(root)
				defer cancel()
				call, want, class := ctx, context.Canceled, "canceled"
				switch how {
				case "the call's ctx":
					var cancelCall context.CancelFunc
					call, cancelCall = context.WithCancel(ctx)
					cancel = cancelCall
				case "the call's deadline":
					var cancelCall context.CancelFunc
					call, cancelCall = context.WithTimeout(ctx, 500*time.Millisecond)
					defer cancelCall()
					want, class = context.DeadlineExceeded, "timeout"
				}
				c, err := NewHttpClient(ctx, "home", tt.opts)
				if err != nil {
					t.Fatal(err)
				}
				over := make(chan struct{})
				defer close(over)
				go func() {
					select {
					case <-arrived:
					case <-over: // on a busy host the deadline may come first
						return
					}
					if class == "canceled" {
						cancel()
					}
				}()
				began := time.Now()
				err = c.GetIgnoreRes(call, tt.scheme+"://"+s.Addr, nil)
				if d := time.Since(began); d > 30*time.Second {
					t.Errorf("it took %v", d)
				}
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
				if class == "canceled" {
					wantCounts(t, rec, counts{"error.canceled": 1, "http_other_fail": 1})
					if errs := rec.Errors("home"); len(errs) != 0 {
						t.Errorf("errors %v, want none", errs)
					}
				} else {
					wantCounts(t, rec, counts{"http_other_fail": 1, "error.timeout": 1})
				}
				if opened, open := connections(rec); opened != 1 || open != 0 {
					t.Errorf("connections: %d opened, %d open; want 1, 0", opened, open)
				}
			})
		}
	}
}

// Idle connections are closed when the client's ctx ends, even without a call.
func TestEndClosesIdleConnections(t *testing.T) {
	servers.NoLeaks(t)
	gone := make(chan bool)
	s := servers.Faults(t, func(p *servers.Peer) { serve(p); gone <- true })
	root, rec := executortest.Context(t)
	ctx, cancel := context.WithCancel(root)
	c, err := NewHttpClient(ctx, "home")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.GetIgnoreRes(root, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-gone
	waitFor(t, func() bool { _, open := connections(rec); return open == 0 })
	for _, call := range []context.Context{ctx, root} {
		if err := c.GetIgnoreRes(call, s.URL, nil); err != context.Canceled {
			t.Errorf("a call after the end: %v", err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 1, "latency": 1})
}

// A call with a ctx that is done, or one that is refused because the run is stopping, is not
// counted and sends nothing.
func TestNothingHappens(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	ctx, c, rec := newClient(t)
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.GetIgnoreRes(done, s.URL, nil); err != context.Canceled {
		t.Error(err)
	}
	if got := rec.Counts("home."); len(got) != 0 {
		t.Errorf("counts %v", got)
	}

	registry, gate := meter.New(), new(meter.Gate)
	user, scope := meter.With(t.Context(), registry, gate, [2]uint64{})
	c, err := NewHttpClient(user, "home")
	if err != nil {
		t.Fatal(err)
	}
	gate.Close()
	if err := c.GetIgnoreRes(user, s.URL, nil); err != context.Canceled {
		t.Error(err)
	}
	if scope.InFlight() != 0 || scope.Refused() != 1 {
		t.Errorf("%d operations in flight, %d refused; want 0, 1", scope.InFlight(), scope.Refused())
	}
	for _, total := range registry.Totals() {
		if total.Value != 0 || total.Histogram != nil && total.Histogram.Count() != 0 {
			t.Errorf("%s was counted", total.Title)
		}
	}
	if n := s.Accepted(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// Each operation is between Begin and End, whatever its outcome.
func TestInFlight(t *testing.T) {
	t.Parallel()
	user, scope := meter.With(t.Context(), meter.New(), nil, [2]uint64{})
	c, err := NewHttpClient(user, "home")
	if err != nil {
		t.Fatal(err)
	}
	var during int
	s := servers.Faults(t, func(p *servers.Peer) {
		for p.Request() != "" {
			during = scope.InFlight()
			p.Send(ok)
		}
	})
	for url, fails := range map[string]bool{s.URL: false, closedURL(t): true, "no URL": true} {
		if err := c.GetIgnoreRes(user, url, nil); (err != nil) != fails {
			t.Errorf("%s: %v", url, err)
		}
		if n := scope.InFlight(); n != 0 {
			t.Errorf("%s: %d operations in flight afterwards", url, n)
		}
	}
	if during != 1 {
		t.Errorf("%d operations in flight during a call", during)
	}
}

// Many callers create a ctx for each call and cancel it afterwards: connections stay open.
func TestContextPerCall(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	ctx, c, rec := newClient(t)
	for range 200 {
		call, cancel := context.WithTimeout(ctx, time.Minute)
		err := c.GetIgnoreRes(call, s.URL, nil)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 200, "latency": 200})
	if opened, _ := connections(rec); opened != 1 {
		t.Errorf("%d connections opened, want 1", opened)
	}
}
