package http

import (
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestProxies(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	plain := servers.Faults(t, serve)
	secured := servers.Faults(t, func(p *servers.Peer) {
		p.Conn = tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{Names: []string{"web.test"}})}})
		serve(p)
	})
	_, port, _ := net.SplitHostPort(plain.Addr)
	_, tlsPort, _ := net.SplitHostPort(secured.Addr)
	hosts := map[string]string{"web.test": "127.0.0.1"}
	here := func(o Options) Options { o.Hosts = hosts; return o }
	proxyTLS := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}}
	for _, tt := range []struct {
		name  string
		proxy *servers.ForwardProxy
		url   string // of the proxy; ADDR is its address
		opts  Options
		to    string
		asked string // by the proxy, each time or once
		each  bool
	}{
		{"http, whole URL", servers.HTTPProxy(t, "", nil), "http://ADDR", Options{}, "http://127.0.0.1:" + port + "/a?b=1", "GET http://127.0.0.1:" + port + "/a?b=1", true},
		{"http with a user", servers.HTTPProxy(t, "me:pass word", nil), "http://me:pass%20word@ADDR", Options{}, "http://127.0.0.1:" + port + "/", "GET http://127.0.0.1:" + port + "/", true},
		{"http, tunnel", servers.HTTPProxy(t, "", nil), "http://ADDR", Options{ServerName: "web.test"}, "https://127.0.0.1:" + tlsPort + "/", "CONNECT 127.0.0.1:" + tlsPort, false},
		{"http, tunnel with a user", servers.HTTPProxy(t, "me:pw", nil), "http://me:pw@ADDR", Options{ServerName: "web.test"}, "https://127.0.0.1:" + tlsPort + "/", "CONNECT 127.0.0.1:" + tlsPort, false},
		{"https, whole URL", servers.HTTPProxy(t, "", proxyTLS), "https://ADDR", Options{}, "http://127.0.0.1:" + port + "/", "GET http://127.0.0.1:" + port + "/", true},
		{"https, tunnel", servers.HTTPProxy(t, "", proxyTLS), "https://ADDR", Options{ServerName: "web.test"}, "https://127.0.0.1:" + tlsPort + "/", "CONNECT 127.0.0.1:" + tlsPort, false},
		{"socks5: the name is looked up here", servers.SOCKSProxy(t, "", nil), "socks5://ADDR", here(Options{}), "http://web.test:" + port + "/", "CONNECT 127.0.0.1:" + port, false},
		{"socks5h: the name is looked up there", servers.SOCKSProxy(t, "", hosts), "socks5h://ADDR", Options{}, "http://web.test:" + port + "/", "CONNECT web.test:" + port, false},
		{"socks5h with a user, TLS", servers.SOCKSProxy(t, "me:pw", hosts), "socks5h://me:pw@ADDR", Options{}, "https://web.test:" + tlsPort + "/", "CONNECT web.test:" + tlsPort, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := tt.opts
			o.Proxy, o.RootCAs, o.ProxyRootCAs = strings.ReplaceAll(tt.url, "ADDR", tt.proxy.Addr), ca.Pool(), ca.Pool()
			rec, err := ask(t, o, tt.to, 3, false)
			if err != nil {
				t.Fatal(err)
			}
			wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
			want := []string{tt.asked}
			if tt.each {
				want = []string{tt.asked, tt.asked, tt.asked}
			}
			if got := tt.proxy.Asked(); !slices.Equal(got, want) {
				t.Errorf("the proxy was asked for %q, want %q", got, want)
			}
			if tt.proxy.Accepted() != 1 {
				t.Errorf("%d connections to the proxy, want 1", tt.proxy.Accepted())
			}
			if got := peers(rec, "requests"); got[tt.proxy.Addr] != 3 {
				t.Errorf("peers %v, want the proxy", got)
			}
		})
	}
}

