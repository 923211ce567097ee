package conn

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestDialErrors(t *testing.T) {
	t.Parallel()
	live := servers.Faults(t, (*servers.Peer).Hold)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	silent := servers.Names(t, nil)
	silent.Break(servers.NamesSilent)
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		dialer  *Dialer
		addr    string
		timeout time.Duration
		class   Class
		text    string
	}{
		{"nobody listens", t.Context(), &Dialer{}, closed.Addr().String(), time.Minute, Refused,
			"dial tcp ADDR: connect: connection refused"},
		// 192.0.2.0/24 is reserved for documentation (RFC 5737), so this host has no such
		// address.
		{"no such local address", t.Context(), &Dialer{sources: foreign()}, live.Addr, time.Minute, LocalPort,
			"dial tcp ADDR: bind: cannot assign requested address"},
		{"no such name", t.Context(), &Dialer{names: namesFrom(t, servers.Names(t, nil), 0)}, "a.test:80", time.Minute, DNS,
			"no such host"},
		{"no answer about the name", t.Context(), &Dialer{names: namesFrom(t, silent, 0)}, "a.test:80", 50 * time.Millisecond, DNS,
			"i/o timeout"},
		{"no time left", t.Context(), &Dialer{}, live.Addr, 0, Timeout, "i/o timeout"},
		{"canceled", canceled, &Dialer{}, live.Addr, time.Minute, Canceled, "dial tcp ADDR: context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.dialer.Dial(tt.ctx, tt.addr, tt.timeout, nil)
			if err == nil {
				t.Fatal("connected")
			}
			if got := Classify(err); got != tt.class {
				t.Errorf("class = %v, want %v (%v)", got, tt.class, err)
			}
			if want := strings.ReplaceAll(tt.text, "ADDR", tt.addr); !strings.HasSuffix(Text(err), want) {
				t.Errorf("text %q, want %q", Text(err), want)
			}
		})
	}
}

// foreign is a source address that this host does not have.
func foreign() *sources {
	return &sources{v4: family{spans: []span{{netip.MustParseAddr("192.0.2.1"), 1}}, total: 1}}
}

func TestGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		want   bool
	}{
		{"alive", (*servers.Peer).Hold, false},
		{"ended", func(p *servers.Peer) {}, true},
		{"half closed", func(p *servers.Peer) { p.HalfClose(); p.Hold() }, true},
		{"reset", (*servers.Peer).Reset, true},
		{"spoke unasked", func(p *servers.Peer) { p.Send("408"); p.Hold() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, servers.Faults(t, asked(tt.script)))
			if _, err := c.Write([]byte("?")); err != nil {
				t.Fatal(err)
			}
			// The close may take a moment to arrive.
			for deadline := time.Now().Add(5 * time.Second); c.Gone() != tt.want && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if got := c.Gone(); got != tt.want {
				t.Errorf("Gone = %v, want %v", got, tt.want)
			}
		})
	}
}

// Over TLS a close_notify counts as unrequested bytes; bytes of the handshake arrived before
// the first answer and don't count.
func TestGoneOverTLS(t *testing.T) {
	t.Parallel()
	bye := make(chan bool)
	c := secure(t, func(p *servers.Peer) { p.Send("hi"); <-bye })
	for len(c.Unread()) < len("hi") {
		if err := c.Fill(); err != nil {
			t.Fatal(err)
		}
	}
	c.Take(len("hi"))
	if c.Gone() {
		t.Error("gone while alive")
	}
	close(bye)
	for deadline := time.Now().Add(5 * time.Second); !c.Gone(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not gone after the goodbye")
		}
	}
}
