//go:build linux

package truth

import (
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// A short run of a generator that is well: every planned request is answered and counted. If
// the run is not VALID it names the reason. TestTwentyCleanRuns, a long test, requires VALID
// runs.
func TestCleanRun(t *testing.T) {
	t.Parallel()
	nginx := servers.Nginx(t)
	r := measure(t, "", nil, "http", "-c", "20", "--rate", "300", "-d", "1s", nginx.URL+"/")
	if planned, ok := binary.Total(r.Result, "vu.http.planned"), binary.Total(r.Result, "http.http_ok"); planned != 300 || ok != 300 || len(r.Errors) > 0 || !r.Complete {
		t.Errorf("%d requests planned and %d answered, want 300; errors %v, missing %v", planned, ok, r.Errors, r.Missing)
	}
	if r.Verdict == "" || r.Verdict != run.Valid && len(r.Reasons) == 0 {
		t.Errorf("verdict %q for reasons %+v", r.Verdict, r.Reasons)
	}
	nginx.Stop(t)
	if logged := len(nginx.Log(t)); logged != 300 {
		t.Errorf("nginx answered %d requests", logged)
	}
}