// Faults at a proxy have other classes than faults at the target.
func TestProxyFaults(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	const dead = "127.0.0.9:1" // a free port could be assigned to a server of another test
	secret := servers.HTTPProxy(t, "me:pw", nil)
	open := servers.HTTPProxy(t, "", nil)
	socks := servers.SOCKSProxy(t, "", nil)
	lockedSocks := servers.SOCKSProxy(t, "me:pw", nil)
	silent := servers.Faults(t, (*servers.Peer).Hold)
	for _, tt := range []struct {
		name, proxy, to string
		class, text     string
	}{
		{"nobody listens", "http://" + dead, s.URL, "proxy", "proxy: dial tcp " + dead + ": connect: connection refused"},
		{"no such proxy", "http://proxy.invalid:1", s.URL, "proxy", "no such host"},
		{"wrong user, tunnel", "http://me:no@" + secret.Addr, "https://" + s.Addr, "proxy", `proxy: CONNECT: the proxy answers "407 Proxy Authentication Required"`},
		{"target dead, tunnel", "http://" + open.Addr, "https://" + dead, "proxy", `proxy: CONNECT: the proxy answers "502 Bad Gateway"`},
		{"not TLS", "https://" + servers.Faults(t, func(p *servers.Peer) { p.Send(ok); p.Hold() }).Addr, s.URL, "proxy", "tls: first record does not look like a TLS handshake"},
		{"target dead, socks", "socks5://" + socks.Addr, "http://" + dead, "proxy", "proxy: socks: the proxy answers: connection refused"},
		{"user wanted, socks", "socks5://" + lockedSocks.Addr, s.URL, "proxy", "the proxy wants a user: socks5://USER:PASSWORD@HOST:PORT"},
		{"wrong user, socks", "socks5://me:no@" + lockedSocks.Addr, s.URL, "proxy", "the proxy refuses user and password"},
		{"not socks", "socks5://" + servers.Faults(t, func(p *servers.Peer) { p.Send("HTTP/1.1 400 Bad Request\r\n\r\n"); p.Hold() }).Addr, s.URL, "proxy", "not a SOCKS 5 proxy"},
		{"end within the way, tunnel", "http://" + servers.Faults(t, func(p *servers.Peer) { p.Request() }).Addr, "https://" + s.Addr, "proxy", "proxy: EOF"},
		{"silence, tunnel", "http://" + silent.Addr, "https://" + s.Addr, "timeout", "i/o timeout"},
		{"silence, socks", "socks5h://" + silent.Addr, s.URL, "timeout", "i/o timeout"},
		{"name unknown here, socks5", "socks5://" + socks.Addr, "http://nobody.invalid/", "dns", "no such host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Proxy: tt.proxy}
			if tt.class == "timeout" {
				o.ConnectTimeout = 50 * time.Millisecond
			}
			rec, err := ask(t, o, tt.to, 1, false)
			if err == nil || !strings.HasSuffix(conn.Text(err), tt.text) {
				t.Errorf("error %v, want one that ends in %q", err, tt.text)
			}
			wantCounts(t, rec, counts{"http_other_fail": 1, "error." + tt.class: 1})
			if _, open := connections(rec); open != 0 {
				t.Errorf("%d connections open", open)
			}
		})
	}
}

// The environment is used only with the option. In a separate process, since it is read once.
func TestProxyEnvironment(t *testing.T) {
	t.Parallel()
	if os.Getenv("GOBENCH_TEST_PROXY_TO") != "" {
		to := os.Getenv("GOBENCH_TEST_PROXY_TO")
		hosts := map[string]string{"web.test": to, "not.web.test": to}
		for _, proxy := range []string{"", ProxyEnvironment} {
			for _, host := range []string{"web.test", "not.web.test"} {
				if _, err := ask(t, Options{Proxy: proxy, Hosts: hosts}, "http://"+host+"/"+proxy, 1, false); err != nil {
					t.Errorf("proxy %q, %s: %v", proxy, host, err)
				}
			}
		}
		return
	}
	s := servers.Faults(t, serve)
	p := servers.Faults(t, func(p *servers.Peer) {
		if strings.HasPrefix(p.Request(), "GET http://web.test/environment HTTP/1.1\r\n") {
			p.Send(ok)
		}
	})
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxyEnvironment$", "-test.v")
	cmd.Env = append(os.Environ(), "GOBENCH_TEST_PROXY_TO="+s.Addr, "HTTP_PROXY=http://"+p.Addr, "NO_PROXY=not.web.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if s.Accepted() != 3 || p.Accepted() != 1 {
		t.Errorf("the target accepted %d connections, the proxy %d; want 3 and 1\n%s", s.Accepted(), p.Accepted(), out)
	}
}
