//go:build long && linux

package truth

import (
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Twenty runs of a generator that is well, against a target that is well. A run may be SUSPECT or
// INVALID only for what the host did and the observer saw as well.
func TestTwentyCleanRuns(t *testing.T) {
	nginx := servers.Nginx(t)
	valid := 0
	for i := range 20 {
		r := clean(t, func() *measured {
			return measure(t, "", nil, "http", "-c", "20", "--rate", "500", "-d", "4s", nginx.URL+"/")
		})
		if r.Verdict == run.Valid {
			valid++
		} else {
			t.Logf("run %d: %s because of %+v", i, r.Verdict, r.Reasons)
		}
	}
	t.Logf("%d of 20 runs are VALID", valid)
}

// clean makes a run of a generator that is well. It repeats the run, twice at most, if its verdict
// has a reason that the observer did not see, since a disturbance may be too short to be seen.
func clean(t *testing.T, make func() *measured) *measured {
	t.Helper()
	for tries := 1; ; tries++ {
		m := make()
		complaints := m.complaints()
		if len(complaints) == 0 || t.Failed() {
			return m
		}
		if tries == 3 {
			t.Fatalf("run %d: %q", tries, complaints)
		}
		t.Logf("run %d, which is repeated: %q", tries, complaints)
	}
}
