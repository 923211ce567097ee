package http

import (
	"crypto/tls"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/conn"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A fault is counted once in its class and nowhere else (F24 to F27). Afterwards the client
// still works.
func TestFaultClasses(t *testing.T) {
	t.Parallel()
	const times = 3
	half := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
	ca := servers.NewCA(t)
	badTLS := func(l servers.Leaf) func(p *servers.Peer) {
		config := &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, l)}}
		return func(p *servers.Peer) { tls.Server(p, config).Handshake() }
	}
	short := Options{Timeout: 500 * time.Millisecond}
	for _, tt := range []struct {
		name   string
		script func(p *servers.Peer) // nil: nothing listens
		opts   Options
		scheme string
		class  string
		text   string // ADDR is the server's
	}{
		{"nobody listens", nil, Options{}, "http", "refused", "dial tcp ADDR: connect: connection refused"},
		{"reset before the answer", func(p *servers.Peer) { p.Request(); p.Reset() }, Options{}, "http", "reset",
			"read tcp ADDR: read: connection reset by peer"},
		{"reset in the body", func(p *servers.Peer) { p.Request(); p.Send(half); p.Reset() }, Options{}, "http", "reset",
			"read tcp ADDR: read: connection reset by peer"},
		{"end before the answer", func(p *servers.Peer) { p.Request() }, Options{}, "http", "eof",
			"connection closed without an answer"},
		{"end in the head", func(p *servers.Peer) { p.Request(); p.Send("HTTP/1.1 200 OK\r\nCont") }, Options{}, "http", "eof",
			"connection closed within the answer"},
		{"end in the body", func(p *servers.Peer) { p.Request(); p.Send(half) }, Options{}, "http", "eof",
			"connection closed within the answer"},
		{"half closed", func(p *servers.Peer) { p.Request(); p.HalfClose(); p.Hold() }, Options{}, "http", "eof",
			"connection closed without an answer"},
		{"silence", (*servers.Peer).Hold, short, "http", "timeout", "read tcp ADDR: i/o timeout"},
		{"silence in the body", func(p *servers.Peer) { p.Request(); p.Send(half); p.Hold() }, short, "http", "timeout",
			"read tcp ADDR: i/o timeout"},
		{"endless drip", func(p *servers.Peer) {
			p.Request()
			p.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
			for p.WriteString("x") == nil {
				time.Sleep(time.Millisecond)
			}
		}, short, "http", "timeout", "read tcp ADDR: i/o timeout"},
		{"endless interim answers", func(p *servers.Peer) {
			p.Request()
			for p.WriteString("HTTP/1.1 102 Processing\r\n\r\n") == nil {
				time.Sleep(time.Millisecond)
			}
		}, short, "http", "timeout", "read tcp ADDR: i/o timeout"},
		{"garbage", func(p *servers.Peer) { p.Request(); p.Send("garbage"); p.Hold() }, Options{}, "http", "protocol",
			"malformed answer: not HTTP/1"},
		{"garbage before the request", func(p *servers.Peer) { p.Send("SSH-2.0-x\r\n"); p.Hold() }, Options{}, "http", "protocol",
			"malformed answer: not HTTP/1"},
		{"two lengths", func(p *servers.Peer) {
			p.Request()
			p.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok")
			p.Hold()
		}, Options{}, "http", "protocol", "malformed answer: two different Content-Length"},
		{"endless head", func(p *servers.Peer) {
			p.Request()
			p.Send("HTTP/1.1 200 OK\r\nX: ")
			for p.WriteString(strings.Repeat("x", 1<<15)) == nil {
			}
		}, Options{}, "http", "protocol", "malformed answer: head larger than 64 KiB"},
		{"body too large", func(p *servers.Peer) {
			p.Request()
			p.Send("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
			p.Hold()
		}, Options{}, "http", "too_large", "body larger than Options.MaxBody"},
		{"endless body", func(p *servers.Peer) {
			p.Request()
			p.Send("HTTP/1.1 200 OK\r\n\r\n")
			for p.WriteString(strings.Repeat("x", 1<<15)) == nil {
			}
		}, Options{MaxBody: 1 << 20}, "http", "too_large", "body larger than Options.MaxBody"},
		{"no such name", nil, Options{}, "dns", "dns", "no such host"},
		{"plain HTTP where TLS is asked for", func(p *servers.Peer) { p.Send(ok); p.Hold() }, Options{}, "https", "tls",
			"handshake tcp ADDR: tls: first record does not look like a TLS handshake"},
		{"certificate of an unknown authority", badTLS(servers.Leaf{}), Options{RootCAs: servers.NewCA(t).Pool()}, "https", "tls",
			"unknown authority"},
		{"certificate of another name", badTLS(servers.Leaf{Names: []string{"example.com"}}), Options{RootCAs: ca.Pool()}, "https", "tls",
			"127.0.0.1"},
		{"certificate expired", badTLS(servers.Leaf{Expired: true}), Options{RootCAs: ca.Pool()}, "https", "tls",
			"x509: certificate has expired or is not yet valid"},
		{"handshake without an answer", (*servers.Peer).Hold, Options{ConnectTimeout: 500 * time.Millisecond}, "https", "timeout",
			"handshake tcp ADDR: i/o timeout"},
		{"handshake within the whole time only", (*servers.Peer).Hold, short, "https", "timeout",
			"handshake tcp ADDR: i/o timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.scheme == "dns" {
				tt.opts.DNSServers = []string{servers.Names(t, nil).Addr}
			}
			ctx, c, rec := newClient(t, tt.opts)
			well := servers.Faults(t, func(p *servers.Peer) {
				for p.Request() != "" {
					p.Send(ok)
				}
			})
			var url string
			switch {
			case tt.scheme == "dns":
				url = "http://gobench.test/"
			case tt.script == nil:
				url = closedURL(t)
			default:
				url = tt.scheme + "://" + servers.Faults(t, tt.script).Addr
			}
			addr := url[strings.Index(url, "//")+2:]
			for range times {
				_, err := c.Get(ctx, url, nil)
				if err == nil || !strings.HasPrefix(err.Error(), "GET "+url+": ") {
					t.Fatalf("error %v, want one that names the request", err)
				}
				if got := conn.Classify(err).String(); got != tt.class {
					t.Errorf("class %s, want %s: %v", got, tt.class, err)
				}
			}
			if _, err := c.Get(ctx, well.URL, nil); err != nil {
				t.Errorf("after the faults: %v", err)
			}
			wantCounts(t, rec, counts{"http_other_fail": times, "error." + tt.class: times, "http_ok": 1, "latency": 1})
			if _, open := connections(rec); open != 1 {
				t.Errorf("%d connections open, want the one that works", open)
			}
			samples := rec.Samples("home", tt.class)
			for _, s := range samples {
				for _, want := range append([]string{"GET " + url + "\n", "\n  " + tt.class + " after "}, sampled[tt.name]...) {
					if !strings.Contains(s, want) {
						t.Errorf("a sample lacks %q:\n%s", want, s)
					}
				}
				unsent := strings.Contains(s, ", connecting\n") || strings.Contains(s, "handshake") || strings.Contains(s, "looking the name up")
				if asked := strings.Contains(s, "\n  peer "+addr) && strings.Contains(s, "\n> GET / HTTP/1.1\n> Host: "+addr); asked == unsent {
					t.Errorf("a sample shows a request that was not sent, or not one that was:\n%s", s)
				}
			}
			if len(samples) != times || sampled[tt.name] == nil {
				t.Errorf("%d samples, want %d", len(samples), times)
			}
			errs := rec.Errors("home")
			for text, n := range errs {
				if want := tt.class + ": "; len(errs) != 1 || n != times || !strings.HasPrefix(text, want) ||
					!strings.HasSuffix(text, strings.ReplaceAll(tt.text, "ADDR", addr)) && !strings.Contains(text, tt.text) {
					t.Errorf("errors %v, want %d of %q", errs, times, want+tt.text)
				}
			}
		})
	}
}

