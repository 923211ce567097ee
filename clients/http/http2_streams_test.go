package http

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// held is a server whose answers wait until they are released, and that counts them.
type held struct {
	now, most atomic.Int64
	release   chan struct{}
}

func (h *held) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	n := h.now.Add(1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
	select {
	case <-h.release:
	case <-r.Context().Done():
	}
	h.now.Add(-1)
}

// MaxStreams calls share a connection, further ones open others, and beyond MaxConns they wait.
func TestHTTP2Streams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		streams, conns int
		calls          int
		opened, atOnce int64
		waiting        int
	}{
		{"one connection", 10, 300, 10, 1, 10, 0},
		{"three connections", 4, 300, 10, 3, 10, 0},
		{"calls wait", 4, 2, 20, 2, 8, 12},
		{"one by one", 1, 1, 5, 1, 1, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &held{release: make(chan struct{})}
			url := h2c(t, nil, h.ServeHTTP)
			ctx, c, rec := newClient(t, Options{HTTP2: true, MaxStreams: tt.streams, MaxConns: tt.conns})
			done := make(chan error)
			for range tt.calls {
				go func() { done <- c.GetIgnoreRes(ctx, url, nil) }()
			}
			waitFor(t, func() bool { return h.now.Load() == tt.atOnce && waiting(c) == tt.waiting })
			close(h.release)
			for range tt.calls {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			wantCounts(t, rec, counts{"http_ok": int64(tt.calls), "latency": int64(tt.calls)})
			if opened, open := connections(rec); opened != tt.opened || open != tt.opened || h.most.Load() != tt.atOnce {
				t.Errorf("%d opened, %d open, %d at once; want %d, %d, %d", opened, open, h.most.Load(), tt.opened, tt.opened, tt.atOnce)
			}
			if got := peers(rec, "requests"); got[strings.TrimPrefix(url, "http://")] != int64(tt.calls) {
				t.Errorf("peers %v", got)
			}
		})
	}
}

// A server's own limit applies from the first call: calls beyond it use other connections.
func TestHTTP2ServerLimit(t *testing.T) {
	t.Parallel()
	h := &held{release: make(chan struct{})}
	url := h2c(t, &nethttp.HTTP2Config{MaxConcurrentStreams: 2}, h.ServeHTTP)
	ctx, c, rec := newClient(t, Options{HTTP2: true})
	done := make(chan error)
	call := func() { done <- c.GetIgnoreRes(ctx, url, nil) }
	for i := range 5 {
		go call()
		waitFor(t, func() bool { return h.now.Load() == int64(i+1) })
	}
	close(h.release)
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for range 50 { // at once, some of them on connections that are still being opened
		go call()
	}
	for range 50 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 55, "latency": 55})
	if opened, _ := connections(rec); opened < 3 {
		t.Errorf("%d connections, want 3 or more", opened)
	}
}

// A server that closes its connections cleanly causes no failure (GOAWAY).
func TestHTTP2ConnectionsEnd(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, "keepalive_requests 5;")
	ctx, c, rec := newClient(t, Options{HTTP2: true})
	for range 50 {
		if err := c.GetIgnoreRes(ctx, ng.H2C+"/", nil); err != nil {
			t.Fatal(err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 50, "latency": 50})
	if opened, _ := connections(rec); opened != 10 {
		t.Errorf("%d connections, want 10", opened)
	}
	waitFor(t, func() bool { _, open := connections(rec); return open <= 1 })
}

