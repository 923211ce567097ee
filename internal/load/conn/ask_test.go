package conn

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// asks returns a connection that has received one answer from script's server, which reads a
// byte and answers "1" before script begins.
func asks(t *testing.T, script func(p *servers.Peer)) *Conn {
	t.Helper()
	c := dial(t, servers.Faults(t, asked(func(p *servers.Peer) {
		p.Send("1")
		script(p)
	})))
	if _, err := c.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(); err != nil {
		t.Fatal(err)
	}
	c.Take(1)
	return c
}

// gone waits until the server's last action has arrived.
func gone(t *testing.T, c *Conn) {
	for deadline := time.Now().Add(10 * time.Second); !c.Gone(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no news from the server")
		}
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	answer := func(p *servers.Peer) { asked(func(p *servers.Peer) { p.Send("23") })(p); p.Hold() }
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		before func(t *testing.T, c *Conn)
		ask    string
		write  Class  // of Ask's error; Other: none
		fill   Class  // of Fill's, likewise
		want   string // unread at the end
	}{
		{"an answer", answer, nil, "b", Other, Other, "23"},
		{"an answer later than a recheck", asked(func(p *servers.Peer) { time.Sleep(2 * recheckAfter); p.Send("23"); p.Hold() }),
			nil, "b", Other, Other, "23"},
		{"no answer", (*servers.Peer).Hold, func(t *testing.T, c *Conn) { c.Arm(Now(), 2*recheckAfter) }, "b", Other, Timeout, ""},
		{"no answer, and less time than a recheck", (*servers.Peer).Hold,
			func(t *testing.T, c *Conn) { c.Arm(Now(), recheckAfter/2) }, "b", Other, Timeout, ""},
		{"an end instead", asked(func(p *servers.Peer) {}), nil, "b", Other, EOF, ""},
		{"a reset instead", asked((*servers.Peer).Reset), nil, "b", Other, Reset, ""},
		{"a half end before", func(p *servers.Peer) { p.HalfClose(); p.Hold() }, gone, "b", Other, EOF, ""},
		{"a reset before", (*servers.Peer).Reset, gone, "b", Reset, Other, ""},
		{"bytes before", asked(func(p *servers.Peer) { p.Send("!"); p.Hold() }), func(t *testing.T, c *Conn) {
			_, _ = c.Write([]byte("!"))
			gone(t, c)
		}, "b", Other, Other, "!"},
		{"more than there is room for", func(p *servers.Peer) {
			io.CopyN(io.Discard, p, 32<<20)
			p.Send("23")
			p.Hold()
		}, nil, strings.Repeat("b", 32<<20), Other, Other, "23"},
		{"too late to recheck", answer, func(t *testing.T, c *Conn) {
			c.recheck = Now() + time.Hour // so Ask does not move it
			c.setRead(-time.Hour)
		}, "b", Other, Other, "23"},
		{"unread bytes", answer, func(t *testing.T, c *Conn) {
			c.buf = newBuffer()
			c.buf.w = copy(c.buf.data, "1")
		}, "b", Other, Other, "123"},
		{"closed", answer, func(t *testing.T, c *Conn) { c.Abort() }, "b", Canceled, Other, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := asks(t, tt.script)
			if tt.before != nil {
				tt.before(t, c)
			}
			began, out := time.Now(), c.Out()
			err := c.Ask([]byte(tt.ask), Now())
			if (err != nil) != (tt.write != Other) || err != nil && Classify(err) != tt.write {
				t.Fatalf("Ask: %v, want %v", err, tt.write)
			}
			for err == nil && len(c.Unread()) < max(len(tt.want), 1) {
				err = c.Fill()
			}
			if tt.write == Other && ((err != nil) != (tt.fill != Other) || err != nil && Classify(err) != tt.fill) {
				t.Errorf("Fill: %v, want %v", err, tt.fill)
			}
			if got := string(c.Unread()); got != tt.want {
				t.Errorf("unread %q, want %q", got, tt.want)
			}
			if d := time.Since(began); d > 10*time.Second {
				t.Errorf("it took %v", d)
			}
			if tt.write == Other && c.Out() != out+int64(len(tt.ask)) {
				t.Errorf("Out = %d, want %d and %d", c.Out(), out, len(tt.ask))
			}
		})
	}
}

// The end of a context interrupts a wait, in any phase.
func TestAskIsCut(t *testing.T) {
	servers.NoLeaks(t)
	for after := time.Duration(0); after <= 3*recheckAfter/2; after += recheckAfter / 4 {
		c := asks(t, (*servers.Peer).Hold)
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(after, cancel)
		began := time.Now()
		err := c.Ask([]byte("b"), Now())
		if err == nil {
			err = c.Fill()
		}
		if d := time.Since(began); Classify(err) != Timeout || d > after+5*time.Second {
			t.Errorf("cut after %v: %v in %v", after, err, d)
		}
		if c.End() {
			t.Errorf("cut after %v: not known to be cut", after)
		}
		c.Drop()
		cancel()
	}
}

