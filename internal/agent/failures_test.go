//go:build linux

package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// A batch is larger than the bus takes, because of samples and texts of failures: its counts
// are delivered, with as many of those as there is room for, and the report says so.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.must(h.prepare("failures", 1)).Hellos
	c := arm(hellos, 0)
	c.GetArm().Starts[0].IntervalNs = int64(time.Minute) // all is in one batch
	h.must(c)
	h.must(begin(time.Now(), 0))
	all := h.over()
	if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing", missing)
	}
	var failures int64
	samples := 0
	for _, d := range all {
		for _, f := range batch(d).GetFailures() {
			failures += f.Count
		}
		samples += len(batch(d).GetSamples())
	}
	if failures != 2000 {
		t.Errorf("%d failures", failures)
	}
	if text := notes(all); samples == 0 || !strings.Contains(text, fmt.Sprintf("missing are %d samples of failures", 300-samples)) {
		t.Errorf("%d samples; notes:\n%s", samples, text)
	}
	if e := ended(all)[0]; e.Error != "" {
		t.Errorf("ended %v", e)
	}
	h.clean(hellos)
}

// stopped reports whether a signal has stopped all threads of a process: kill returns before.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if _, state, _ := strings.Cut(string(stat), ") "); err != nil || !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// An executor that is stopped does not answer, and the commands behind it do not wait for it.
func TestControlOfAStoppedExecutor(t *testing.T) {
	t.Parallel()
	times := quick()
	times.Process.Control = time.Second
	h := start(t, agent.Options{Times: times})
	hellos := h.load("long", 1)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	pid := int(hellos[0].Pid)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	h.until("all its threads are stopped", func() bool { return stopped(pid) })
	answer := h.command(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Control{Control: &wire.Control{What: wire.Pause}}})
	if !strings.Contains(answer.Error, "does not answer") {
		t.Errorf("answer %v", answer)
	}
	h.must(release())
	h.clean(hellos)
}