// Faults of HTTP/2 have the same classes as those of HTTP/1.1.
func TestHTTP2Faults(t *testing.T) {
	t.Parallel()
	half := func(w nethttp.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
		w.(nethttp.Flusher).Flush()
	}
	abort := func(w nethttp.ResponseWriter, r *nethttp.Request) { panic(nethttp.ErrAbortHandler) } // RST_STREAM
	hang := func(w nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() }
	short := Options{Timeout: 500 * time.Millisecond}
	preface := func(then func(p *servers.Peer)) func(p *servers.Peer) {
		return func(p *servers.Peer) {
			p.Send("\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS
			awaitHeaders(p)
			then(p)
		}
	}
	for _, tt := range []struct {
		name  string
		url   func(t *testing.T) string
		opts  Options
		class string
	}{
		{"refused", func(*testing.T) string { return "http://127.0.0.9:1" }, Options{}, "refused"},
		{"stream reset", func(t *testing.T) string { return h2c(t, nil, abort) }, Options{}, "reset"},
		{"stream reset in the body", func(t *testing.T) string {
			return h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) { half(w); panic(nethttp.ErrAbortHandler) })
		}, Options{}, "reset"},
		{"silence", func(t *testing.T) string { return h2c(t, nil, hang) }, short, "timeout"},
		{"no head in time", func(t *testing.T) string { return h2c(t, nil, hang) }, Options{HeaderTimeout: 500 * time.Millisecond}, "timeout"},
		{"silence in the body", func(t *testing.T) string {
			return h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) { half(w); <-r.Context().Done() })
		}, short, "timeout"},
		{"too large", func(t *testing.T) string {
			return h2c(t, nil, func(w nethttp.ResponseWriter, r *nethttp.Request) { w.Write(make([]byte, 1<<20)) })
		}, Options{MaxBody: 1 << 10}, "too_large"},
		{"connection reset", func(t *testing.T) string { return servers.Faults(t, preface((*servers.Peer).Reset)).URL }, Options{}, "reset"},
		{"connection ends", func(t *testing.T) string {
			return servers.Faults(t, preface(func(p *servers.Peer) { p.HalfClose(); p.Hold() })).URL
		}, Options{}, "eof"},
		{"nonsense in frames", func(t *testing.T) string {
			return servers.Faults(t, preface(func(p *servers.Peer) { p.Send("\x00\x00\x01\x04\x00\x00\x00\x00\x00x"); p.Hold() })).URL
		}, Options{}, "protocol"},
		{"wrong settings", func(t *testing.T) string {
			return servers.Faults(t, func(p *servers.Peer) { p.Send("\x00\x00\x01\x04\x00\x00\x00\x00\x00x"); p.Hold() }).URL
		}, Options{}, "protocol"},
		{"settings and no more", func(t *testing.T) string {
			return servers.Faults(t, func(p *servers.Peer) { p.Send("\x00\x00\x06\x04\x00\x00\x00\x00\x00", "\x00\x03\x00"); p.Hold() }).URL
		}, short, "timeout"},
		{"GOAWAY for an error", func(t *testing.T) string {
			return servers.Faults(t, preface(func(p *servers.Peer) {
				p.Send("\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02")
				p.HalfClose()
				p.Hold()
			})).URL
		}, Options{}, "reset"},
		{"silence of a server of TCP", func(t *testing.T) string { return servers.Faults(t, (*servers.Peer).Hold).URL }, short, "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.opts.HTTP2 = true
			ctx, c, rec := newClient(t, tt.opts)
			url := tt.url(t)
			const times = 2
			for range times {
				_, err := c.Get(ctx, url, nil)
				if got := conn.Classify(err).String(); err == nil || got != tt.class {
					t.Errorf("class %s, want %s: %v", got, tt.class, err)
				}
			}
			if _, err := c.Get(ctx, h2c(t, nil, mirror), nil); err != nil {
				t.Errorf("after the faults: %v", err)
			}
			wantCounts(t, rec, counts{"http_other_fail": times, "error." + tt.class: times, "http_ok": 1, "latency": 1})
		})
	}
}

