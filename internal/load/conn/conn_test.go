package conn

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

func dial(t *testing.T, s *servers.FaultServer) *Conn {
	t.Helper()
	c, err := new(Dialer).Dial(t.Context(), s.Addr, 10*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Drop)
	c.Arm(Now(), 30*time.Second) // a test that would hang fails instead
	return c
}

// secure returns a TLS connection to a server that runs script.
func secure(t *testing.T, script func(p *servers.Peer)) *Conn {
	t.Helper()
	ca := servers.NewCA(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}}
	s := servers.Faults(t, func(p *servers.Peer) {
		tc := tls.Server(p.Conn, config)
		defer tc.Close()
		p.Conn = tc
		script(p)
	})
	c := dial(t, s)
	if err := c.Handshake(&tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// both runs a test over plain TCP and over TLS.
func both(t *testing.T, script func(p *servers.Peer), test func(t *testing.T, c *Conn)) {
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		test(t, dial(t, servers.Faults(t, script)))
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		test(t, secure(t, script))
	})
}

func TestConnReadsWhatComes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10_000)
	both(t, func(p *servers.Peer) { p.Send(text) }, func(t *testing.T, c *Conn) {
		var got bytes.Buffer
		p := make([]byte, 777)
		for i := 0; ; i++ {
			if i%2 == 0 { // alternately a part that uses the buffer, and one that bypasses it
				err := c.Fill()
				if err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				n := min(len(c.Unread()), 1000)
				got.Write(c.Unread()[:n])
				c.Take(n)
			} else if n, err := c.Read(p); err == nil {
				got.Write(p[:n])
			} else if err != io.EOF {
				t.Fatal(err)
			}
		}
		got.Write(c.Unread())
		if got.String() != text {
			t.Errorf("%d bytes differ from the %d sent", got.Len(), len(text))
		}
		if c.In() != int64(len(text)) {
			t.Errorf("In = %d, want %d", c.In(), len(text))
		}
	})
}

func TestConnGrowsToItsLimit(t *testing.T) {
	t.Parallel()
	both(t, func(p *servers.Peer) { p.Send(strings.Repeat("x", 2*MaxUnread)); p.Hold() }, func(t *testing.T, c *Conn) {
		var err error
		for err == nil {
			err = c.Fill()
		}
		if err != ErrFull || len(c.Unread()) != MaxUnread {
			t.Fatalf("%v with %d unread, want %v with %d", err, len(c.Unread()), ErrFull, MaxUnread)
		}
		c.Take(1) // makes room
		if err := c.Fill(); err != nil || len(c.Unread()) != MaxUnread {
			t.Errorf("after Take: %v, %d unread", err, len(c.Unread()))
		}
	})
}

func TestConnOwnsNoBufferWhileItWaits(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{})
	s := servers.Faults(t, func(p *servers.Peer) {
		p.Send("one")
		<-waiting
		p.Send("two")
		p.Hold()
	})
	c := dial(t, s)
	if err := c.Fill(); err != nil {
		t.Fatal(err)
	}
	c.Take(2)
	if c.buf == nil || string(c.Unread()) != "e" {
		t.Fatalf("unread %q", c.Unread())
	}
	c.Take(1)
	if c.buf != nil {
		t.Error("a buffer is held with nothing unread")
	}
	// The next read finds nothing at first, so it must release its buffer.
	read := c.readStep
	c.readStep = func(fd uintptr) bool {
		done := read(fd)
		if !done {
			if c.buf != nil {
				t.Error("a buffer is held while it waits")
			}
			close(waiting)
		}
		return done
	}
	if err := c.Fill(); err != nil || string(c.Unread()) != "two" {
		t.Errorf("%v, unread %q", err, c.Unread())
	}
}

