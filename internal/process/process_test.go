package process_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
)

// parentEnv makes this test binary the parent of an executor.
const parentEnv = "PROCESS_TEST_PARENT"

// TestMain: this test binary is also the executors that it tests, and the parent of one.
func TestMain(m *testing.M) {
	processtest.Main()
	if name := os.Getenv(parentEnv); name != "" {
		err := process.New(spec(name, new(tally))).Run(context.Background())
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait for processes
		panic(err)
	}
	os.Exit(m.Run())
}

// tally takes what an executor sends.
type tally struct {
	mu      sync.Mutex
	merger  *merge.Merger
	batches int
	hello   *wire.Hello
	started chan struct{} // closed when the load begins
	out     strings.Builder
}

func (t *tally) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(b)
}

func (t *tally) output() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()
}

const interval = 100 * time.Millisecond

// patient are timeouts that a busy host does not reach.
func patient() process.Times {
	times := process.DefaultTimes().Scale(10)
	times.Output = 200 * time.Millisecond
	return times
}

func spec(name string, t *tally) process.Spec {
	t.merger = merge.New(1, interval)
	t.started = make(chan struct{})
	return process.Spec{
		Path: os.Args[0], Times: patient(), Env: []string{processtest.Env(name), parentEnv + "=", "EXTRA=given"}, Log: t,
		Plan: func(h *wire.Hello) (*wire.Start, error) {
			t.hello = h
			start := &wire.Start{IntervalNs: int64(interval), GracefulNs: int64(2 * time.Second)}
			for _, c := range h.Classes {
				start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations})
			}
			return start, nil
		},
		Started: func() { close(t.started) },
		Batch: func(b *wire.Batch) error {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.batches++
			return t.merger.Add(0, b)
		},
	}
}

func (t *tally) total(title string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.merger.Metrics() {
		if m.Title == title {
			return *m.Count
		}
	}
	return -1
}

// until polls f; it may be called by any goroutine.
func until(t *testing.T, what string, f func() bool) {
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not in 30 s: %s", what)
			return
		}
	}
}

func TestRunToTheEnd(t *testing.T) {
	t.Parallel()
	got := new(tally)
	if err := process.New(spec("short", got)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := got.total("ticks"); n != 15 || got.merger.Missing() != nil || got.hello.Protocol != wire.Protocol || got.hello.Classes[0].Name != "ticks" {
		t.Errorf("ticks = %d, missing %v, hello %v", n, got.merger.Missing(), got.hello)
	}
}

func TestStopDrainsAndCancelEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process.Process){"stop": (*process.Process).Stop, "cancel": (*process.Process).Cancel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(tally)
			e := process.New(spec("long", got))
			go func() {
				<-got.started
				until(t, "it counts", func() bool { return got.total("ticks") >= 5 })
				end(e)
			}()
			if err := e.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := got.total("ticks"); n < 5 || got.merger.Missing() != nil {
				t.Errorf("ticks = %d, missing %v", n, got.merger.Missing())
			}
		})
	}
}

// F1, F3, F43, F44, F45: how an executor's end is reported.
func TestHowItEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want []string // in the error
		out  string   // in the error's output
		is   error
	}{
		{"exit 3", []string{"exited with status 3"}, "", nil},
		{"goroutine panics", []string{"exited with status 2"}, "panic: own goroutine", nil},
		{"no hello", []string{"did not say hello in 500ms", "init function"}, "", nil},
		{"no classes", []string{"export() returned no classes"}, "", process.ErrScenario},
		{"setup fails", []string{"setup of class ticks: no database"}, "", process.ErrScenario},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := spec(tt.name, new(tally))
			if tt.name == "no hello" {
				s.Times.Start = 500 * time.Millisecond
			}
			err := process.New(s).Run(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			var dead *process.DeadError
			if tt.is == nil && (!errors.As(err, &dead) || !strings.Contains(string(dead.Output), tt.out)) {
				t.Errorf("error %#v lacks the output %q", err, tt.out)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
		})
	}
}

func TestCancelBeforeTheLoad(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no hello", "setup hangs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := process.New(spec(name, new(tally)))
			time.AfterFunc(300*time.Millisecond, e.Cancel)
			if err := e.Run(t.Context()); !errors.Is(err, process.ErrCancelled) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A second stop is a cancel: users that return to nothing are left behind, and the
// last batch still comes.
func TestUsersThatNeverReturn(t *testing.T) {
	t.Parallel()
	got := new(tally)
	e := process.New(spec("heedless", got))
	go func() {
		<-got.started
		until(t, "the user runs", func() bool { return got.output() != "" })
		e.Cancel()
	}()
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got.merger.Interrupted()["f"] != 1 {
		t.Errorf("interrupted %v", got.merger.Interrupted())
	}
}

// I9: the executor's children end with it, and do not hold up its end.
func TestGrandchildrenEndToo(t *testing.T) {
	t.Parallel()
	got := new(tally)
	if err := process.New(spec("grandchild", got)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(got.output(), "grandchild ")
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("output %q", got.output())
	}
	processtest.Gone(t, pid)
}

func TestTheExecutorKnowsItsEnvironment(t *testing.T) {
	t.Parallel()
	got := new(tally)
	if err := process.New(spec("environment", got)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got.output() != `socket="" extra="given"` {
		t.Errorf("output %q: the socket's name is not for the scenario's children", got.output())
	}
}

// The parent dies, the executor dies: at once, whatever it is doing.
func TestTheExecutorDiesWithItsParent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"long", "heedless"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), parentEnv+"="+name)
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			child := childOf(t, parent.Process.Pid)
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // it was killed
			processtest.Gone(t, child)
		})
	}
}

// childOf waits for pid's first child that has attached and runs.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, task := range tasks {
			b, _ := os.ReadFile(task)
			if child, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				return child
			}
		}
	}
	t.Fatal("the parent has started no executor")
	return 0
}

func TestTheEndOfCtxKills(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	got := new(tally)
	e := process.New(spec("heedless", got))
	go func() { <-got.started; cancel() }()
	if err := e.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	processtest.Gone(t, int(got.hello.Pid))
}

func TestNothingIsLeftInTheTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := process.New(spec("short", new(tally))).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
