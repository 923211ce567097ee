package http

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// F29: no local port is left, in a separate network namespace with 50 ports. Each source
// address has its own 50, for each server.
func TestLocalPort(t *testing.T) {
	t.Parallel()
	servers.OwnNetwork(t, fiftyPorts)
}

func fiftyPorts(t *testing.T) {
	release := make(chan struct{})
	hold := func(p *servers.Peer) {
		p.Request()
		<-release
		p.Send(ok)
		p.Request()
		p.Reset() // the port is free at once
	}
	one, two := servers.Faults(t, hold), servers.Faults(t, hold)
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	const ports, calls = 50, 80
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("60000 60049"), 0); err != nil {
		t.Fatal(err)
	}
	var end []func()
	load := func(name string, opts Options, want int64, urls ...string) {
		t.Helper()
		ctx, c, rec := newClient(t, opts)
		done := make(chan error)
		for _, url := range urls {
			for range calls {
				go func() { done <- c.GetIgnoreRes(ctx, url, nil) }()
			}
		}
		end = append(end, func() {
			for range want {
				if err := <-done; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			c.Close()
		})
		refused := int64(calls*len(urls)) - want
		for range refused {
			if err := <-done; err == nil || !strings.Contains(err.Error(), "cannot assign requested address") {
				t.Errorf("%s: %v", name, err)
			}
		}
		waitFor(t, func() bool { opened, _ := connections(rec); return opened == want })
		got := rec.Counts("home.")
		if got["error.local_port"] != refused || got["http_other_fail"] != refused || got["recovery"] != 0 || c.c.outage.Load() != nil {
			t.Errorf("%s: counts %v, want %d of local_port alone", name, got, refused)
		}
	}
	load("the system's own address, one server", Options{}, ports, one.URL)
	load("another server", Options{}, ports, two.URL)
	load("a source of its own, two servers", Options{Sources: []string{"127.0.0.2"}}, 2*ports, one.URL, two.URL)
	load("three sources", Options{Sources: []string{"127.0.0.8/30", "127.0.0.20"}}, calls, one.URL) // 27 each
	let()
	for _, f := range end {
		f()
	}
	ctx, rec := executortest.Context(t)
	c, err := NewHttpClient(ctx, "home")
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return c.GetIgnoreRes(ctx, one.URL, nil) == nil })
	fmt.Println(outcomes(rec))
}
