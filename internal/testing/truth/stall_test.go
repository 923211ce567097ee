//go:build linux

package truth

import (
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// While the target is stopped, requests that are due wait, and their wait is in the response
// times: the greatest is at least the stop's length, less the pause between two planned
// requests. TestStallIsExact, a long test, requires the exact figures.
func TestStall(t *testing.T) {
	t.Parallel()
	nginx := servers.Nginx(t)
	var stall time.Duration
	r := measure(t, "", func(int) {
		time.Sleep(500 * time.Millisecond)
		stall = stop(t, nginx, 300*time.Millisecond)
	}, "http", "-c", "50", "--rate", "200", "-d", "2s", nginx.URL+"/")
	if n := binary.Total(r.Result, "http.http_ok"); n != 400 || binary.Total(r.Result, "vu.http.planned") != 400 || len(r.Errors) != 0 {
		t.Errorf("%d answers to %d planned requests, errors %v; want 400", n, binary.Total(r.Result, "vu.http.planned"), r.Errors)
	}
	if response := r.times(t, "vu.http.response"); response.Max < float64(stall.Milliseconds())-5 {
		t.Errorf("the greatest response time is %.1f ms, the target was stopped for %v", response.Max, stall)
	}
}

// stop stops nginx for some time, and returns how long it was stopped at least.
func stop(t *testing.T, nginx *servers.NginxServer, length time.Duration) time.Duration {
	t.Helper()
	signal := func(sig syscall.Signal) {
		if err := syscall.Kill(nginx.Pid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	stopped := time.Now()
	time.Sleep(length)
	lasted := time.Since(stopped) // before SIGCONT: this process may be stopped after it
	signal(syscall.SIGCONT)
	return lasted
}