func TestConnWrites(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("y", 1<<20)
	both(t, func(p *servers.Peer) { io.Copy(p, io.LimitReader(p, int64(5+len(large)))) }, func(t *testing.T, c *Conn) {
		sent := make(chan error, 1)
		go func() {
			if _, err := c.Write([]byte("head ")); err != nil {
				sent <- err
				return
			}
			sent <- c.WriteParts(net.Buffers{[]byte(large[:10]), []byte(large[10:])})
		}()
		var got bytes.Buffer
		for got.Len() < 5+len(large) {
			if err := c.Fill(); err != nil {
				t.Fatal(err)
			}
			got.Write(c.Unread())
			c.Take(len(c.Unread()))
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if got.String() != "head "+large || c.Out() != int64(got.Len()) {
			t.Errorf("%d bytes came back, Out = %d", got.Len(), c.Out())
		}
	})
}

// asked makes a script wait for the first byte: an earlier fault could break the connect.
func asked(script func(p *servers.Peer)) func(p *servers.Peer) {
	return func(p *servers.Peer) {
		_, _ = p.Read(make([]byte, 1))
		script(p)
	}
}

// Errors have the same text whatever the local port was.
func TestConnErrors(t *testing.T) {
	t.Parallel()
	read := func(c *Conn) error { return c.Fill() }
	readInto := func(c *Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c *Conn) (err error) {
		for err == nil {
			_, err = c.Write(make([]byte, 1<<20))
		}
		return err
	}
	soon := func(c *Conn) { c.Arm(Now(), time.Millisecond) }
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		before func(c *Conn)
		do     func(c *Conn) error
		class  Class
		text   string // ADDR is the server's
	}{
		{"end", asked(func(*servers.Peer) {}), nil, read, EOF, "EOF"},
		{"end, past the buffer", asked(func(*servers.Peer) {}), nil, readInto, EOF, "EOF"},
		{"reset", asked((*servers.Peer).Reset), nil, read, Reset, "read tcp ADDR: read: connection reset by peer"},
		{"reset, past the buffer", asked((*servers.Peer).Reset), nil, readInto, Reset, "read tcp ADDR: read: connection reset by peer"},
		{"reset while writing", asked((*servers.Peer).Reset), func(c *Conn) { _ = c.Fill() }, write, Reset, "write tcp ADDR: write: broken pipe"},
		{"silence", (*servers.Peer).Hold, soon, read, Timeout, "read tcp ADDR: i/o timeout"},
		{"silence, past the buffer", (*servers.Peer).Hold, soon, readInto, Timeout, "read tcp ADDR: i/o timeout"},
		{"nobody reads", func(p *servers.Peer) { p.Request(); p.Hold() }, soon, func(c *Conn) error {
			for {
				if err := c.WriteParts(net.Buffers{make([]byte, 1<<20)}); err != nil {
					return err
				}
			}
		}, Timeout, "write tcp ADDR: i/o timeout"},
		{"aborted", (*servers.Peer).Hold, (*Conn).Abort, read, Canceled, "read tcp ADDR: use of closed network connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Faults(t, tt.script)
			c := dial(t, s)
			if _, err := c.Write([]byte("?")); err != nil {
				t.Fatal(err)
			}
			if tt.before != nil {
				tt.before(c)
			}
			err := tt.do(c)
			if got, want := err.Error(), strings.ReplaceAll(tt.text, "ADDR", s.Addr); got != want || Text(err) != want {
				t.Errorf("error %q, text %q; want %q", got, Text(err), want)
			}
			if got := Classify(err); got != tt.class {
				t.Errorf("class = %v, want %v", got, tt.class)
			}
		})
	}
}

func TestHandshakeErrors(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	server := func(l servers.Leaf, c *tls.Config) func(p *servers.Peer) {
		c.Certificates = []tls.Certificate{ca.Certificate(t, l)}
		return func(p *servers.Peer) { tls.Server(p, c).Handshake() }
	}
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		client *tls.Config
		class  Class
		text   string
	}{
		{"garbage", func(p *servers.Peer) { p.Send("garbage, as plain as can be\r\n\r\n"); p.Hold() }, &tls.Config{}, TLS,
			"first record does not look like a TLS handshake"},
		{"unknown authority", server(servers.Leaf{}, &tls.Config{}), &tls.Config{RootCAs: servers.NewCA(t).Pool()}, TLS,
			"unknown authority"},
		{"expired", server(servers.Leaf{Expired: true}, &tls.Config{}), &tls.Config{}, TLS,
			"certificate has expired or is not yet valid"},
		{"other name", server(servers.Leaf{}, &tls.Config{}), &tls.Config{ServerName: "example.com"}, TLS,
			"not example.com"},
		{"no common version", server(servers.Leaf{}, &tls.Config{MaxVersion: tls.VersionTLS12}), &tls.Config{MinVersion: tls.VersionTLS13}, TLS,
			"remote error: tls: protocol version not supported"},
		{"no common protocol", server(servers.Leaf{}, &tls.Config{NextProtos: []string{"gopher"}}), &tls.Config{NextProtos: []string{"http/1.1"}}, TLS,
			"no application protocol"},
		{"end", func(p *servers.Peer) { p.HalfClose(); p.Hold() }, &tls.Config{}, EOF, "EOF"},
		{"reset", func(p *servers.Peer) { p.Read(make([]byte, 1)); p.Reset() }, &tls.Config{}, Reset, "connection reset by peer"},
		{"silence", (*servers.Peer).Hold, &tls.Config{}, Timeout, "i/o timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Faults(t, tt.script)
			c := dial(t, s)
			if tt.class == Timeout {
				c.Arm(Now(), time.Millisecond)
			}
			if tt.client.RootCAs == nil {
				tt.client.RootCAs = ca.Pool()
			}
			if tt.client.ServerName == "" {
				tt.client.ServerName = "localhost"
			}
			err := c.Handshake(tt.client)
			if got := Classify(err); err == nil || got != tt.class || !strings.Contains(Text(err), tt.text) {
				t.Errorf("%v %q, want %v with %q", got, Text(err), tt.class, tt.text)
			}
			if tt.name == "expired" && strings.Contains(Text(err), "current time") {
				t.Errorf("text %q tells the time", Text(err))
			}
		})
	}
}