// sampled has the expected parts of the sample of each row of TestFaultClasses besides the
// request and the class: its phase, and what had been received.
var sampled = map[string][]string{
	"nobody listens":                       {", connecting\n", "connection refused"},
	"reset before the answer":              {", waiting for the answer, of which nothing had come\n", "connection reset by peer"},
	"reset in the body":                    {", within the body of the answer: status 200 and 44 bytes in all had come\n"},
	"end before the answer":                {", waiting for the answer, of which nothing had come\n", "connection closed without an answer"},
	"end in the head":                      {", within the head of the answer: 21 bytes had come\n", "\n< HTTP/1.1 200 OK\n< Cont\n", "connection closed within the answer"},
	"end in the body":                      {", within the body of the answer: status 200 and 44 bytes in all had come\n"},
	"half closed":                          {", waiting for the answer, of which nothing had come\n"},
	"silence":                              {", waiting for the answer, of which nothing had come\n", "i/o timeout"},
	"silence in the body":                  {", within the body of the answer: status 200 and 44 bytes in all had come\n", "i/o timeout"},
	"endless drip":                         {", within the body of the answer: status 200 and "},
	"endless interim answers":              {", within the head of the answer: "},
	"garbage":                              {", within the head of the answer: 7 bytes had come\n", "\n< garbage\n"},
	"garbage before the request":           {"\n< SSH-2.0-x\n"},
	"two lengths":                          {"\n< HTTP/1.1 200 OK\n< Content-Length: 2\n< Content-Length: 3\n", "two different Content-Length"},
	"endless head":                         {"\n< HTTP/1.1 200 OK\n< X: xxxx", " more bytes of the head]\n"},
	"body too large":                       {", within the body of the answer: status 200 and 48 bytes in all had come\n"},
	"endless body":                         {", within the body of the answer: status 200 and "},
	"no such name":                         {", looking the name up\n", "no such host"},
	"plain HTTP where TLS is asked for":    {", in the TLS handshake\n"},
	"certificate of an unknown authority":  {", in the TLS handshake\n", "unknown authority"},
	"certificate of another name":          {", in the TLS handshake\n"},
	"certificate expired":                  {", in the TLS handshake\n", "expired"},
	"handshake without an answer":          {", in the TLS handshake\n", "i/o timeout"},
	"handshake within the whole time only": {", in the TLS handshake\n", "i/o timeout"},
}

