//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// as is a job that plays the given child; see TestMain.
func as(child string) job {
	return job{args: []string{os.Args[0]}, env: []string{"BENCH_CHILD=" + child}, limit: time.Minute}
}

// TestMeasureTree: a child that uses 200 ms and waits for a grandchild that
// uses 300 ms and 64 MiB.
func TestMeasureTree(t *testing.T) {
	t.Parallel()
	u, err := measure(t.Context(), as("burn"))
	if err != nil {
		t.Fatal(err)
	}
	// Each runs for a step beyond its time, and starting takes some time too.
	if u.cpu < 500*time.Millisecond || u.cpu > 10*time.Second {
		t.Errorf("cpu = %v, want 500ms and little more", u.cpu)
	}
	if u.wall < u.cpu-50*time.Millisecond {
		t.Errorf("wall = %v, less than the %v of CPU that one thread used", u.wall, u.cpu)
	}
	if u.rss < 64<<20 || u.rss > 300<<20 {
		t.Errorf("peak memory = %d MiB, want 64 and little more", u.rss>>20)
	}
	if u.exit != 0 {
		t.Errorf("exit = %d", u.exit)
	}
	// The grandchild was started last; the samples miss the end of its CPU time.
	if g := u.last; g.peak < 64<<20 || g.peak > 300<<20 || g.settled() <= 0 || g.settled() > g.peak {
		t.Errorf("the last process had %d MiB at most and %d in the end, want 64 and little more", g.peak>>20, g.settled()>>20)
	}
	if g := u.last; g.cpu < 200*time.Millisecond || g.cpu > u.cpu-150*time.Millisecond {
		t.Errorf("the last process used %v of %v, want 300ms of 500ms", g.cpu, u.cpu)
	}
	if u.top <= 0 || u.top >= u.last.peak {
		t.Errorf("the command's own memory is %d MiB at most", u.top>>20)
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	if got := (child{rss: []int64{1, 2, 90, 8, 7, 9}}).settled(); got != 8 {
		t.Errorf("settled = %d, want the median of 8, 7 and 9", got)
	}
	at := func(s, cpu int) cpuSample {
		return cpuSample{time.Unix(int64(s), 0), time.Duration(cpu) * time.Second}
	}
	if got := (child{used: []cpuSample{at(0, 0), at(1, 5), at(1, 9), at(2, 10), at(6, 12), at(7, 20)}}).steady(); got != 0.5 {
		t.Errorf("steady = %v CPUs, want 2 s in 4", got)
	}
	if got := (child{}).steady(); got != 0 {
		t.Errorf("steady = %v without samples", got)
	}
	if got := (child{}).settled(); got != 0 {
		t.Errorf("settled = %d without samples", got)
	}
}

func TestMeasureServer(t *testing.T) {
	t.Parallel()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "BENCH_CHILD=burn long")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	j := as("burn big")
	j.server = []int{server.Process.Pid}
	before := cpuTime(j.server)
	u, err := measure(t.Context(), j)
	after := cpuTime(j.server)
	if err != nil {
		t.Fatal(err)
	}
	if u.server <= 0 || u.server > after-before {
		t.Errorf("server's CPU = %v, want some of %v", u.server, after-before)
	}
	// The client's own time is not included: both had at most the time of one CPU.
	if u.server > u.wall+50*time.Millisecond {
		t.Errorf("server's CPU = %v in %v", u.server, u.wall)
	}
}

// TestMeasureOthers: work of other processes than the job's and its server's is measured.
func TestMeasureOthers(t *testing.T) {
	t.Parallel()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "BENCH_CHILD=burn long")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	u, err := measure(t.Context(), as("burn"))
	if err != nil {
		t.Fatal(err)
	}
	if u.others < 0.2 {
		t.Errorf("others = %.2f CPUs beside a process that takes what it can get", u.others)
	}
}

func TestMeasurePinned(t *testing.T) {
	t.Parallel()
	cpus := allowedCPUs()
	if len(cpus) == 0 {
		t.Fatal("no CPU allowed")
	}
	last := cpus[len(cpus)-1:]
	j := as("where")
	j.cpus = last
	u, err := measure(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(u.stdout)), strconv.Itoa(last[0]); got != want {
		t.Errorf("child may use CPUs %s, want %s", got, want)
	}
	// Our own affinity has not changed, on the threads that tests run on too.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if u, err = measure(t.Context(), as("where")); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(u.stdout)); len(cpus) > 1 && got == strconv.Itoa(last[0]) {
		t.Errorf("the next child, not pinned, may use only CPU %s", got)
	}
}

func TestMeasureFailures(t *testing.T) {
	t.Parallel()
	t.Run("a bad end", func(t *testing.T) {
		t.Parallel()
		u, err := measure(t.Context(), as("complain"))
		var f *failure
		if !errors.As(err, &f) || u.exit != 3 {
			t.Fatalf("exit %d, error %v; want 3 and a failure", u.exit, err)
		}
		for _, want := range []string{os.Args[0], "exit status 3", "the disk is full"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not say %q", err, want)
			}
		}
	})
	t.Run("no such program", func(t *testing.T) {
		t.Parallel()
		_, err := measure(t.Context(), job{args: []string{"no-such-program"}, limit: time.Minute})
		if !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("over its limit", func(t *testing.T) {
		t.Parallel()
		j := as("sleep")
		j.limit = 200 * time.Millisecond
		u, err := measure(t.Context(), j)
		if err == nil || !strings.Contains(err.Error(), "stopped after 200ms") || u.wall > time.Minute {
			t.Errorf("error = %v after %v", err, u.wall)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		if _, err := measure(ctx, as("sleep")); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("a process left behind", func(t *testing.T) {
		t.Parallel()
		u, err := measure(t.Context(), as("orphan"))
		if err == nil || !strings.Contains(err.Error(), "left processes running") {
			t.Fatalf("error = %v", err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(u.stdout)))
		for deadline := time.Now().Add(time.Minute); startTime(pid) != 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d lives on", pid)
			}
		}
	})
}

// TestMeasureLeavesNoFiles: what a command prints is in files meanwhile.
func TestMeasureLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if _, err := measure(t.Context(), as("where")); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	n, _ := out.Read(buf)
	child, _ := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	defer func() {
		if p, err := os.FindProcess(child); err == nil {
			p.Kill()
		}
		cmd.Wait()
	}()
	got := descendants(cmd.Process.Pid)
	if len(got) != 2 || got[0] != cmd.Process.Pid || got[1] != child {
		t.Errorf("descendants = %v, want %d and %d", got, cmd.Process.Pid, child)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until the child has executed its program
		rss, pss := residentBytes(child), proportionalBytes(child)
		if 0 < pss && pss <= rss {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("rss %d, pss %d", rss, pss)
		}
	}
}
