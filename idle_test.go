package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/servers"
)

// gobench alone is a master with an agent, at the ports that its help names, and says on
// a terminal in plain text where its first user is made.
func TestAlone(t *testing.T) {
	servers.OwnNetwork(t, func(t *testing.T) {
		s := onScreen(t, 240, 40, nil, "gobench", "--dir", t.TempDir())
		s.sees("level=INFO", `msg="gobench is ready"`, "api=http://127.0.0.1:8080/", "agents=127.0.0.1:8081", "http://127.0.0.1:8080/#setup=", "state=ready")
		s.types("\x03")
		s.sees("ending: cancelling the run that is active")
		s.exits(0)
	})
}

// What a master with its agent may use while nothing runs: 60 MB and 1 % of a CPU, here
// with room for a machine that does other things.
const (
	idleMemory = 60 << 20 // bytes, resident
	idleCPU    = 0.03     // CPUs
	idleTime   = 6 * time.Second
)

func TestIdle(t *testing.T) {
	gobench, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(gobench, "--dir", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0", "--agent-addr", "127.0.0.1:0", "--cache", filepath.Join(dir, "cache"))
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOBENCH_NO_WARM=1"), log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with: %v", err)
		}
	}()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if b, err := os.ReadFile(log.Name()); err == nil && strings.Contains(string(b), `"state":"ready"`) {
			break
		}
		if time.Now().After(end) {
			b, _ := os.ReadFile(log.Name())
			t.Fatalf("no agent was ready:\n%s", b)
		}
	}
	began, before := time.Now(), cpuTime(t, cmd.Process.Pid)
	<-time.After(idleTime)
	cpu := (cpuTime(t, cmd.Process.Pid) - before).Seconds() / time.Since(began).Seconds()
	memory := resident(t, cmd.Process.Pid)
	t.Logf("idle: %.1f MB resident, %.2f %% of a CPU", float64(memory)/(1<<20), 100*cpu)
	if memory > idleMemory {
		t.Errorf("%.1f MB are resident, want %d MB at most", float64(memory)/(1<<20), idleMemory>>20)
	}
	if cpu > idleCPU {
		t.Errorf("%.2f %% of a CPU are used, want %.0f %% at most", 100*cpu, 100*idleCPU)
	}
}

// cpuTime is what a process has used so far.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatal("no threads: ", err)
	}
	var all time.Duration
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += time.Duration(ns)
	}
	return all
}

// resident is the memory of a process in RAM, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
