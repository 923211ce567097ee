//go:build linux

package cluster

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Line is a TCP proxy between agents and their master. It can drop an agent's traffic
// without closing its connections. Its methods, except To, may be called at any time.
type Line struct {
	Address string
	master  string // HOST:PORT
	wg      sync.WaitGroup
	done    chan struct{} // closed at the test's end

	mu    sync.Mutex
	lost  map[string]way // by agent's address, guarded by mu
	conns []net.Conn     // guarded by mu
}

// way is what a line loses.
type way int

// The ways. What is lost is read and thrown away, but of stuck: there nothing is read.
const (
	toAgent way = 1 << iota
	toMaster
	stuck
)

// NewLine starts a line, on the bridge of Main, for agents of a master whose --advertise
// names it. The caller must set the master's address with To before an agent connects. It
// ends with the test.
func NewLine(t testing.TB) *Line {
	t.Helper()
	l, err := net.Listen("tcp4", "10.77.0.254:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Line{Address: l.Addr().String(), lost: map[string]way{}, done: make(chan struct{})}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(p.done)
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

// To sets the master's address.
func (p *Line) To(address string) { p.master = address }

// Lose makes the line lose what passes to or from a host, in the directions of w, instead of
// those of the last call. With 0 it loses no more, and closes the host's connections: those on
// which something was lost are of no use.
func (p *Line) Lose(h *Host, w way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[h.Address] = w
	if w != 0 {
		return
	}
	for _, c := range p.conns {
		if host, _, _ := strings.Cut(c.RemoteAddr().String(), ":"); host == h.Address {
			c.Close()
		}
	}
}

func (p *Line) loses(address string) way {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost[address]
}

// carry carries one connection until either end is closed or the test ends, and closes both
// ends; it closes the agent's at once if the master cannot be reached.
func (p *Line) carry(agent net.Conn) {
	defer agent.Close()
	master, err := net.Dial("tcp4", p.master)
	if err != nil {
		return
	}
	defer master.Close()
	p.mu.Lock()
	p.conns = append(p.conns, agent, master)
	p.mu.Unlock()
	host, _, _ := strings.Cut(agent.RemoteAddr().String(), ":")
	var both sync.WaitGroup
	both.Go(func() { p.pass(host, master, agent, toMaster) })
	both.Go(func() { p.pass(host, agent, master, toAgent) })
	both.Wait()
}

// pass copies one direction of a connection, w, until either end is closed, and closes both.
// host is the agent's address. What the line loses in this direction it reads and drops; while
// the line is stuck it waits, at most until the test's end, with what it has read.
func (p *Line) pass(host string, to, from net.Conn, w way) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		lost := p.loses(host)
		for ; lost&stuck != 0; lost = p.loses(host) { // nothing is read, and nothing closed
			select {
			case <-p.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		if lost&w == 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
