package http

import (
	"crypto/tls"
	"net"
	"slices"
	"testing"

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
