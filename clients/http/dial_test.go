package http

import (
	"fmt"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

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
		asked  func(n, expired int) bool // of 6 connects, while cached addresses may have expired so often
		before []string                  // the servers of the first 4 connects, "a" or "b"
		after  string                    // that of the last ones, after the change and after the cached addresses expired
	}{
		{"each connect", 0, func(n, _ int) bool { return n == 6 }, []string{"a", "a", "a", "a"}, "c"},
		{"kept for a time", keep, func(n, expired int) bool { return 2 <= n && n <= 2+expired }, []string{"a", "b", "a", "b"}, "c"},
		{"once", DNSOnce, func(n, _ int) bool { return n == 1 }, []string{"a", "b", "a", "b"}, "ab"},
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
			began := time.Now()
			for range 4 {
				got = append(got, fetch())
			}
			expired := int(time.Since(began) / keep) // on a slow host
			if expired == 0 && !slices.Equal(got, tt.before) {
				t.Errorf("served by %q, want %q", got, tt.before)
			}
			ns.Set("web.test", "127.0.0.3")
			time.Sleep(keep + 20*time.Millisecond)
			began = time.Now()
			for range 2 {
				if got := fetch(); !strings.Contains(tt.after, got) {
					t.Errorf("after the change served by %q, want one of %q", got, tt.after)
				}
			}
			expired += int(time.Since(began) / keep)
			if n := ns.Asked("web.test"); !tt.asked(n, expired) {
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
