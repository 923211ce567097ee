package api

import (
	"container/list"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// capped is a listener that keeps no more than so many connections open. When one more
// comes, the one that has been idle for the longest makes room: nobody can lock others
// out by holding connections that do nothing. Where all are at work, the new one is told
// to come again.
type capped struct {
	net.Listener
	most  int
	plain bool // a refusal can be said in plain text

	mu   sync.Mutex
	open map[net.Conn]*list.Element // in idle; nil: at work
	idle list.List                  // of net.Conn, the longest idle first

	refused  chan struct{} // holds one for each that is told so
	refusals sync.WaitGroup
}

func newCapped(l net.Listener, most int, plain bool) *capped {
	return &capped{Listener: l, most: most, plain: plain, open: map[net.Conn]*list.Element{}, refused: make(chan struct{}, maxRefusals)}
}

const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

func (c *capped) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		victim, ok := c.room()
		if victim != nil {
			_ = victim.Close() // its goroutine sees it, and tells state
		}
		if ok {
			return conn, nil
		}
		c.refuse(conn)
	}
}

// maxRefusals is how many are told at once that there is no room; more are cut off.
const maxRefusals = 64

// refuse tells a connection that there is no room for it, once it has asked something:
// before that a client takes no answer.
func (c *capped) refuse(conn net.Conn) {
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

// room tells whether one more may come, and who has to go for it.
func (c *capped) room() (victim net.Conn, ok bool) {
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

// state is told by the HTTP server what its connections do. One is at work from the
// first byte of a request to the end of its answer.
func (c *capped) state(conn net.Conn, s http.ConnState) {
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
		if known { // one that made room does not come back
			c.open[conn] = c.idle.PushBack(conn)
		}
	}
}
