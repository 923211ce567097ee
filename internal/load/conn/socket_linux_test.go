package conn

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// fullListener has no room for further connections until one is accepted: a connect waits.
func fullListener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = syscall.Listen(int(fd), 0) }); err != nil || listenErr != nil {
		t.Fatal(err, listenErr)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return l
}

func TestConnectingWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		during  func(l net.Listener, cancel func())
		want    Class
	}{
		{"until the time is over", 50 * time.Millisecond, func(net.Listener, func()) {}, Timeout},
		{"until its context ends", time.Minute, func(_ net.Listener, cancel func()) { cancel() }, Canceled},
		{"until the server has gone", time.Minute, func(l net.Listener, _ func()) { l.Close() }, Refused},
		{"and goes on when there is room", time.Minute, func(l net.Listener, _ func()) {
			for range 2 {
				if c, err := l.Accept(); err == nil {
					defer c.Close()
				}
			}
		}, Other},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := fullListener(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan bool)
			timer := time.AfterFunc(20*time.Millisecond, func() { tt.during(l, cancel); close(done) })
			defer func() {
				if !timer.Stop() {
					<-done
				}
			}()
			began := time.Now()
			var times Times
			c, err := (&Dialer{}).Dial(ctx, l.Addr().String(), tt.timeout, &times)
			if err == nil {
				c.Drop()
				if tt.want != Other || times.Connect < 20*time.Millisecond {
					t.Errorf("connected after %v, want %v", times.Connect, tt.want)
				}
			} else if got := Classify(err); got != tt.want {
				t.Errorf("class %v, want %v: %v", got, tt.want, err)
			}
			if took := time.Since(began); tt.timeout < time.Second && took < tt.timeout {
				t.Errorf("gave up after %v, before its %v", took, tt.timeout)
			}
		})
	}
}

// A socket that connects to a port of this host where nothing listens, and gets that port as
// its own, must not connect to itself.
func TestConnectedToItself(t *testing.T) {
	servers.OwnNetwork(t, func(t *testing.T) {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("60000 60001"), 0); err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{"127.0.0.1:60000", "[::1]:60000", "0.0.0.0:60000"} {
			for range 20 {
				c, err := (&Dialer{}).Dial(t.Context(), addr, time.Second, nil)
				if err == nil {
					c.Drop()
					t.Errorf("%s: connected", addr)
				} else if class := Classify(err); class != Refused {
					t.Errorf("%s: class %v, want %v: %v", addr, class, Refused, err)
				}
			}
		}
	})
}

func TestWriteParts(t *testing.T) {
	t.Parallel()
	long := make([]byte, 3*maxTransfer+17)
	for i := range long {
		long[i] = byte(i % 251)
	}
	parts := net.Buffers{[]byte("head "), nil, long, {}, []byte("a"), []byte("b"), []byte("c"), long[:5], []byte(" end")}
	var want []byte
	for _, p := range parts {
		want = append(want, p...)
	}
	got := make(chan []byte, 1)
	c := dial(t, servers.Faults(t, func(p *servers.Peer) {
		b := make([]byte, len(want))
		n, _ := io.ReadFull(p, b)
		got <- b[:n]
	}))
	if err := c.WriteParts(parts); err != nil {
		t.Fatal(err)
	}
	if g := <-got; string(g) != string(want) {
		t.Errorf("came %d bytes that differ from the %d sent", len(g), len(want))
	}
	if c.Out() != int64(len(want)) {
		t.Errorf("Out = %d, want %d", c.Out(), len(want))
	}
}
