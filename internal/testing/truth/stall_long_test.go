//go:build long && linux

package truth

import (
	"math"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestStallIsExact compares gobench's figures with the truth: a real nginx under 2,000
// requests a second is stopped for a second in the middle of ten. A tenth of the requests
// is due meanwhile and waits 0 to 1 s, so the 99th percentile of response times is the
// stop's length less a tenth of a second, and the greatest is its length.
//
// The target was slow and not gobench, so the run is VALID. If others disturb the
// machine, as the observer sees, it may be SUSPECT for that.
func TestStallIsExact(t *testing.T) {
	nginx := servers.Nginx(t)
	clean(t, func() *measured { return stall(t, nginx) })
}

// maxExecutor is the greatest memory, in bytes, that an executor of 50 users may have.
const maxExecutor = 30 << 20

func stall(t *testing.T, nginx *servers.NginxServer) *measured {
	t.Helper()
	const rate, seconds = 2000, 10
	var stall time.Duration
	r := measure(t, "", func(int) {
		time.Sleep(4500 * time.Millisecond)
		stall = stop(t, nginx, time.Second)
	}, "http", "-c", "50", "--rate", "2000", "-d", "10s", nginx.URL+"/")
	if n := binary.Total(r.Result, "http.http_ok"); n != rate*seconds || binary.Total(r.Result, "vu.http.planned") != rate*seconds || binary.Total(r.Result, "vu.http.dropped") != 0 || len(r.Errors) != 0 {
		t.Errorf("%d answers to %d planned requests, errors %v; want %d", n, binary.Total(r.Result, "vu.http.planned"), r.Errors, rate*seconds)
	}
	response := r.times(t, "vu.http.response")
	p99 := float64(stall.Milliseconds()) - 100
	if off := float64(response.P99)/p99 - 1; math.Abs(off) > 0.03 {
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
