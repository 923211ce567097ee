package main

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// The liars' other side: twenty runs of a generator that is well, against a target
// that is. None may be INVALID, and SUSPECT only for what the host did and the test
// saw as well.
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

// What the witness lets pass, and what not.
func TestWitness(t *testing.T) {
	t.Parallel()
	const n = 40
	// machine is a witness of two CPUs for 2 s: shares of them that gobench and others
	// used, and of the time in which some process waited.
	machine := func(own, others, steal, pressed float64) *witness {
		w := new(witness)
		for i := range n + 1 {
			s := float64(i) * watchEvery.Seconds()
			w.samples = append(w.samples, sample{at: time.Unix(1000, 0).Add(time.Duration(i) * watchEvery), total: 2 * s,
				busy: 2 * s * (own + others), steal: 2 * s * steal, tree: 2 * s * own, executor: 2 * s * own, pressed: s * pressed})
		}
		return w
	}
	quiet, crowd := machine(0.1, 0.1, 0, 0.05), machine(0.1, 0.8, 0, 0.3)
	// stalled stood still once, for so long, in the second that is looked at or later.
	stalled := func(at, long time.Duration) *witness {
		w := machine(0.1, 0.1, 0, 0.05)
		w.lookout = &lookouts{pauses: []pause{{time.Unix(1000, 0).Add(at + long), long}}}
		return w
	}
	for _, tt := range []struct {
		name    string
		host    *witness
		verdict run.Verdict
		signal  string
		level   string
		passes  bool
	}{
		{"valid", quiet, run.Valid, "", "", true},
		{"invalid on a quiet machine", quiet, run.Invalid, "start_lag", "red", false},
		{"invalid in a crowd", crowd, run.Invalid, "start_lag", "red", false},
		{"no verdict", quiet, "", "", "", false},
		{"late on a quiet machine", quiet, run.Suspect, "start_lag", "amber", false},
		{"late in a crowd", crowd, run.Suspect, "start_lag", "amber", true},
		{"late by its own CPU use", machine(0.8, 0.1, 0, 0.3), run.Suspect, "start_lag", "amber", false},
		{"neighbours that are there", crowd, run.Suspect, "neighbours", "amber", true},
		{"neighbours that are not", quiet, run.Suspect, "neighbours", "amber", false},
		{"CPU in use", crowd, run.Suspect, "cpu", "amber", true},
		{"CPU not in use", quiet, run.Suspect, "cpu", "amber", false},
		{"steal", machine(0.1, 0.1, 0.05, 0), run.Suspect, "steal", "amber", true},
		{"late for steal", machine(0.1, 0.1, 0.05, 0), run.Suspect, "canary", "amber", true},
		{"late as the machine stood still", stalled(700*time.Millisecond, 8*time.Millisecond), run.Suspect, "canary", "amber", true},
		{"late before it stood still", stalled(1700*time.Millisecond, 8*time.Millisecond), run.Suspect, "canary", "amber", false},
		{"late as it stood still for a moment", stalled(700*time.Millisecond, 2*time.Millisecond), run.Suspect, "canary", "amber", false},
		{"very late as it stood still", stalled(700*time.Millisecond, 8*time.Millisecond), run.Suspect, "canary", "red", false},
		{"garbage as it stood still", stalled(700*time.Millisecond, 8*time.Millisecond), run.Suspect, "gc_cpu", "amber", false},
		{"no steal", crowd, run.Suspect, "steal", "amber", false},
		{"pressure", crowd, run.Suspect, "cpu_pressure", "amber", true},
		{"no pressure", quiet, run.Suspect, "cpu_pressure", "amber", false},
		{"garbage is no host's", crowd, run.Suspect, "gc_cpu", "amber", false},
		{"nor are ports", crowd, run.Suspect, "local_port", "red", false},
	} {
		r := &run.Result{Verdict: tt.verdict, Start: time.Unix(1000, 0)}
		var level run.Severity
		if err := level.UnmarshalText([]byte(tt.level)); err != nil {
			t.Fatal(err)
		}
		if tt.signal != "" {
			r.Reasons = []run.Reason{{Signal: tt.signal, Level: level, Worst: 0.5}}
		}
		m := &measured{Result: r, host: tt.host}
		if got := m.complaints(); (len(got) == 0) != tt.passes {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