// A failed connect takes at least a millisecond: users who try again at once do not use up this
// host's CPU (F24).
func TestRefusedIsNotBusy(t *testing.T) {
	t.Parallel()
	ctx, c, _ := newClient(t)
	url := closedURL(t)
	began := time.Now()
	for range 20 {
		_ = c.GetIgnoreRes(ctx, url, nil)
	}
	if d := time.Since(began); d < 20*time.Millisecond {
		t.Errorf("20 refused connects took %v", d)
	}
}

// A discarded body takes no memory, however large (F26).
func TestDiscardIsFlat(t *testing.T) {
	const size = 256 << 20
	s := servers.Faults(t, func(p *servers.Peer) {
		part := make([]byte, 1<<20)
		for p.Request() != "" {
			p.Send(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size))
			for range size / len(part) {
				if _, err := p.Write(part); err != nil {
					return
				}
			}
		}
	})
	ctx, c, rec := newClient(t)
	get := func() {
		if err := c.GetIgnoreRes(ctx, s.URL, nil); err != nil {
			t.Error(err)
		}
	}
	get()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	get()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 && !raced {
		t.Errorf("%d bytes allocated for a body of %d", n, size)
	}
	if in := rec.Counts("home.")["bytes_in"]; in < 2*size || in > 2*size+1000 {
		t.Errorf("bytes_in = %d, want %d and two heads", in, 2*size)
	}
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
