package http

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// ask creates a client with opts and sends times requests, each on a new connection if fresh.
func ask(t *testing.T, opts Options, url string, times int, fresh bool) (*executortest.Recorder, error) {
	t.Helper()
	ctx, c, rec := newClient(t, opts)
	defer c.Close()
	var headers map[string]string
	if fresh {
		headers = map[string]string{"Connection": "close"}
	}
	for range times {
		if _, err := c.Get(ctx, url, headers); err != nil {
			return rec, err
		}
	}
	return rec, nil
}

// peers returns the number of connections to each server or proxy.
func peers(rec *executortest.Recorder, of string) counts {
	got := counts{}
	for title, n := range rec.Counts("home.peer.") {
		if addr, ok := strings.CutSuffix(title, "."+of); ok {
			got[addr] = n
		}
	}
	return got
}

func TestOptionsThatCanNotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{TLSTimeout: -1}, "TLSTimeout"},
		{Options{MinTLS: 7}, "option MinTLS is 0x0007"},
		{Options{MinTLS: tls.VersionTLS13, MaxTLS: tls.VersionTLS12}, "option MaxTLS is TLS 1.2, below MinTLS TLS 1.3"},
		{Options{MaxTLS: tls.VersionTLS11}, "set MinTLS too"},
		{Options{Certificates: []tls.Certificate{{}}}, "Certificates[0] has no certificate"},
		{Options{KeyLogFile: "/nowhere/keys"}, "KeyLogFile: open /nowhere/keys"},
		{Options{HTTP2: true, ALPN: []string{"http/1.1"}}, `HTTP2 wants h2 among ALPN, which is ["http/1.1"]`},
		{Options{Proxy: "ftp://a:1"}, "Proxy: proxy ftp://a:1: want http://"},
		{Options{Proxy: "http://user:secret@"}, "Proxy: proxy http://user:xxxxx@: no host"},
		{Options{Proxy: "http://user:secret@a:x"}, `Proxy: proxy: invalid port ":x" after host`},
		{Options{Proxy: "http://a:1/path"}, "nothing may follow the port"},
		{Options{Proxy: "socks5://:p@a"}, "SOCKS takes a user of 1 to 255 bytes"},
		{Options{Unix: "/x", Sources: []string{"127.0.0.1"}}, "Unix can't be combined with Proxy, Sources"},
		{Options{Unix: "/x", Proxy: ProxyEnvironment}, "Unix can't be combined with Proxy, Sources"},
		{Options{Sources: []string{"eth0"}}, `Sources: "eth0": want a local IP address`},
		{Options{Sources: []string{"192.0.2.1"}}, `Sources: "192.0.2.1": 192.0.2.1 is no address of this host`},
		{Options{Hosts: map[string]string{"a.test": "b.test"}}, `Hosts: "a.test": "b.test": want an IP address`},
		{Options{DNSServers: []string{"dns.test"}}, `DNSServers: "dns.test": want the IP address of a name server`},
	} {
		ctx, _ := executortest.Context(t)
		_, err := NewHttpClient(ctx, "home", tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want one with %s", err, tt.want)
		}
	}
}

// Clients of a run with the same Sources share their rotation, whatever their prefix.
func TestSourcesAreShared(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = io.WriteString(w, host)
	}))
	defer s.Close()
	ctx, _ := executortest.Context(t)
	var got []string
	for _, prefix := range []string{"home", "other", "third"} {
		c, err := NewHttpClient(ctx, prefix, Options{Sources: []string{"127.0.0.1", "127.0.0.2"}})
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.Get(ctx, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(body))
	}
	if want := []string{"127.0.0.1", "127.0.0.2", "127.0.0.1"}; !slices.Equal(got, want) {
		t.Errorf("connections from %v, want %v", got, want)
	}
}

// A million clients with the same options store them once, whatever the caller does to them
// afterwards.
func TestOptionsAreShared(t *testing.T) {
	t.Parallel()
	ctx, _ := executortest.Context(t)
	made := func(prefix string, o Options) *settings {
		c, err := NewHttpClient(ctx, prefix, o)
		if err != nil {
			t.Fatal(err)
		}
		return c.c.settings
	}
	o := Options{MaxConns: 1, Sources: []string{"127.0.0.0/24"}, DNSCache: DNSOnce}
	first := made("home", o)
	if made("home", o) != first {
		t.Error("not shared")
	}
	if made("other", o) == first {
		t.Error("another prefix has settings of its own")
	}
	o.Sources[0] = "127.0.1.0/24"
	if made("home", o) == first {
		t.Error("shared though changed")
	}
	for i := range 2 * maxGiven {
		if made("home", Options{MaxConns: i + 2}).MaxConns != i+2 {
			t.Error("settings of other options")
		}
	}
}

