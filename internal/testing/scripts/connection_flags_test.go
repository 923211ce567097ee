package scripts

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/repo"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// visits are the requests that a server saw.
type visits struct {
	mu    sync.Mutex
	lines []string // guarded by mu

	first atomic.Int32
	met   chan struct{} // closed when two requests have arrived

	connections sync.Map // addresses of those that have had an answer of /broken
}

// meet blocks the first request until the second has arrived, so that both connections
// are used.
func (s *visits) meet(r *http.Request) {
	if s.first.Add(1) == 2 {
		close(s.met)
	}
	select {
	case <-s.met:
	case <-r.Context().Done():
	}
}

func (s *visits) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, password, _ := r.BasicAuth()
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	line := fmt.Sprintf("%s %s from %s", r.Proto, r.URL.Path, host)
	if user != "" {
		line += " by " + user + "/" + password
	}
	if name, found := strings.CutPrefix(r.Header.Get("Authorization"), `Digest username="`); found {
		name, _, _ = strings.Cut(name, `"`)
		line += " digest " + name
	}
	if c, err := r.Cookie("visit"); err == nil {
		line += " cookie " + c.Value
	}
	if r.TLS != nil {
		line += fmt.Sprintf(" tls %s resumed %v certificates %d", r.TLS.ServerName, r.TLS.DidResume, len(r.TLS.PeerCertificates))
	}
	if r.Close {
		line += " close"
	}
	s.lines = append(s.lines, line)
}

