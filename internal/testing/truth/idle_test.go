//go:build linux

package truth

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// A master with its agent uses at most 60 MB and 1 % of a CPU while nothing runs. The test
// allows 3 % of a CPU over some seconds; the short form allows 20 %, as its second may follow the
// start too closely.
func TestIdle(t *testing.T) {
	t.Parallel()
	const idleMemory = 60 << 20 // bytes, resident
	idleTime, idleCPU := time.Second, 0.2
	if long.Run {
		idleTime, idleCPU = 6*time.Second, 0.03
	}
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := binary.Command(t, "--dir", filepath.Join(dir, "data"), "serve", "--addr", "127.0.0.1:0", "--agent-addr", "127.0.0.1:0", "--cache", filepath.Join(dir, "cache"))
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("gobench ended with: %v", err)
		}
	}()
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
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

// cpuTime returns the CPU time that a process has used so far.
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

// resident returns the resident memory of a process, in bytes.
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
