package bus

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// line is a TCP proxy before a server. If muted, it forwards nothing and closes nothing:
// for both ends the peer is silent.
type line struct {
	addr string
	l    net.Listener
	wg   sync.WaitGroup
	mute atomic.Bool  // data is discarded
	rate atomic.Int64 // bytes per second to the client; 0: unlimited

	mu    sync.Mutex
	conns []net.Conn
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &line{addr: l.Addr().String(), l: l}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(s, c, false) })
			p.wg.Go(func() { p.pass(c, s, true) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

// cut closes all connections.
func (p *line) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *line) pass(to, from net.Conn, toClient bool) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if err != nil {
			break
		}
		if p.mute.Load() {
			continue
		}
		if rate := p.rate.Load(); toClient && rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate)) // the simulated line is this slow
		}
		if _, err = to.Write(b[:n]); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
}

// overLine is an agent that reaches the master over a line that can fail.
func (w *world) overLine(t *testing.T, times Times) (*line, *AgentConn) {
	t.Helper()
	i := w.identity(t, "a1")
	p := newLine(t, w.server.Addresses()[0])
	i.Addresses = []string{p.addr}
	return p, dialWith(t, i, times)
}

// TestAPeerThatWentIsMissed: F11. Both ends detect by their pings that nothing arrives,
// though the connection is not closed.
func TestAPeerThatWentIsMissed(t *testing.T) {
	t.Parallel()
	times := testTimes
	times.Ping = time.Second // the server's first one must not come before a slow host has connected
	if long.Run {
		times.Ping = 0
	}
	w := newWorld(t, func(o *ServerOptions) { o.Times = times })
	p, a := w.overLine(t, times)
	connected := func() int { return w.server.ns.NumClients() - 1 } // except the master
	if n := connected(); n != 1 {
		t.Fatalf("%d agents are connected", n)
	}
	p.mute.Store(true)
	begun := time.Now()
	agentSaw := eventually(t, 30*time.Second, "missed by the agent", func() bool { up, _ := a.state(); return !up })
	eventually(t, 30*time.Second, "missed by the server", func() bool { return connected() == 0 })
	t.Logf("seen by the agent after %v, by the server after %v", agentSaw, time.Since(begun))
	p.mute.Store(false)
	eventually(t, 30*time.Second, "back", func() bool { up, _ := a.state(); return up })
}

// TestAgentsComeBack: F13, compressed. However long the master is away, agents reconnect by
// themselves, and what they tried to deliver meanwhile arrives.
func TestAgentsComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, a := w.overLine(t, testTimes)
	w.stop()
	p.cut()
	eventually(t, 30*time.Second, "away", func() bool { up, _ := a.state(); return !up })
	if err := a.Beat(t.Context(), &agentpb.Beat{Agent: "a1"}); err == nil {
		t.Error("a beat got through")
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := a.Deliver(short, &agentpb.Delivery{Agent: "a1", Run: "r", Number: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Deliver: %v", err)
	}
	delivered := make(chan error, 1)
	go func() { delivered <- a.Deliver(t.Context(), &agentpb.Delivery{Agent: "a1", Run: "r", Number: 1}) }()
	w.start(t, func(o *ServerOptions) { o.Listen = w.server.Addresses()[0] })
	if err := receive(t, delivered); err != nil {
		t.Error(err)
	}
	up, since := a.state()
	if !up || time.Since(since) > time.Minute {
		t.Error("not back")
	}
	got := make(chan *agentpb.Delivery, 10)
	goes(t, func(ctx context.Context) error {
		return w.master.Deliveries(ctx, func(d *agentpb.Delivery, r agentpb.Receipt) error { offer(got, d); r.Done(); return nil })
	})
	if d := receive(t, got); d.Number != 1 {
		t.Errorf("delivery %d", d.Number)
	}
}

// TestRegistryExpires: an agent without beats is removed after Times.Registry, from the
// registry and for Watch, and not before.
func TestRegistryExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.dial(t, "a1")
	if err := a.Beat(t.Context(), &agentpb.Beat{Agent: "a1", Count: 1}); err != nil {
		t.Fatal(err)
	}
	kv, err := w.master.js.KeyValue(t.Context(), registry)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := kv.Watch(t.Context(), "a1", jetstream.UpdatesOnly())
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	gone := make(chan string, 10)
	goes(t, func(ctx context.Context) error { // it was registered before
		return w.master.Watch(ctx, func(*agentpb.Beat) { t.Error("an old beat is told as a new one") }, func(agent string) { offer(gone, agent) })
	})
	if _, err := kv.Get(t.Context(), "a1"); err != nil {
		t.Errorf("not in the registry: %v", err)
	}
	select {
	case who := <-gone:
		if d := time.Since(begun); who != "a1" || d < testTimes.Registry/2 {
			t.Errorf("%s was gone after %v", who, d)
		}
	case <-time.After(testTimes.Registry + 30*time.Second):
		t.Fatal("not gone")
	}
	select {
	case e := <-marks.Updates():
		if e.Operation() == jetstream.KeyValuePut {
			t.Errorf("the registry says %v", e.Operation())
		}
	case <-time.After(30 * time.Second):
		t.Error("the registry does not tell that the entry has expired")
	}
	if _, err := kv.Get(t.Context(), "a1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("still in the registry: %v", err)
	}
}
