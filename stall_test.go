package main

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestStall holds gobench against the truth: a real nginx under 2,000 requests a
// second is stopped for a second in the middle of ten. A tenth of the requests is due
// meanwhile and waits 0 to 1 s, so the 99th percentile of response times is the
// stop's length less a tenth of a second, and the greatest is its length. It runs
// alone, since it measures.
//
// The figures hold every time. The target was slow and not gobench, so the run is
// VALID; where others disturb the machine as the test itself can see, it may be
// SUSPECT for that, and a run that is so for a reason that can't be seen is made anew.
func TestStall(t *testing.T) {
	nginx := servers.Nginx(t)
	clean(t, func() *measured { return stall(t, nginx) })
}

// maxExecutor is how much memory an executor of 50 users may have.
const maxExecutor = 30 << 20

func stall(t *testing.T, nginx *servers.Server) *measured {
	t.Helper()
	const rate, seconds = 2000, 10
	var stall time.Duration
	r := measure(t, "", func(int) {
		time.Sleep(4500 * time.Millisecond)
		signal := func(sig syscall.Signal) time.Time {
			if err := syscall.Kill(nginx.Pid(), sig); err != nil {
				t.Fatal(err)
			}
			return time.Now()
		}
		stopped := signal(syscall.SIGSTOP)
		time.Sleep(time.Second)
		stall = signal(syscall.SIGCONT).Sub(stopped)
	}, "http", "-c", "50", "--rate", "2000", "-d", "10s", nginx.URL+"/")
	if n := total(r.Result, "http.http_ok"); n != rate*seconds || total(r.Result, "vu.http.planned") != rate*seconds || total(r.Result, "vu.http.dropped") != 0 || len(r.Errors) != 0 {
		t.Errorf("%d answers to %d planned requests, errors %v; want %d", n, total(r.Result, "vu.http.planned"), r.Errors, rate*seconds)
	}
	response := r.times(t, "vu.http.response")
	p99 := float64(stall.Milliseconds()) - 100
	if off := response.P99/p99 - 1; math.Abs(off) > 0.03 {
		t.Errorf("p99 of response times is %.1f ms, truth %.1f ms: off by %.1f %%", response.P99, p99, off*100)
	}
	if truth := float64(stall.Milliseconds()); math.Abs(response.Max/truth-1) > 0.03 {
		t.Errorf("greatest response time is %.1f ms, truth %.1f ms", response.Max, truth)
	}
	if r.peak <= 0 || r.peak > maxExecutor {
		t.Errorf("the executor had up to %.1f MB, want %d at most", float64(r.peak)/(1<<20), maxExecutor>>20)
	}
	t.Logf("%s, stall %v: p50 %.2f ms, p99 %.1f ms, max %.1f ms; executor %.1f MB", r.Verdict, stall, response.P50, response.P99, response.Max, float64(r.peak)/(1<<20))
	return r
}