// When the caller's or the client's context ends, calls end and leave nothing behind.
func TestHTTP2Cancel(t *testing.T) {
	servers.NoLeaks(t)
	h := &held{release: make(chan struct{})}
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(nethttp.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	root, rec := executortest.Context(t)
	ctx, cancel := context.WithCancel(root)
	defer cancel()
	c, err := NewHttpClient(ctx, "home", Options{HTTP2: true, MaxStreams: 1, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	own, stop := context.WithCancel(root)
	go func() { done <- c.GetIgnoreRes(own, s.URL, nil) }()
	waitFor(t, func() bool { return h.now.Load() == 1 })
	go func() { done <- c.GetIgnoreRes(root, s.URL, nil) }()
	waitFor(t, func() bool { return waiting(c) == 1 })
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's end: %v", err)
	}
	waitFor(t, func() bool { return h.now.Load() == 1 }) // the one that waited
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client's end: %v", err)
	}
	wantCounts(t, rec, counts{"error.canceled": 2, "http_other_fail": 2})
	waitFor(t, func() bool { _, open := connections(rec); return open == 0 })
}

// Many calls to two servers over few connections, while the servers keep closing connections:
// every call gets its answer, and the client's lists stay correct.
func TestHTTP2ManyCalls(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t, "keepalive_requests 20;")
	urls := []string{ng.H2C + "/", h2c(t, nil, mirror)}
	ctx, c, rec := newClient(t, Options{HTTP2: true, MaxStreams: 3, MaxConns: 2})
	var wg sync.WaitGroup
	const users, calls = 20, 25
	for u := range users {
		wg.Go(func() {
			for i := range calls {
				if err := c.GetIgnoreRes(ctx, urls[(u+i)%2], nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := counts{"http_ok": users * calls, "latency": users * calls}
	if resent := outcomes(rec)["resent"]; resent > 0 { // nginx did not process them
		want["resent"] = resent
	}
	wantCounts(t, rec, want)
	c.Close()
	waitFor(t, func() bool { _, open := connections(rec); return open == 0 })
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	if c.c.open != 0 || len(c.c.extra.muxes) != 0 || len(c.c.extra.byLink) != 0 || len(c.c.waiters) != 0 {
		t.Errorf("books: %d places, %d connections, %d links, %d wait", c.c.open, len(c.c.extra.muxes), len(c.c.extra.byLink), len(c.c.waiters))
	}
}

// Calls that wait for another call to open a connection get its error, but they are independent
// of that call's context.
func TestHTTP2Opening(t *testing.T) {
	t.Parallel()
	silent := servers.Faults(t, (*servers.Peer).Hold)
	ctx, c, rec := newClient(t, Options{HTTP2: true, InsecureSkipVerify: true, ConnectTimeout: 200 * time.Millisecond})
	own, stop := context.WithCancel(ctx)
	opener, others := make(chan error), make(chan error)
	go func() { opener <- c.GetIgnoreRes(own, "https://"+silent.Addr, nil) }()
	waitFor(t, func() bool { return silent.Accepted() == 1 })
	for range 5 {
		go func() { others <- c.GetIgnoreRes(ctx, "https://"+silent.Addr, nil) }()
	}
	waitFor(t, func() bool {
		c.c.mu.Lock()
		defer c.c.mu.Unlock()
		return c.c.extra.muxes[0].calls == 6
	})
	stop()
	if err := <-opener; !errors.Is(err, context.Canceled) {
		t.Errorf("the opener: %v", err)
	}
	for range 5 {
		if err := <-others; conn.Classify(err) != conn.Timeout {
			t.Errorf("who waited: %v", err)
		}
	}
	wantCounts(t, rec, counts{"error.canceled": 1, "http_other_fail": 6, "error.timeout": 5})
	if opened, open := connections(rec); open != 0 || silent.Accepted() < int(opened) || silent.Accepted() > 6 {
		t.Errorf("%d opened, %d open, %d accepted", opened, open, silent.Accepted())
	}
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	if c.c.open != 0 {
		t.Errorf("%d places taken", c.c.open)
	}
}