// has returns the number of lines with a text.
func (s *visits) has(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (s *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.meet(r)
	s.add(r)
	switch r.URL.Path {
	case "/moved":
		http.Redirect(w, r, "/there", http.StatusFound)
	case "/cookie":
		http.SetCookie(w, &http.Cookie{Name: "visit", Value: "1"})
	case "/again":
		http.Redirect(w, r, "/again", http.StatusFound)
	case "/broken": // only the first request of a connection is answered
		if _, again := s.connections.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
	case "/silent":
		<-r.Context().Done()
	case "/digest":
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Digest realm="inside", nonce="once", qop="auth", algorithm=SHA-256`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

// TestClientFlags holds that each flag about connections works, against a real server, and
// that each has a row.
func TestClientFlags(t *testing.T) {
	ca := servers.NewCA(t)
	dir := t.TempDir()
	pem := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key := ca.PEM(t, servers.Leaf{Names: []string{"visitor"}})
	certFile, keyFile, bothFile := pem("cert.pem", cert), pem("key.pem", key), pem("both.pem", append(cert, key...))
	tried := map[string]bool{"--unix-socket": true}
	for _, tt := range []struct {
		name   string
		tls    bool
		unix   bool
		path   string
		flags  []string
		counts map[string]int // of requests with a text, of 12
		total  map[string]int64
	}{
		{"plain", false, false, "/", nil, map[string]int{"HTTP/1.1 / from 127.0.0.1": 12}, map[string]int64{"http.connections_opened": 2, "http.http_ok": 12}},
		{"sent again", false, false, "/broken", []string{"--resend"}, map[string]int{"/broken": 22}, map[string]int64{"http.http_ok": 12, "http.resent": 10, "http.http_other_fail": 0}},
		{"no keep-alive", false, false, "/", []string{"--disable-keepalive"}, map[string]int{"close": 12}, map[string]int64{"http.connections_opened": 12, "http.connections_reused": 0}},
		{"redirects", false, false, "/moved", []string{"--location"}, map[string]int{"/moved": 12, "/there": 12}, map[string]int64{"http.http_ok": 12, "http.redirects": 12}},
		{"redirects not followed", false, false, "/moved", nil, map[string]int{"/moved": 12, "/there": 0}, map[string]int64{"http.http_fail": 12, "http.status.3xx": 12}},
		{"redirects up to a limit", false, false, "/again", []string{"--location", "--max-redirects", "2"}, map[string]int{"/again": 36}, map[string]int64{"http.http_ok": 0, "http.redirects": 24}},
		{"cookies", false, false, "/cookie", []string{"--cookies"}, map[string]int{"cookie 1": 10}, nil},
		{"no cookies", false, false, "/cookie", nil, map[string]int{"cookie 1": 0}, nil},
		{"basic", false, false, "/", []string{"--user", "me:secret:x"}, map[string]int{"by me/secret:x": 12}, nil},
		{"digest", false, false, "/digest", []string{"--user", "me:secret", "--digest"}, map[string]int{"digest me": 12}, map[string]int64{"http.http_ok": 12, "http.challenges": 2}},
		{"time limit", false, false, "/silent", []string{"--timeout", "100ms"}, map[string]int{"/silent": 12}, map[string]int64{"http.error.timeout": 12}},
		{"time limit of connecting", false, false, "/", []string{"--connect-timeout", "100ms", "SILENT"}, map[string]int{"HTTP": 0}, map[string]int64{"http.error.timeout": 12, "http.connections_opened": 12}},
		{"source", false, false, "/", []string{"--source", "127.0.0.2", "--source", "127.0.0.3"}, map[string]int{"from 127.0.0.1": 0}, map[string]int64{"http.http_ok": 12}},
		{"unix", false, true, "/", nil, map[string]int{"HTTP/1.1 /": 12}, map[string]int64{"http.http_ok": 12}},
		{"any certificate", true, false, "/", []string{"--insecure", "--disable-keepalive"}, map[string]int{"resumed true": 10}, map[string]int64{"http.tls_handshakes": 12, "http.tls_resumed": 10}},
		{"full handshakes", true, false, "/", []string{"--insecure", "--disable-keepalive", "--no-tls-resumption"}, map[string]int{"resumed false": 12}, map[string]int64{"http.tls_handshakes": 12, "http.tls_resumed": 0}},
		{"a stranger's certificate", true, false, "/", nil, map[string]int{"HTTP": 0}, map[string]int64{"http.error.tls": 12, "http.http_ok": 0}},
		{"own CA and name", true, false, "/", []string{"--cacert", "CA", "--sni", "inside.test"}, map[string]int{"tls inside.test": 12}, nil},
		{"client certificate", true, false, "/", []string{"--insecure", "--cert", certFile, "--key", keyFile}, map[string]int{"certificates 1": 12}, nil},
		{"client certificate in one file", true, false, "/", []string{"--insecure", "--cert", bothFile}, map[string]int{"certificates 1": 12}, nil},
		{"key log", true, false, "/", []string{"--insecure", "--tls-key-log", filepath.Join(dir, "keys")}, map[string]int{"HTTP": 12}, nil},
		{"HTTP/2", true, false, "/", []string{"--insecure", "--http2"}, map[string]int{"HTTP/2.0 /": 12}, map[string]int64{"http.connections_opened": 2}},
		{"HTTP/2 with streams", true, false, "/", []string{"--insecure", "--http2", "--streams", "3"}, map[string]int{"HTTP/2.0 /": 12}, map[string]int64{"http.connections_opened": 2, "vu.http.started": 6}},
		{"HTTP/2 without TLS", false, false, "/", []string{"--http2"}, map[string]int{"HTTP/2.0 /": 12}, nil},
		{"proxy", false, false, "/", []string{"--proxy", "PROXY"}, map[string]int{"HTTP/1.1 /": 12}, map[string]int64{"http.http_ok": 12}},
		{"resolve", false, false, "/", []string{"--resolve", "RESOLVE"}, map[string]int{"HTTP/1.1 /": 12}, map[string]int64{"http.http_ok": 12}},
	} {
		for _, f := range tt.flags {
			tried[f] = true
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &visits{met: make(chan struct{})}
			srv := httptest.NewUnstartedServer(s)
			srv.Config.Protocols = new(http.Protocols)
			srv.Config.Protocols.SetHTTP1(true)
			srv.Config.Protocols.SetUnencryptedHTTP2(true)
			srv.Config.Protocols.SetHTTP2(true)
			flags := append([]string(nil), tt.flags...)
			if tt.unix {
				path := filepath.Join(t.TempDir(), "s")
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				srv.Listener.Close()
				srv.Listener = l
				flags = append(flags, "--unix-socket", path)
			}
			if tt.tls {
				srv.EnableHTTP2 = true
				srv.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t, servers.Leaf{Names: []string{"inside.test"}})}, ClientAuth: tls.RequestClientCert}
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			url := srv.URL
			if tt.unix {
				url = "http://inside.test"
			}
			for i, f := range flags {
				switch f {
				case "CA":
					flags[i] = pem("ca.pem", ca.Root())
				case "PROXY":
					proxy := servers.HTTPProxy(t, "me:secret", nil)
					flags[i] = "http://me:secret@" + proxy.Addr
					defer func() {
						if asked := proxy.Asked(); len(asked) != 12 || !strings.HasPrefix(asked[0], "GET http://") {
							t.Errorf("the proxy was asked for %q", asked)
						}
					}()
				case "SILENT": // a server that accepts connections, and never shakes hands
					l, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					flags, url = flags[:i], "https://"+l.Addr().String()
				case "RESOLVE":
					_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
					flags[i] = "nowhere.test:" + port + ":127.0.0.1"
					url = "http://nowhere.test:" + port
				}
			}
			r := runFlags(t, append(flags, url+tt.path)...)
			for text, want := range tt.counts {
				if n := s.has(text); n != want {
					t.Errorf("%d requests have %q, want %d of %q", n, text, want, s.lines)
				}
			}
			for title, want := range tt.total {
				if n := binary.Total(r, title); n != want {
					t.Errorf("%s is %d, want %d; errors %v", title, n, want, r.Errors)
				}
			}
		})
	}
	code, err := os.ReadFile(repo.Path(t, "internal/cli/http_client.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?:fs\.\w+|timeVar)\(.*?, "([a-z0-9-]+)", `).FindAllSubmatch(code, -1)
	if len(declared) < 20 {
		t.Errorf("found %d declarations of flags in http_client.go", len(declared))
	}
	for _, d := range declared {
		if !tried["--"+string(d[1])] {
			t.Errorf("--%s has no row", d[1])
		}
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(dir, "keys")); err != nil || !strings.Contains(string(b), "CLIENT_") {
			t.Errorf("key log %q, error %v", b, err)
		}
	})
}

// runFlags sends 12 requests over 2 connections.
func runFlags(t *testing.T, flags ...string) *run.Result {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	cmd := binary.Command(t, append([]string{"--dir", dir, "http", "-q", "--allow-failure", "-c", "2", "-n", "12", "-o", out}, flags...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gobench: %v\n%s", err, b)
	}
	return binary.ReadResult(t, out)
}
