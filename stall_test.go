package main

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testenv"
)

// TestStall holds gobench against the truth: a real nginx under 2,000 requests a
// second is stopped for a second in the middle of ten. A tenth of the requests is due
// meanwhile and waits 0 to 1 s, so the 99th percentile of response times is the
// stop's length less a tenth of a second, and the greatest is its length. It runs
// alone, since it measures.
func TestStall(t *testing.T) {
	const rate, seconds = 2000, 10
	nginx := testenv.Nginx(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	cmd := exec.Command("gobench", "--dir", dir, "http", "-q", "-c", "50", "--rate", "2000", "-d", "10s", "-o", out, nginx.URL+"/")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForLoad(t, dir)
	time.Sleep(4500 * time.Millisecond)
	signal := func(sig syscall.Signal) time.Time {
		if err := syscall.Kill(nginx.Pid(), sig); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	stopped := signal(syscall.SIGSTOP)
	time.Sleep(time.Second)
	stall := signal(syscall.SIGCONT).Sub(stopped)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	r := new(run.Result)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	if n := total(r, "http.http_ok"); n != rate*seconds || total(r, "vu.http.planned") != rate*seconds || total(r, "vu.http.dropped") != 0 || len(r.Errors) != 0 {
		t.Errorf("%d answers to %d planned requests, errors %v; want %d", n, total(r, "vu.http.planned"), r.Errors, rate*seconds)
	}
	for _, m := range r.Metrics {
		if m.Title != "vu.http.response" {
			continue
		}
		p99 := float64(stall.Milliseconds()) - 100
		if off := m.Times.P99/p99 - 1; math.Abs(off) > 0.03 {
			t.Errorf("p99 of response times is %.1f ms, truth %.1f ms: off by %.1f %%", m.Times.P99, p99, off*100)
		}
		if truth := float64(stall.Milliseconds()); math.Abs(m.Times.Max/truth-1) > 0.03 {
			t.Errorf("greatest response time is %.1f ms, truth %.1f ms", m.Times.Max, truth)
		}
		// The verdict is the host's too: what else runs here decides on it.
		t.Logf("verdict %s, reasons %v", r.Verdict, r.Reasons)
		t.Logf("stall %v: p50 %.2f ms, p99 %.1f ms, max %.1f ms", stall, m.Times.P50, m.Times.P99, m.Times.Max)
	}
}

// waitForLoad waits until the one run kept below dir makes load.
func waitForLoad(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), `"state": "running"`) {
				return
			}
		}
	}
	t.Fatal("the run never began")
}
