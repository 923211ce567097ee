package http

import (
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/executor/executortest"
)

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
		{Options{Proxy: "http://user:secret@a:x"}, `Proxy: proxy: not a URL: want SCHEME://`},
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
