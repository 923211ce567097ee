//go:build linux

package agent_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/agent/sandbox"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// interval is the time between the batches of these tests' executors.
const interval = 50 * time.Millisecond

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// quick are Times for tests: short intervals, and timeouts that a busy host does not reach.
func quick() agent.Times {
	t := agent.DefaultTimes()
	t.Beat, t.Watch, t.Output = 50*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	t.Stall, t.Stop, t.Resend, t.Send = patience, patience, patience, patience
	t.Process = t.Process.Scale(10)
	t.Process.Output = 200 * time.Millisecond
	return t
}

// TestMain: this test binary is also the sandbox's helper, an agent, and the executors.
func TestMain(m *testing.M) {
	sandbox.Main()
	if dir := os.Getenv(agentEnv); dir != "" {
		agentProcess(dir)
	}
	processtest.Main()
	os.Exit(run(m))
}

// run builds the executor and runs the tests, many at once, since they wait.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "executor")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path, err := processtest.Build(dir)
	if err == nil {
		err = errors.Join(os.Setenv(executorEnv, path), flag.Set("test.parallel", "12"))
	}
	if err != nil {
		panic(err)
	}
	return m.Run()
}

// agentProcess is an agent in a separate process, without a master: it runs the scenario of
// the environment, renews its lease, and prints its deliveries and its processes. Without a
// scenario it only delivers.
func agentProcess(dir string) {
	bus := newBus()
	bus.commits.Store(os.Getenv(commitEnv) != "")
	a := agent.New(agent.Options{Dir: dir, Work: os.Getenv(workEnv), Bus: bus, ID: "A1", Times: quick(), Ledgers: os.Getenv(ledgersEnv)})
	go func() {
		<-bus.ready
		fmt.Println("ready")
		seen := 0
		go func() {
			for ; ; time.Sleep(10 * time.Millisecond) {
				all := bus.of(aRun)
				for _, d := range all[seen:] {
					what := fmt.Sprintf("%T", d.What)
					fmt.Printf("delivery %d %s %s %v\n", d.Number, strings.TrimPrefix(what, "*agentpb.Delivery_"), d.GetEnded().GetHow(), batch(d).GetSeq())
				}
				seen = len(all)
			}
		}()
		name := os.Getenv(loadEnv)
		if name == "" {
			return
		}
		answer := bus.command(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Prepare{Prepare: &agentpb.Prepare{
			Executor: bus.executor(), Env: []string{processtest.Env(name), processtest.ListenEnv + "=" + os.Getenv(processtest.ListenEnv)}, Processes: 2}}})
		if answer.Error != "" {
			panic(answer.Error)
		}
		for _, h := range answer.Hellos {
			fmt.Println("executor", h.Pid)
		}
		bus.command(arm(answer.Hellos, 0))
		lease := 2 * time.Second
		bus.command(begin(time.Now(), lease))
		for ; ; time.Sleep(200 * time.Millisecond) {
			bus.command(renew(lease))
		}
	}()
	if err := a.Run(context.Background()); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is such a process, and the lines that it printed.
type child struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	out []string
}

func (c *child) lines(prefix string) (found []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.out {
		if rest, ok := strings.CutPrefix(l, prefix+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

func spawn(t *testing.T, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.mu.Lock()
			c.out = append(c.out, s.Text())
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-read
		_ = c.cmd.Wait() // it was killed
	})
	return c
}

func wait(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

func pids(lines []string) (all []int) {
	for _, l := range lines {
		var pid int
		if _, err := fmt.Sscan(l, &pid); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// work makes a folder for runs' private folders.
func work(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}
