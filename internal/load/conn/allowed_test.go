package conn

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func allowing(t *testing.T, deny []string, entries ...string) *allowlist.List {
	t.Helper()
	l, err := allowlist.New(entries, deny)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listen counts the connections to an address.
func listen(t *testing.T, addr string) (port string, count *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	count = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, count
}

// F57: an allowed name that later resolves to another address can't be connected to, in any of
// the ways to connect. Not in parallel: the system's resolver is replaced.
func TestNameBoundAnew(t *testing.T) {
	port, good := listen(t, "127.0.0.1:0")
	_, bad := listen(t, "127.0.0.2:"+port)
	server := servers.Names(t, nil)
	system := net.DefaultResolver
	net.DefaultResolver = namesFrom(t, server, 0).base
	defer func() { net.DefaultResolver = system }()
	sources, err := parseSources([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	allowed := allowing(t, []string{"169.254.0.0/16"}, "bound.test", "127.0.0.1")
	for way, dialer := range map[string]func() *Dialer{
		"net's own dialer":    func() *Dialer { return &Dialer{allowed: allowed} },
		"names that are kept": func() *Dialer { return &Dialer{allowed: allowed, names: &names{ttl: Forever}} }, // and a new one each time
		"a source address":    func() *Dialer { return &Dialer{allowed: allowed, sources: sources} },
	} {
		before := good.Load()
		server.Set("bound.test", "127.0.0.1")
		c, err := dialer().Dial(t.Context(), "bound.test:"+port, time.Second, nil)
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		c.Drop()
		if good.Load() == before { // the listener may be a moment late
			for end := time.Now().Add(time.Second); good.Load() == before && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
		for _, ip := range []string{"127.0.0.2", "169.254.169.254"} {
			server.Set("bound.test", ip)
			_, err := dialer().Dial(t.Context(), "bound.test:"+port, time.Second, nil)
			if Classify(err) != Blocked || !strings.Contains(err.Error(), ip) {
				t.Errorf("%s: bound to %s: %v, want blocked", way, ip, err)
			}
		}
	}
	if n := bad.Load(); n > 0 {
		t.Errorf("%d connections were made to an address that is not allowed", n)
	}
	if n := good.Load(); n != 3 {
		t.Errorf("%d connections were made to the address that is allowed, want 3", n)
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	port, count := listen(t, "127.0.0.1:0")
	addr := "127.0.0.1:" + port
	web, socks := servers.HTTPProxy(t, "", nil), servers.SOCKSProxy(t, "", nil)
	through := func(scheme, addr string) *Proxy {
		p, err := ParseProxy(scheme+"://"+addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	fixed, err := parseFixed(map[string]string{"a.test": "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := parseSources([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	other := allowing(t, nil, "127.0.0.9", "a.test")
	for _, tt := range []struct {
		name   string
		dialer *Dialer
		addr   string
	}{
		{"an address", &Dialer{allowed: other}, addr},
		{"IPv4 in IPv6", &Dialer{allowed: other}, "[::ffff:127.0.0.1]:" + port},
		{"the unspecified address", &Dialer{allowed: other}, "0.0.0.0:" + port},
		{"an address, from a source", &Dialer{allowed: other, sources: sources}, addr},
		{"a name", &Dialer{allowed: other}, "localhost:" + port},
		{"a name that the scenario fixed", &Dialer{allowed: other, names: &names{fixed: fixed}}, "a.test:" + port},
		{"a denied port", &Dialer{allowed: allowing(t, []string{"127.0.0.0/8:" + port}, addr)}, addr},
		{"a socket", &Dialer{allowed: other, unix: "/run/no-such-socket"}, "a.test:80"},
		{"a proxy", &Dialer{allowed: other, proxy: through("http", web.Addr)}, "127.0.0.9:80"},
		{"through a proxy", &Dialer{allowed: allowing(t, nil, web.Addr), proxy: through("http", web.Addr)}, addr},
		{"through SOCKS", &Dialer{allowed: allowing(t, nil, socks.Addr), proxy: through("socks5", socks.Addr)}, addr},
		{"a name through SOCKS", &Dialer{allowed: allowing(t, nil, socks.Addr), proxy: through("socks5h", socks.Addr)}, "localhost:" + port},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.dialer.Dial(t.Context(), tt.addr, 5*time.Second, nil)
			if Classify(err) != Blocked {
				t.Errorf("%v, want blocked", err)
			}
			if tt.dialer.proxy != nil {
				if _, err := tt.dialer.DialProxy(t.Context(), tt.addr, 5*time.Second, nil); Classify(err) != Blocked && tt.dialer.proxy.HTTP() {
					t.Errorf("the proxy alone: %v, want blocked", err)
				}
			}
			if refusal, ok := errors.AsType[*allowlist.Refusal](err); !ok {
				t.Errorf("%v is no refusal: %v", err, refusal)
			}
		})
	}
	if n := count.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
	if asked := append(web.Asked(), socks.Asked()...); len(asked) > 0 {
		t.Errorf("proxies were asked for %q", asked)
	}
	if !Blocked.Local() {
		t.Error("the target is blamed for what is blocked")
	}
}