// A server that requests client certificates.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
	s := servers.Faults(t, func(p *servers.Peer) {
		p.Conn = tls.Server(p.Conn, config)
		serve(p)
	})
	url := "https://" + s.Addr
	own := Options{RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}}
	if rec, err := ask(t, own, url, 1, false); err != nil {
		t.Error(err)
	} else {
		wantCounts(t, rec, counts{"http_ok": 1, "latency": 1})
	}
	rec, err := ask(t, Options{RootCAs: ca.Pool()}, url, 1, false)
	if err == nil {
		t.Error("an answer without a certificate")
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.tls": 1})
}

func TestTLSVersions(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	serveAt := func(version uint16) string {
		config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}, MinVersion: version, MaxVersion: version}
		return "https://" + servers.Faults(t, func(p *servers.Peer) {
			p.Conn = tls.Server(p.Conn, config)
			serve(p)
		}).Addr
	}
	tls11, tls12, tls13 := serveAt(tls.VersionTLS11), serveAt(tls.VersionTLS12), serveAt(tls.VersionTLS13)
	for _, tt := range []struct {
		name     string
		url      string
		min, max uint16
		ok       bool
	}{
		{"1.2 by default", tls12, 0, 0, true},
		{"no 1.1 by default", tls11, 0, 0, false},
		{"1.1 when asked for", tls11, tls.VersionTLS11, 0, true},
		{"at least 1.3, of 1.2", tls12, tls.VersionTLS13, 0, false},
		{"at least 1.3, of 1.3", tls13, tls.VersionTLS13, 0, true},
		{"at most 1.2, of 1.3", tls13, 0, tls.VersionTLS12, false},
	} {
		rec, err := ask(t, Options{RootCAs: ca.Pool(), MinTLS: tt.min, MaxTLS: tt.max}, tt.url, 1, false)
		want := counts{"http_ok": 1, "latency": 1}
		if !tt.ok {
			want = counts{"http_other_fail": 1, "error.tls": 1}
		}
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		wantCounts(t, rec, want)
	}
}

// Full and resumed handshakes, as counted by the client and by nginx.
func TestTLSHandshakesAreCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		never   bool
		resumed int64
		log     string
	}{{"resumed", false, 4, ".rrrr"}, {"full", true, 0, "....."}} {
		ng := servers.Nginx(t)
		rec, err := ask(t, Options{RootCAs: ng.Roots, NoResumption: tt.never}, ng.TLS+"/close/index.html", 5, false)
		if err != nil {
			t.Fatal(err)
		}
		got := rec.Counts("home.")
		if got["tls_handshakes"] != 5 || got["tls_resumed"] != tt.resumed || got["tls"] != 5 || got["connect"] != 5 || got["dns"] != 0 {
			t.Errorf("%s: counts %v", tt.name, got)
		}
		if d := rec.Quantile("home.tls", 0.5); d < int64(10*time.Microsecond) || d > int64(30*time.Second) {
			t.Errorf("%s: a handshake takes %v", tt.name, time.Duration(d))
		}
		log := ""
		for _, line := range ng.Log(t) {
			log += line[len(line)-1:]
		}
		if log != tt.log {
			t.Errorf("%s: nginx's log has %q, want %q", tt.name, log, tt.log)
		}
	}
}

func TestKeyLog(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	path := filepath.Join(t.TempDir(), "keys")
	for range 2 { // the second client appends
		if _, err := ask(t, Options{RootCAs: ng.Roots, KeyLogFile: path, NoResumption: true, MaxTLS: tls.VersionTLS12}, ng.TLS+"/", 1, false); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "CLIENT_RANDOM "); n != 2 {
		t.Errorf("%d secrets, want 2:\n%s", n, b)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
}

func TestALPN(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	offered := make(chan []string, 1)
	config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{})}, NextProtos: []string{"h2", "http/1.1", "x"}}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		offered <- hello.SupportedProtos
		return nil, nil
	}
	url := "https://" + servers.Faults(t, func(p *servers.Peer) {
		p.Conn = tls.Server(p.Conn, config)
		serve(p)
	}).Addr
	for _, tt := range []struct {
		alpn, want []string
		class      string
	}{
		{nil, []string{"http/1.1"}, ""},
		{[]string{}, nil, ""},
		{[]string{"x", "http/1.1"}, []string{"x", "http/1.1"}, ""},
		{[]string{"h2", "http/1.1"}, []string{"h2", "http/1.1"}, "protocol"}, // the server also offers h2
	} {
		rec, err := ask(t, Options{RootCAs: ca.Pool(), ALPN: tt.alpn}, url, 1, false)
		if got := <-offered; !slices.Equal(got, tt.want) {
			t.Errorf("offered %q, want %q", got, tt.want)
		}
		if tt.class == "" && err != nil || tt.class != "" && rec.Counts("home.")["error."+tt.class] != 1 {
			t.Errorf("ALPN %q: %v", tt.alpn, err)
		}
	}
}

