package scripts

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/equations"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// TestEquations: nothing vanishes, whatever the target does and however the run ends.
func TestEquations(t *testing.T) {
	for seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			choose := rand.New(rand.NewPCG(uint64(seed), 14))
			one := func(of ...string) string { return of[choose.IntN(len(of))] }
			target := equations.NewTarget(t, choose)
			dir := t.TempDir()
			out := filepath.Join(dir, "r.json")
			load := equations.Loads[choose.IntN(len(equations.Loads))]
			users := 1 + choose.IntN(20)
			flags := fmt.Sprintf("-c %d %s --timeout 1500ms --interval 100ms %s", users, load.Flags, one("", "--resend", "--graceful-stop 200ms"))
			end := one("Ctrl-C", "Ctrl-C twice", "SIGTERM", "SIGKILL", "itself", "itself", "itself", "itself")
			cmd := binary.Command(t, append(append([]string{"--dir", dir, "http", "-q", "-o", out}, strings.Fields(flags)...), target.URL)...)
			var printed strings.Builder
			cmd.Stdout, cmd.Stderr = &printed, &printed
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			endLoad(t, cmd, target, end, time.Duration(choose.IntN(900))*time.Millisecond)
			_ = cmd.Wait() // the result says how it ended
			what := fmt.Sprintf("seed %d, %s, ended by %s", seed, flags, end)
			if _, err := os.Stat(out); err != nil {
				t.Fatalf("%s left no result:\n%s", what, printed.String())
			}
			starts := load.Starts
			if end != "itself" {
				starts = 0
			}
			r := equations.Check(t, out, target, starts, int64(users), what)
			if killed := end == "SIGKILL" && r.State == run.Failed; r.Complete == killed {
				t.Errorf("%s: complete %v, missing %q", what, r.Complete, r.Missing)
			}
		})
	}
}

// seeds returns the number of random runs of TestEquations: -equations, or that of make test or
// make test-long.
func seeds() int {
	switch {
	case *equationSeeds > 0:
		return *equationSeeds
	case long.Run:
		return 100
	}
	return 30
}

var equationSeeds = flag.Int("equations", 0, "how many random runs TestEquations makes; 0: as make test and make test-long do")

// endLoad ends a run in one of the ways of TestEquations once its load has reached the target: by
// Ctrl-C, or by a signal to its executor after a while.
func endLoad(t *testing.T, cmd *exec.Cmd, target *equations.Target, how string, after time.Duration) {
	t.Helper()
	if how == "itself" {
		return
	}
	target.Await(t)
	send := func(p *os.Process, s os.Signal) {
		if err := p.Signal(s); err != nil {
			t.Log(err) // it has ended meanwhile
		}
	}
	switch how {
	case "Ctrl-C":
		send(cmd.Process, os.Interrupt)
	case "Ctrl-C twice":
		send(cmd.Process, os.Interrupt)
		time.Sleep(300 * time.Millisecond) // between two presses of a key
		send(cmd.Process, os.Interrupt)
	default:
		time.Sleep(after) // into the load
		for _, p := range children(t, cmd.Process.Pid) {
			send(p, map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL}[how])
		}
	}
}

// children returns the processes that a process has started and that have not ended.
func children(t *testing.T, pid int) (all []*os.Process) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		b, _ := os.ReadFile(thread) // the thread may have ended
		for _, field := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			p, err := os.FindProcess(child)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}
