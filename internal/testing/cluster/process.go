//go:build linux

package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/testing/binary"
)

// Process is a program on a host. Signal, Kill and Wait are of the process that Begin
// started last.
type Process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	Args []string
	host *Host
	env  []string
}

// Start starts gobench on the host, with entries of env added to the environment. It is
// killed at the test's end. What it prints goes to a file, which a test that fails shows but
// for the log's lines about requests.
func (h *Host) Start(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{Args: args, host: h, env: env, log: filepath.Join(t.TempDir(), h.Name+".log")}
	p.Begin(t)
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			var lines []string
			for line := range strings.Lines(p.Output(t)) {
				if !strings.Contains(line, `"msg":"request"`) { // of which tests make thousands
					lines = append(lines, line)
				}
			}
			t.Logf("%s %s:\n%s", h.Name, args, strings.Join(lines, ""))
		}
	})
	return p
}

// Begin starts the program with Args. Host.Start has called it: call it again only when the
// program has ended. Its output is appended. It does not wait until the program is ready.
func (p *Process) Begin(t testing.TB) {
	t.Helper()
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command("ip", slices.Concat([]string{"netns", "exec", p.host.Name}, p.host.Wrap, []string{binary.Gobench(t)}, p.Args)...)
	if p.host.here {
		p.cmd = exec.Command(binary.Gobench(t), p.Args...)
	}
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.WaitDelay = time.Second
	p.done = make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func(done chan struct{}) {
		defer close(done)
		_ = p.cmd.Wait() // how it ended is the test's to know
	}(p.done)
}

// Signal sends a signal to the program only, not to its children; to one that has ended,
// nothing.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill kills the program and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Wait waits for the program's end and returns its exit status, -1 if a signal ended it.
// After the limit it fails the test.
func (p *Process) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		t.Fatalf("%s still runs after %v", p.Args, limit)
		return -1
	}
}

// Pid is the program's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Output returns what it has printed so far, on both outputs, since Start, without white space
// around it.
func (p *Process) Output(t testing.TB) string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		t.Error(err)
	}
	return string(bytes.TrimSpace(b))
}

// Eventually calls f, with pauses of up to 100 ms, until it returns "", and fails the test
// with its last text after the limit. A call of f is not interrupted.
func Eventually(t testing.TB, limit time.Duration, f func() string) {
	t.Helper()
	why := ""
	pause := 10 * time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(pause) {
		if why = f(); why == "" {
			return
		}
		pause = min(pause*3/2, 100*time.Millisecond)
	}
	t.Fatalf("after %v: %s", limit, why)
}
