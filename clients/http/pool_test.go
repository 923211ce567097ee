package http

import (
	"testing"
	"unsafe"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// serve answers every request of a connection.
func serve(p *servers.Peer) {
	for p.Request() != "" {
		p.Send(ok)
	}
}

func TestOneConnectionInSequence(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	other := servers.Faults(t, serve)
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

func TestConnectionClose(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve) // it ignores Connection: close
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
	servers.NoLeaks(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	s := servers.Faults(t, func(p *servers.Peer) {
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
	c.c.idle = nil // keep it away from the next call
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
	wantCounts(t, rec, counts{"http_ok": 2, "latency": 2, "http_other_fail": 1, "error.canceled": 1})
}

// A million clients fit into memory: the size of a client before its first call.
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
	if size, each := unsafe.Sizeof(client{}), unsafe.Offsetof(client{}.all); size != 192 || each > 128 {
		t.Errorf("a client takes %d bytes, %d of them for each call, want three cache lines (of 64) and at most two", size, each)
	}
}
