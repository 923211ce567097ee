package main

import (
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testenv"
)

// The liars' other side: twenty runs of a generator that is well, against a target
// that is. None may be INVALID, and SUSPECT only for what the host did and the test
// saw as well.
func TestTwentyCleanRuns(t *testing.T) {
	nginx := testenv.Nginx(t)
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
