package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// The liar tests make the generator bad on purpose, against a target that is well:
// each run must say that its numbers are not to be believed, and why. They run one
// after the other, since they measure. A step of the clock is internal/measure/health's.

// disbelieved checks that a run is not VALID and that one of its reasons is the cause.
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

func TestLiarStoppedExecutor(t *testing.T) {
	nginx := servers.Nginx(t)
	r := measure(t, "", func(gobench int) {
		executor, err := childOf(gobench)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(700 * time.Millisecond)
			_ = syscall.Kill(executor, syscall.SIGSTOP)
			time.Sleep(300 * time.Millisecond)
			_ = syscall.Kill(executor, syscall.SIGCONT)
		}
	}, "http", "-c", "50", "--rate", "1000", "-d", "5s", nginx.URL+"/")
	disbelieved(t, r, "canary")
	disbelieved(t, r, health.StartLag)
	// What was due meanwhile found all users busy only because they slept as well: it
	// is gobench's lateness, and no wait for the target.
	lag, wait := r.times(t, "vu.http.start_lag"), r.times(t, "vu.http.queue_wait")
	n, waited := total(r.Result, "vu.http.start_lag"), total(r.Result, "vu.http.queue_wait")
	if lagged, queued := lag.Avg*float64(n), wait.Avg*float64(waited); n != 5000 || lag.Max < 250 || queued > lagged/2 {
		t.Errorf("%d lags of 5,000 starts, the greatest %.1f ms, %.0f ms in all; %.0f ms of queue wait", n, lag.Max, lagged, queued)
	}
}

// Others use all CPUs, again and again more of them than gobench gets.
func TestLiarNeighbours(t *testing.T) {
	nginx := servers.Nginx(t)
	for range 8 * runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		}()
	}
	r := measure(t, "", nil, "http", "-c", "50", "--rate", "2000", "-d", "4s", nginx.URL+"/")
	t.Logf("%s: %+v", r.Verdict, r.Reasons)
	if r.Verdict == run.Valid || r.Verdict == "" || !reason(r, health.Neighbours) && !reason(r, "cpu_pressure") {
		t.Errorf("the run is %q because of %+v, want neighbours or cpu_pressure among the reasons", r.Verdict, r.Reasons)
	}
	if r.Verdict == run.Invalid {
		t.Errorf("the host alone made the run INVALID: %+v", r.Reasons)
	}
}

// wasteful allocates 64 KB an iteration, and collects garbage all the time.
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

func TestLiarGarbage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(wasteful), 0o600); err != nil {
		t.Fatal(err)
	}
	disbelieved(t, measure(t, "", nil, "run", file), "gc_cpu")
}

func TestLiarOpenFiles(t *testing.T) {
	nginx := servers.Nginx(t)
	r := measure(t, "ulimit -n 64;", nil, "http", "-c", "200", "-d", "2s", nginx.URL+"/")
	disbelieved(t, r, health.LocalFiles)
	if r.Verdict != run.Invalid {
		t.Errorf("verdict %s", r.Verdict)
	}
}

func TestLiarLocalPorts(t *testing.T) {
	if os.Getenv(namespaceEnv) == "" {
		inNamespace(t, "TestLiarLocalPorts")
		return
	}
	nginx := servers.Nginx(t)
	r := measure(t, "echo 40000 40049 >/proc/sys/net/ipv4/ip_local_port_range;", nil, "http", "-c", "200", "-d", "2s", nginx.URL+"/")
	disbelieved(t, r, health.LocalPorts)
	if r.Verdict != run.Invalid {
		t.Errorf("verdict %s", r.Verdict)
	}
}

// A quota of a fifth of a CPU.
func TestLiarQuota(t *testing.T) {
	// cgroup v1, else v2, where the root may have to hand the controller down.
	name := fmt.Sprintf("gobench-liar-%d", os.Getpid())
	dir, file, quota := "/sys/fs/cgroup/cpu/"+name, "cpu.cfs_quota_us", "20000"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0o600) // writing the quota tells
		dir, file, quota = "/sys/fs/cgroup/"+name, "cpu.max", "20000 100000"
	}
	group(t, dir)
	if err := os.WriteFile(dir+"/"+file, []byte(quota), 0o600); err != nil {
		t.Fatalf("set a CPU quota: %v", err)
	}
	enter := "echo $$ >" + dir + "/cgroup.procs;"
	// Version 1 may count usage in a hierarchy of its own.
	if usage := "/sys/fs/cgroup/cpuacct"; !exists(dir+"/cpu.stat", "usage_usec") && exists(usage+"/cpuacct.usage", "") && !exists(usage+"/"+name+"/cpuacct.usage", "") {
		group(t, usage+"/"+name)
		enter += "echo $$ >" + usage + "/" + name + "/cgroup.procs;"
	}
	nginx := servers.Nginx(t)
	r := measure(t, enter, nil, "http", "-c", "50", "--rate", "3000", "-d", "4s", nginx.URL+"/")
	disbelieved(t, r, "throttled")
	for _, m := range r.Metrics {
		if m.Title == "gobench.cpu_quota" && m.Sizes != nil && m.Sizes.Max > 500 {
			return
		}
	}
	t.Error("no second of the run used more than half of the quota")
}

// exists tells whether a file exists and has a text.
func exists(name, text string) bool {
	b, err := os.ReadFile(name)
	return err == nil && strings.Contains(string(b), text)
}

// group makes a cgroup, which goes with the test.
func group(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("make a cgroup: %v (run the tests as root: sudo make test)", err)
	}
	t.Cleanup(func() {
		err := os.Remove(dir)
		for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); err = os.Remove(dir) {
			time.Sleep(10 * time.Millisecond) // the kernel lets go of what has ended
		}
		if err != nil {
			t.Error(err)
		}
	})
}
