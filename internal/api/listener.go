package api

import (
	"container/list"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// limitListener is a listener that bounds the number of open connections. At the limit a new
// one replaces the connection that has been idle longest, so that idle connections do not
// lock others out. If all are busy, the new one is answered with 503.
type limitListener struct {
	net.Listener
	most  int
	plain bool // no TLS: a refusal can be written as text

	mu   sync.Mutex
	open map[net.Conn]*list.Element // its element in idle; nil: busy
	idle list.List                  // of net.Conn, longest idle first

	refused  chan struct{} // one entry for each refusal that is being written
	refusals sync.WaitGroup
}

// newLimitListener returns a listener that accepts from l, with at most most connections
// open. The server must call state as its ConnState; refusals are answered in goroutines,
// which refusals waits for.
func newLimitListener(l net.Listener, most int, plain bool) *limitListener {
	return &limitListener{Listener: l, most: most, plain: plain, open: map[net.Conn]*list.Element{}, refused: make(chan struct{}, maxRefusals)}
}

const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// Accept waits for a connection that may be served, and returns it or the listener's error.
// It answers others with 503, or closes an idle one to make room.
func (c *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		victim, ok := c.room()
		if victim != nil {
			_ = victim.Close() // the HTTP server notices and calls state
		}
		if ok {
			return conn, nil
		}
		c.refuse(conn)
	}
}

// maxRefusals is how many refusals are written at once; further connections are closed.
const maxRefusals = 64

// refuse answers a connection with 503 once it has sent something, because before that
// clients do not read an answer, and closes it. It does not block: after a second, or with
// TLS, or if maxRefusals are being written, the connection is closed without an answer.
func (c *limitListener) refuse(conn net.Conn) {
	select {
	case c.refused <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	c.refusals.Go(func() {
		defer func() { <-c.refused }()
		defer conn.Close()
		if !c.plain {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			_, _ = io.WriteString(conn, refusal)
		}
	})
}

// room reports whether one more connection is allowed, and which idle one the caller must
// close for it; nil if that is not needed. The victim is not counted any more. The new one is
// counted by state.
func (c *limitListener) room() (victim net.Conn, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) < c.most {
		return nil, true
	}
	first := c.idle.Front()
	if first == nil {
		return nil, false
	}
	victim = first.Value.(net.Conn)
	c.idle.Remove(first)
	delete(c.open, victim)
	return victim, true
}

// state is the HTTP server's ConnState hook. A connection is busy from the first byte of a
// request to the end of its answer. It may be called concurrently.
func (c *limitListener) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, known := c.open[conn]
	if e != nil {
		c.idle.Remove(e)
	}
	switch s {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateActive:
		if known {
			c.open[conn] = nil
		}
	case http.StateNew:
		c.open[conn] = c.idle.PushBack(conn)
	case http.StateIdle:
		if known { // not one that was just closed to make room
			c.open[conn] = c.idle.PushBack(conn)
		}
	}
}
