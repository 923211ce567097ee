//go:build linux

package truth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// The liar tests make the generator bad on purpose, against a target that is well: each run
// must report that its numbers are not to be trusted, and why. Those here hold on a busy machine,
// too, in a short form; liar_long_test.go has the rest. A step of the clock is tested in
// internal/measure/health.

// disbelieved checks that a run is not VALID and that cause is among its reasons.
func disbelieved(t *testing.T, r *measured, cause string) {
	t.Helper()
	t.Logf("%s: %+v", r.Verdict, r.Reasons)
	if r.Verdict == run.Valid || r.Verdict == "" || !reason(r, cause) {
		t.Errorf("the run is %q because of %+v, want %s among the reasons", r.Verdict, r.Reasons, cause)
	}
}

func reason(r *measured, signal string) bool {
	for _, x := range r.Reasons {
		if x.Signal == signal {
			return true
		}
	}
	return false
}

// duration returns how long a run takes in make test-long, and in make test.
func duration(full, short string) string {
	if long.Run {
		return full
	}
	return short
}

// The executor is stopped again and again.
func TestLiarStoppedExecutor(t *testing.T) {
	t.Parallel()
	nginx := servers.Nginx(t)
	stops, starts, length := 1, int64(800), "2s"
	if long.Run {
		stops, starts, length = 3, 5000, "5s"
	}
	r := measure(t, "", func(gobench int) {
		executor, err := binary.Child(gobench)
		if err != nil {
			t.Fatal(err)
		}
		for range stops {
			time.Sleep(700 * time.Millisecond)
			_ = syscall.Kill(executor, syscall.SIGSTOP)
			time.Sleep(300 * time.Millisecond)
			_ = syscall.Kill(executor, syscall.SIGCONT)
		}
	}, "http", "-c", "50", "--rate", duration("1000", "400"), "-d", length, nginx.URL+"/")
	disbelieved(t, r, "canary")
	disbelieved(t, r, health.StartLag)
	lag := r.times(t, "vu.http.start_lag")
	if n := binary.Total(r.Result, "vu.http.start_lag"); n != starts || lag.Max < 250 {
		t.Errorf("%d lags of %d starts, the greatest %.1f ms", n, starts, lag.Max)
	}
	if !long.Run {
		return
	}
	// What was due meanwhile found all users busy only because they slept as well: it
	// is gobench's lateness, and no wait for the target.
	wait := r.times(t, "vu.http.queue_wait")
	waited := binary.Total(r.Result, "vu.http.queue_wait")
	if lagged, queued := lag.Avg*float64(starts), wait.Avg*float64(waited); queued > lagged/2 {
		t.Errorf("%.0f ms of lag in all; %.0f ms of queue wait", lagged, queued)
	}
}

func TestLiarOpenFiles(t *testing.T) {
	t.Parallel()
	nginx := servers.Nginx(t)
	r := measure(t, "ulimit -n 64;", nil, "http", "-c", "200", "-d", duration("2s", "500ms"), nginx.URL+"/")
	disbelieved(t, r, health.LocalFiles)
	if r.Verdict != run.Invalid {
		t.Errorf("verdict %s", r.Verdict)
	}
}

func TestLiarLocalPorts(t *testing.T) {
	t.Parallel()
	servers.OwnNetwork(t, func(t *testing.T) {
		nginx := servers.Nginx(t)
		r := measure(t, "echo 40000 40049 >/proc/sys/net/ipv4/ip_local_port_range;", nil, "http", "-c", "200", "-d", duration("2s", "500ms"), nginx.URL+"/")
		disbelieved(t, r, health.LocalPorts)
		if r.Verdict != run.Invalid {
			t.Errorf("verdict %s", r.Verdict)
		}
	})
}

// wasteful is a scenario that allocates 64 KB an iteration and collects garbage all the time.
const wasteful = `package main

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
)

var kept [64][]byte

func export() scenario.Vus {
	return scenario.Vus{{
		Nu:    16,
		Load:  scenario.Arrival{Stages: []scenario.Rate{{To: 15000, Over: 4 * time.Second}}},
		Setup: func(ctx context.Context) (context.Context, error) { debug.SetGCPercent(5); return ctx, nil },
		Fu:    waste,
	}}
}

func waste(ctx context.Context, vui int) { kept[vui%64] = make([]byte, 64<<10) }
`

// runWasteful runs wasteful for some time.
func runWasteful(t *testing.T, length string) *measured {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(strings.Replace(wasteful, "4 * time.Second", length, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return measure(t, "", nil, "run", file)
}

// The executor's garbage collection is in the result. TestSignals of internal/measure/health
// tests what a verdict makes of it.
func TestGarbageIsMeasured(t *testing.T) {
	t.Parallel()
	if got := greatest(runWasteful(t, "time.Second"), "gobench.gc_cpu"); got == 0 {
		t.Error("no CPU time went into garbage collection")
	}
}

// The CPU quota of gobench's cgroup is in the result.
func TestQuotaIsMeasured(t *testing.T) {
	t.Parallel()
	nginx := servers.Nginx(t)
	if got := greatest(measure(t, withQuota(t), nil, "http", "-c", "5", "--rate", "300", "-d", "1200ms", nginx.URL+"/"), "gobench.cpu_quota"); got == 0 {
		t.Error("no CPU time of the quota was used")
	}
}

// greatest returns the greatest value of a histogram that has no unit of time, 0 if it has none.
func greatest(r *measured, title string) float64 {
	for _, m := range r.Metrics {
		if m.Title == title && m.Sizes != nil {
			return float64(m.Sizes.Max)
		}
	}
	return 0
}

// withQuota makes a cgroup that may use a fifth of a CPU, and returns the shell commands with
// which a shell enters it.
func withQuota(t *testing.T) (enter string) {
	t.Helper()
	// cgroup v1, else v2, where the root may have to pass the controller down.
	name := fmt.Sprintf("gobench-liar-%d", os.Getpid())
	dir, file, quota := "/sys/fs/cgroup/cpu/"+name, "cpu.cfs_quota_us", "20000"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0o600) // if it fails, so does writing the quota
		dir, file, quota = "/sys/fs/cgroup/"+name, "cpu.max", "20000 100000"
	}
	group(t, dir)
	if err := os.WriteFile(dir+"/"+file, []byte(quota), 0o600); err != nil {
		t.Fatalf("set a CPU quota: %v", err)
	}
	enter = "echo $$ >" + dir + "/cgroup.procs;"
	// Version 1 may count usage in another hierarchy.
	if usage := "/sys/fs/cgroup/cpuacct"; !exists(dir+"/cpu.stat", "usage_usec") && exists(usage+"/cpuacct.usage", "") && !exists(usage+"/"+name+"/cpuacct.usage", "") {
		group(t, usage+"/"+name)
		enter += "echo $$ >" + usage + "/" + name + "/cgroup.procs;"
	}
	return enter
}

// exists reports whether a file exists and contains a text.
func exists(name, text string) bool {
	b, err := os.ReadFile(name)
	return err == nil && strings.Contains(string(b), text)
}

// group makes a cgroup, which is removed at the end of the test.
func group(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("make a cgroup: %v (run the tests as root: sudo make test)", err)
	}
	t.Cleanup(func() {
		err := os.Remove(dir)
		for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); err = os.Remove(dir) {
			time.Sleep(10 * time.Millisecond) // until the kernel has removed the processes that ended
		}
		if err != nil {
			t.Error(err)
		}
	})
}
