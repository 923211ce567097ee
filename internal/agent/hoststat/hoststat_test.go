//go:build unix

package hoststat

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

func TestHost(t *testing.T) {
	w := New(t.TempDir())
	var h *agentpb.Host
	for end := time.Now().Add(10 * time.Second); ; { // work until the kernel has counted some
		h = w.Host()
		if h.Cpu > 0 || time.Now().After(end) {
			break
		}
	}
	if h.Cpu <= 0 || h.Cpu > 1 || h.CpuSteal < 0 || h.CpuSteal > 1 || h.MemoryTotal < 1<<20 || h.MemoryAvailable <= 0 || h.MemoryAvailable > h.MemoryTotal ||
		h.DiskFree <= 0 || h.NetIn < 0 || h.NetOut < 0 || h.DiskRead < 0 || h.DiskWrite < 0 {
		t.Errorf("host %v", h)
	}
	if runtime.GOOS == "linux" && (h.Sockets <= 0 || h.Files <= 0) {
		t.Errorf("sockets %d, files %d", h.Sockets, h.Files)
	}
}

// Files that are opened, memory that is used and work that is done show.
func TestProcess(t *testing.T) {
	w := New(t.TempDir())
	first := time.Now()
	before := w.Process(os.Getpid())
	second, used := time.Now(), usedCPU(t)
	for range 100 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	for usedCPU(t) < used+300*time.Millisecond { // a slow host takes longer for it
	}
	third := time.Now()
	now := w.Process(os.Getpid())
	used = usedCPU(t) - used
	least, most := 0.8*used.Seconds()/time.Since(first).Seconds(), 1.2*used.Seconds()/third.Sub(second).Seconds() // it counts ticks of 10 ms
	if now.Files < before.Files+100 || now.Memory < 1<<20 || now.Threads < 1 || now.Cpu < least || now.Cpu > most {
		t.Errorf("before %v, now %v, want a CPU of %v to %v", before, now, least, most)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if p := w.Process(cmd.Process.Pid); p != nil {
		t.Errorf("one that has ended: %v", p)
	}
}

// usedCPU returns the CPU time of this process.
func usedCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestShares(t *testing.T) {
	before := cpu.TimesStat{User: 10, System: 5, Idle: 100, Steal: 1}
	now := cpu.TimesStat{User: 11, System: 6, Idle: 101, Steal: 2}
	if use, steal := shares(before, now); use != 0.75 || steal != 0.25 {
		t.Errorf("use %v, steal %v", use, steal)
	}
	if use, steal := shares(now, now); use != 0 || steal != 0 {
		t.Errorf("in no time: use %v, steal %v", use, steal)
	}
}

func TestHello(t *testing.T) {
	var h agentpb.Hello
	Hello(&h)
	if h.Os != runtime.GOOS || h.Arch != runtime.GOARCH || int(h.Cpus) != runtime.NumCPU() || h.Memory == 0 || h.Name == "" || h.Kernel == "" {
		t.Errorf("hello %v", &h)
	}
}

// The speed of a device is that of sysfs; it is unknown without one, or as -1.
func TestLinkSpeed(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"fast": "25000\n", "unknown": "-1\n", "odd": "fast\n"} {
		dir := filepath.Join(root, "class/net", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "speed"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{"fast": 25000, "unknown": 0, "odd": 0, "missing": 0} {
		if got := speedOf(root, name); got != want {
			t.Errorf("%s: %d Mbit/s, want %d", name, got, want)
		}
	}
	for _, address := range []string{"", "127.0.0.1", "203.0.113.7", "x"} {
		if got := linkOf(address); got != 0 {
			t.Errorf("%q: %d Mbit/s, want 0", address, got)
		}
	}
}
