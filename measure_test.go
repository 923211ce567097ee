package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// plain builds gobench as its users have it: the tests themselves may run under the
// race detector, which would be what they measure.
var plain = sync.OnceValues(func() (string, error) {
	path := filepath.Join(plainDir, "gobench")
	cmd := exec.Command("go", "build", "-race=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gobench: %w\n%s", err, out)
	}
	return path, nil
})

// plainDir is made and removed by TestMain.
var plainDir string

// withPlainDir is testing.M with a plainDir.
type withPlainDir struct{ *testing.M }

func (m withPlainDir) Run() int {
	var err error
	if plainDir, err = os.MkdirTemp("", "gobench-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(plainDir)
	return m.M.Run()
}

// measured is a run of the plain gobench: its result, what the machine did meanwhile,
// and the most memory that its executor had.
type measured struct {
	*run.Result
	host *witness
	peak int64 // bytes
}

// measure starts the plain gobench with args by a shell, after the shell's own
// commands, calls during while it makes load, and gives what came of it.
func measure(t *testing.T, before string, during func(gobench int), args ...string) *measured {
	t.Helper()
	gobench, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	args = append([]string{"-c", before + ` exec "$0" "$@"`, gobench, "--dir", dir}, append(args, "-q", "-o", out)...)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), "GOBENCH_NO_WARM=1") // nothing outlives it
	var text, said strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &measured{host: newWitness(t, cmd.Process.Pid)}
	if during != nil {
		waitForLoad(t, dir)
		during(cmd.Process.Pid)
	}
	err = cmd.Wait()
	m.peak = m.host.end()
	if err != nil {
		t.Fatalf("gobench: %v\n%s%s", err, said.String(), text.String())
	}
	m.Result = readResult(t, out)
	if first, _, _ := strings.Cut(strings.TrimSpace(text.String()), "\n"); m.Verdict != run.Valid && !strings.HasPrefix(first, string(m.Verdict)) {
		t.Errorf("the report begins %q, the verdict is %s", first, m.Verdict)
	}
	return m
}

// times gives a distribution of a result, in milliseconds.
func (m *measured) times(t *testing.T, title string) *run.Times {
	t.Helper()
	for _, x := range m.Metrics {
		if x.Title == title && x.Times != nil {
			return x.Times
		}
	}
	t.Fatalf("there are no times of %s", title)
	return nil
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

// childOf gives the process's one child; any of its threads may have started it.
func childOf(pid int) (int, error) {
	var all []string
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			all = append(all, strings.Fields(string(b))...)
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("process %d has no child", pid)
	}
	return strconv.Atoi(all[0])
}