func TestAskCostsNothing(t *testing.T) {
	c := dial(t, servers.Faults(t, pingPong))
	ask := func() {
		if err := c.Ask([]byte("a"), Now()); err != nil {
			t.Fatal(err)
		}
		for len(c.Unread()) == 0 {
			if err := c.Fill(); err != nil {
				t.Fatal(err)
			}
		}
		c.Take(1)
	}
	if n := testing.AllocsPerRun(1000, ask); n > 2 { // of the server, and of the pool under -race
		t.Errorf("%v allocations", n)
	}
}

// AskIdle sends nothing to a connection that has ended or has received bytes; otherwise it
// works like Ask, however late the answer.
func TestAskIdle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		before func(t *testing.T, c *Conn)
		ask    string
		ended  bool // AskIdle reports it
		fill   Class
		want   string
	}{
		{"an answer", func(p *servers.Peer) { asked(func(p *servers.Peer) { p.Send("23") })(p); p.Hold() }, nil, "b", false, Other, "23"},
		{"a late answer", asked(func(p *servers.Peer) { time.Sleep(3 * recheckAfter); p.Send("23"); p.Hold() }), nil, "b", false, Other, "23"},
		{"no answer", (*servers.Peer).Hold, func(t *testing.T, c *Conn) { c.Arm(Now(), 2*recheckAfter) }, "b", false, Timeout, ""},
		{"after a recheck that is over", func(p *servers.Peer) { asked(func(p *servers.Peer) { p.Send("23") })(p); p.Hold() }, func(t *testing.T, c *Conn) {
			c.recheck = Now() - time.Second
			c.setRead(c.recheck)
		}, "b", false, Other, "23"},
		{"an end instead", asked(func(p *servers.Peer) {}), nil, "b", false, EOF, ""},
		{"a half end before", func(p *servers.Peer) { p.HalfClose(); p.Hold() }, gone, "b", true, Other, ""},
		{"a reset before", (*servers.Peer).Reset, gone, "b", true, Other, ""},
		{"bytes before", asked(func(p *servers.Peer) { p.Send("!"); p.Hold() }), func(t *testing.T, c *Conn) {
			_, _ = c.Write([]byte("!"))
			gone(t, c)
		}, "b", true, Other, ""},
		{"bytes before, and a recheck that is over", asked(func(p *servers.Peer) { p.Send("!"); p.Hold() }), func(t *testing.T, c *Conn) {
			_, _ = c.Write([]byte("!"))
			gone(t, c)
			c.recheck = Now() - time.Second
			c.setRead(c.recheck)
		}, "b", true, Other, ""},
		{"a half end before, and a recheck that is over", func(p *servers.Peer) { p.HalfClose(); p.Hold() }, func(t *testing.T, c *Conn) {
			gone(t, c)
			c.recheck = Now() - time.Second
			c.setRead(c.recheck)
		}, "b", true, Other, ""},
		{"more than there is room for", func(p *servers.Peer) {
			io.CopyN(io.Discard, p, 32<<20)
			p.Send("23")
			p.Hold()
		}, nil, strings.Repeat("b", 32<<20), false, Other, "23"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := asks(t, tt.script)
			if tt.before != nil {
				tt.before(t, c)
			}
			out := c.Out()
			err := c.AskIdle([]byte(tt.ask))
			if tt.ended {
				if Classify(err) != EOF || c.Out() != out {
					t.Errorf("AskIdle: %v with %d bytes sent, want an end and none", err, c.Out()-out)
				}
				return
			}
			for err == nil && len(c.Unread()) < max(len(tt.want), 1) {
				err = c.Fill()
			}
			if (err != nil) != (tt.fill != Other) || err != nil && Classify(err) != tt.fill {
				t.Errorf("%v, want %v", err, tt.fill)
			}
			if got := string(c.Unread()); got != tt.want {
				t.Errorf("unread %q, want %q", got, tt.want)
			}
			if err == nil && c.Out() != out+int64(len(tt.ask)) {
				t.Errorf("Out = %d, want %d and %d", c.Out(), out, len(tt.ask))
			}
		})
	}
}

// The fields of a Conn for asking are in its first two cache lines, and a Conn is aligned to
// one.
func TestConnsLines(t *testing.T) {
	t.Parallel()
	var c Conn
	const line = 64
	if end := unsafe.Offsetof(c.err) + unsafe.Sizeof(c.err); end > 2*line {
		t.Errorf("what asking needs takes %d bytes, want at most %d", end, 2*line)
	}
	if size := unsafe.Sizeof(c); size%line != 0 {
		t.Errorf("a Conn takes %d bytes, want a multiple of %d", size, line)
	}
}