func TestTLSTimeout(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, (*servers.Peer).Hold)
	began := time.Now()
	rec, err := ask(t, Options{TLSTimeout: 30 * time.Millisecond}, "https://"+s.Addr, 1, false)
	if d := time.Since(began); conn.Classify(err) != conn.Timeout || d < 30*time.Millisecond || d > 30*time.Second {
		t.Errorf("%v after %v", err, d)
	}
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.timeout": 1})
}

// The head must arrive in time; the body may take longer.
func TestHeaderTimeout(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer)
		class  string
	}{
		{"no head", func(p *servers.Peer) { p.Request(); p.Hold() }, "timeout"},
		{"half a head", func(p *servers.Peer) { p.Request(); p.Send("HTTP/1.1 200 OK\r\n"); p.Hold() }, "timeout"},
		{"a slow body", func(p *servers.Peer) {
			for p.Request() != "" {
				p.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				time.Sleep(2 * limit)
				p.Send("ok")
			}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Faults(t, tt.script)
			rec, err := ask(t, Options{HeaderTimeout: limit}, s.URL, 2, false)
			if tt.class == "" {
				if err != nil {
					t.Error(err)
				}
				wantCounts(t, rec, counts{"http_ok": 2, "latency": 2})
				return
			}
			wantCounts(t, rec, counts{"http_other_fail": 1, "error." + tt.class: 1})
		})
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gb") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &nethttp.Server{Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { fmt.Fprint(w, r.Host) })}
	go srv.Serve(l)
	defer srv.Close()
	ctx, c, rec := newClient(t, Options{Unix: path})
	for range 3 {
		if body, err := c.Get(ctx, "http://any.test/", nil); err != nil || string(body) != "any.test" {
			t.Errorf("%q, %v", body, err)
		}
	}
	wantCounts(t, rec, counts{"http_ok": 3, "latency": 3})
	if got := peers(rec, "requests"); got[path] != 3 || len(got) != 1 {
		t.Errorf("peers %v", got)
	}
	rec, _ = ask(t, Options{Unix: filepath.Join(dir, "none")}, "http://any.test/", 1, false)
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.refused": 1})
}

