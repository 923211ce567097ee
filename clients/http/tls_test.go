package http

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

func TestTLSOptions(t *testing.T) {
	t.Parallel()
	ca := servers.NewCA(t)
	var asked string
	serveAs := func(l servers.Leaf) string {
		config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, l)}, NextProtos: []string{"h2", "http/1.1"}}
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if !slices.Equal(hello.SupportedProtos, []string{"http/1.1"}) {
				t.Errorf("protocols offered: %q", hello.SupportedProtos)
			}
			asked = hello.ServerName
			return nil, nil
		}
		return servers.Faults(t, func(p *servers.Peer) {
			p.Conn = tls.Server(p.Conn, config)
			serve(p)
			p.Conn.Close()
		}).Addr
	}
	own := serveAs(servers.Leaf{})
	_, port, _ := net.SplitHostPort(own)
	example := serveAs(servers.Leaf{Names: []string{"example.com"}})
	for _, tt := range []struct {
		name string
		addr string
		opts Options
		ok   bool
		sni  string
	}{
		{"own authority", own, Options{RootCAs: ca.Pool()}, true, ""}, // no name is sent for an IP address (RFC 6066)
		{"by name", "localhost:" + port, Options{RootCAs: ca.Pool()}, true, "localhost"},
		{"this host's authorities", own, Options{}, false, ""},
		{"any certificate", example, Options{InsecureSkipVerify: true}, true, ""},
		{"another name", example, Options{RootCAs: ca.Pool()}, false, ""},
		{"a name of its own", example, Options{RootCAs: ca.Pool(), ServerName: "example.com"}, true, "example.com"},
	} {
		ctx, c, rec := newClient(t, tt.opts)
		err := c.GetIgnoreRes(ctx, "https://"+tt.addr, nil)
		if tt.ok {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if asked != tt.sni {
				t.Errorf("%s: the server was asked for %q, want %q", tt.name, asked, tt.sni)
			}
			wantCounts(t, rec, counts{"http_ok": 1, "latency": 1})
		} else {
			if conn.Classify(err) != conn.TLS {
				t.Errorf("%s: %v, want tls", tt.name, err)
			}
			wantCounts(t, rec, counts{"http_other_fail": 1, "error.tls": 1})
		}
		c.Close()
	}
}

// A client resumes only its own sessions; other clients are other users.
func TestTLSResumption(t *testing.T) {
	t.Parallel()
	ng := servers.Nginx(t)
	ctx, rec := executortest.Context(t)
	for range 2 {
		c, err := NewHttpClient(ctx, "home", Options{RootCAs: ng.Roots})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := c.GetIgnoreRes(ctx, ng.TLS+"/close/index.html", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantCounts(t, rec, counts{"http_ok": 6, "latency": 6})
	var how []string
	for _, line := range ng.Log(t) {
		how = append(how, line[len(line)-1:])
	}
	if want := []string{".", "r", "r", ".", "r", "r"}; !slices.Equal(how, want) {
		t.Errorf("sessions %q, want %q (r: resumed)", how, want)
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
