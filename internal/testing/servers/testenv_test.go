package servers

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestNginx(t *testing.T) {
	NoLeaks(t)
	s := Nginx(t, "location /extra { return 418; }")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for _, tt := range []struct {
		method, url string
		status      int
		length      int64 // of the body; -1: unknown
		size        int
	}{
		{"GET", s.URL + "/", 200, int64(len(Index)), len(Index)},
		{"GET", s.TLS + "/", 200, int64(len(Index)), len(Index)},
		{"GET", s.URL + "/big", 200, BigSize, BigSize},
		{"GET", s.URL + "/chunked/index.html", 200, -1, len(Index)},
		{"GET", s.URL + "/close/index.html", 200, int64(len(Index)), len(Index)},
		{"GET", s.URL + "/status/204", 204, 0, 0},
		{"GET", s.URL + "/extra", 418, 0, 0},
		{"PUT", s.URL + "/put/a", 201, 0, 0},
		{"GET", s.URL + "/put/a", 200, 4, 4},
		{"DELETE", s.URL + "/put/a", 204, 0, 0},
	} {
		var body io.Reader
		if tt.method == "PUT" {
			body = strings.NewReader("body")
		}
		req, err := http.NewRequest(tt.method, tt.url, body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || res.ContentLength != tt.length || len(got) != tt.size {
			t.Errorf("%s %s: status %d, length %d, %d bytes, %v; want %d, %d, %d",
				tt.method, tt.url, res.StatusCode, res.ContentLength, len(got), err, tt.status, tt.length, tt.size)
		}
	}
	log := s.Log(t)
	if len(log) != 10 || !slices.Contains(log, "GET /extra 418 2 0 -") {
		t.Errorf("access log: %q", log)
	}
	if _, err := client.Get(s.URL); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Stop: %v, want refused", err)
	}
}

func TestFaults(t *testing.T) {
	NoLeaks(t)
	s := Faults(t, func(p *Peer) {
		switch request := p.Request(); p.N {
		case 0:
			p.Drip(request)
			p.HalfClose()
			p.Hold()
		case 1:
			p.Reset()
		case 2:
			p.Hold()
		}
	})
	const request = "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody"
	dial := func() net.Conn {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request)
		return c
	}
	echoed := dial()
	defer echoed.Close()
	if got, err := io.ReadAll(echoed); string(got) != request || err != nil {
		t.Errorf("echo = %q, %v", got, err)
	}
	reset := dial()
	defer reset.Close()
	if _, err := reset.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after Reset: %v", err)
	}
	held := dial() // the test's end must not wait for it
	t.Cleanup(func() { held.Close() })
	if n := s.Accepted(); n < 2 {
		t.Errorf("accepted = %d", n)
	}
}

// A SOCKS proxy answers what RFC 1928 and RFC 1929 have for a client's mistakes, and nothing
// to a message that is cut off.
func TestSOCKSProxyRefuses(t *testing.T) {
	NoLeaks(t)
	open, locked := SOCKSProxy(t, "", nil), SOCKSProxy(t, "me:pw", nil)
	for _, tt := range []struct {
		name          string
		proxy         *ForwardProxy
		request, want string
	}{
		{"nothing", open, "", ""},
		{"a cut greeting", open, "\x05\x01", ""},
		{"another version", open, "\x04\x01\x00", ""},
		{"no method that it has", open, "\x05\x01\x02", "\x05\xff"},
		{"its method after another", locked, "\x05\x02\x00\x02", "\x05\x02"},
		{"a cut password", locked, "\x05\x01\x02\x01\x02me\x02p", "\x05\x02"},
		{"a wrong password", locked, "\x05\x01\x02\x01\x02me\x02no", "\x05\x02\x01\x01"},
		{"a cut request", open, "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00", "\x05\x00"},
		{"BIND", open, "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x01", "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"an unknown type of address", open, "\x05\x01\x00\x05\x01\x00\x09\x00\x01", "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"},
	} {
		c, err := net.Dial("tcp", tt.proxy.Addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, tt.request)
		c.(*net.TCPConn).CloseWrite()
		got, err := io.ReadAll(c)
		c.Close()
		if string(got) != tt.want || err != nil {
			t.Errorf("%s: the answer is %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	if asked := append(open.Asked(), locked.Asked()...); len(asked) > 0 {
		t.Errorf("it was asked for %q", asked)
	}
}

func TestCA(t *testing.T) {
	ca, other := NewCA(t), NewCA(t)
	for _, tt := range []struct {
		name  string
		leaf  Leaf
		trust *CA
		want  string // in the error; "": none
	}{
		{"good", Leaf{}, ca, ""},
		{"unknown authority", Leaf{}, other, "unknown authority"},
		{"expired", Leaf{Expired: true}, ca, "expired"},
		{"other name", Leaf{Names: []string{"example.com"}}, ca, "127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, tt.leaf)}}
			s := Faults(t, func(p *Peer) { tls.Server(p, config).Handshake() })
			client, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = tls.Client(client, &tls.Config{RootCAs: tt.trust.Pool(), ServerName: "127.0.0.1"}).Handshake()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("handshake: %v, want %q", err, tt.want)
			}
		})
	}
}
