//go:build long && linux

package truth

import (
	"runtime"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Other processes use all CPUs.
func TestLiarNeighbours(t *testing.T) {
	nginx := servers.Nginx(t)
	defer neighbours(t, 8*runtime.NumCPU())()
	r := measure(t, "", nil, "http", "-c", "50", "--rate", "2000", "-d", "4s", nginx.URL+"/")
	t.Logf("%s: %+v", r.Verdict, r.Reasons)
	if r.Verdict == run.Valid || r.Verdict == "" || !reason(r, health.Neighbours) && !reason(r, "cpu_pressure") {
		t.Errorf("the run is %q because of %+v, want neighbours or cpu_pressure among the reasons", r.Verdict, r.Reasons)
	}
}

func TestLiarGarbage(t *testing.T) {
	disbelieved(t, runWasteful(t, "4 * time.Second"), "gc_cpu")
}

// A quota of a fifth of a CPU.
func TestLiarQuota(t *testing.T) {
	enter := withQuota(t)
	nginx := servers.Nginx(t)
	r := measure(t, enter, nil, "http", "-c", "50", "--rate", "3000", "-d", "4s", nginx.URL+"/")
	disbelieved(t, r, "throttled")
	if greatest(r, "gobench.cpu_quota") <= 500 {
		t.Error("no second of the run used more than half of the quota")
	}
}