// Connections use the sources in turn, whichever client opens them.
func TestSources(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := counts{}
	s := servers.Faults(t, func(p *servers.Peer) {
		host, _, _ := net.SplitHostPort(p.RemoteAddr().String())
		mu.Lock()
		from[host]++
		mu.Unlock()
		serve(p)
	})
	ctx, _ := executortest.Context(t)
	for range 40 {
		c, err := NewHttpClient(ctx, "home", Options{MaxConns: 1, Sources: []string{"127.1.0.0/29", "127.2.0.1", "127.2.0.2"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.GetIgnoreRes(ctx, s.URL, nil); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, ip := range []string{"127.1.0.1", "127.1.0.2", "127.1.0.3", "127.1.0.4", "127.1.0.5", "127.1.0.6", "127.2.0.1", "127.2.0.2"} {
		if from[ip] != 5 {
			t.Errorf("%d connections from %s, want 5", from[ip], ip)
		}
	}
	if len(from) != 8 {
		t.Errorf("from %v", from)
	}
}

// When a name's addresses change, each policy notices it at its defined time (F27).
func TestDNSPolicies(t *testing.T) {
	t.Parallel()
	const keep = 300 * time.Millisecond
	for _, tt := range []struct {
		name   string
		cache  time.Duration
		asked  func(n int) bool // of 6 connects
		before []string         // the servers of the first 4 connects, "a" or "b"
		after  string           // that of the last ones, after the change and after the cached addresses expired
	}{
		{"each connect", 0, func(n int) bool { return n == 6 }, []string{"a", "a", "a", "a"}, "c"},
		{"kept for a time", keep, func(n int) bool { return n == 2 }, []string{"a", "b", "a", "b"}, "c"},
		{"once", DNSOnce, func(n int) bool { return n == 1 }, []string{"a", "b", "a", "b"}, "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := servers.Faults(t, serve)
			_, port, _ := net.SplitHostPort(a.Addr)
			var mu sync.Mutex
			var served []string
			for ip, name := range map[string]string{"127.0.0.2": "b", "127.0.0.3": "c"} {
				l, err := net.Listen("tcp", ip+":"+port)
				if err != nil {
					t.Fatal(err)
				}
				srv := &nethttp.Server{Handler: nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
					mu.Lock()
					defer mu.Unlock()
					served = append(served, name)
				})}
				go srv.Serve(l)
				defer srv.Close()
			}
			ns := servers.Names(t, map[string][]string{"web.test": {"127.0.0.1", "127.0.0.2"}})
			ctx, c, rec := newClient(t, Options{DNSCache: tt.cache, DNSServers: []string{ns.Addr}})
			fetch := func() string {
				mu.Lock()
				had := len(served)
				mu.Unlock()
				if err := c.GetIgnoreRes(ctx, "http://web.test:"+port+"/", map[string]string{"Connection": "close"}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if len(served) > had {
					return served[len(served)-1]
				}
				return "a"
			}
			var got []string
			for range 4 {
				got = append(got, fetch())
			}
			if !slices.Equal(got, tt.before) {
				t.Errorf("served by %q, want %q", got, tt.before)
			}
			ns.Set("web.test", "127.0.0.3")
			time.Sleep(keep + 20*time.Millisecond)
			for range 2 {
				if got := fetch(); !strings.Contains(tt.after, got) {
					t.Errorf("after the change served by %q, want one of %q", got, tt.after)
				}
			}
			if n := ns.Asked("web.test"); !tt.asked(n) {
				t.Errorf("the name was asked for %d times", n)
			}
			if n := rec.Counts("home.")["dns"]; n != int64(ns.Asked("web.test")) {
				t.Errorf("%d lookups measured, %d made", n, ns.Asked("web.test"))
			}
			total := int64(0)
			for _, n := range peers(rec, "connections") {
				total += n
			}
			if total != 6 {
				t.Errorf("%v: %d connections by peer, want 6", peers(rec, "connections"), total)
			}
		})
	}
}

// If one of two addresses of a name is dead, the other is tried, and the counts by peer show
// it.
func TestDeadAddress(t *testing.T) {
	t.Parallel()
	s := servers.Faults(t, serve)
	_, port, _ := net.SplitHostPort(s.Addr)
	rec, err := ask(t, Options{Hosts: map[string]string{"web.test": "127.0.0.9,127.0.0.1"}}, "http://web.test:"+port, 4, true)
	if err != nil {
		t.Error(err)
	}
	if got := peers(rec, "connections"); got[s.Addr] != 4 || len(got) != 1 {
		t.Errorf("peers %v", got)
	}
	rec, _ = ask(t, Options{Hosts: map[string]string{"web.test": "127.0.0.9,127.0.0.8"}}, "http://web.test:"+port, 1, true)
	wantCounts(t, rec, counts{"http_other_fail": 1, "error.refused": 1})
}

func TestHosts(t *testing.T) {
	t.Parallel()
	a, b := servers.Faults(t, serve), servers.Faults(t, serve)
	hosts := map[string]string{"Web.test": a.Addr + ", " + b.Addr, "web.test:81": b.Addr}
	for url, want := range map[string][2]int{"http://web.TEST/": {2, 2}, "http://web.test:81/": {0, 4}} {
		beforeA, beforeB := a.Accepted(), b.Accepted()
		if _, err := ask(t, Options{Hosts: hosts}, url, 4, true); err != nil {
			t.Error(err)
		}
		if got := [2]int{a.Accepted() - beforeA, b.Accepted() - beforeB}; got != want {
			t.Errorf("%s: %v connections, want %v", url, got, want)
		}
	}
}

// Peers beyond the limit are counted together.
func TestPeersAreBounded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "0.0.0.0:0") // all of 127/8
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	srv := &nethttp.Server{Handler: nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {})}
	go srv.Serve(l)
	defer srv.Close()
	ctx, c, rec := newClient(t)
	for i := range maxPeers + 4 {
		if err := c.GetIgnoreRes(ctx, fmt.Sprintf("http://127.0.1.%d:%s/", i+1, port), nil); err != nil {
			t.Fatal(err)
		}
	}
	connected, asked := peers(rec, "connections"), peers(rec, "requests")
	if len(connected) != maxPeers+1 || connected["other"] != 4 || asked["other"] != 4 || asked["127.0.1.3:"+port] != 1 {
		t.Errorf("connections %v, requests %v", connected, asked)
	}
}

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
