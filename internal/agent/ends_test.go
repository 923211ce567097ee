//go:build linux

package agent_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// small mounts a disk of a size.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a small disk (the test needs to be root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// F1, F3, F4, F45, F48: how executors end is delivered, with all that they counted
// before, and nothing of them is left.
func TestHowExecutorsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scenario string
		do             func(*host, *wire.Hello) // once the load runs
		cause, how     string
		output         string
	}{
		{"exits", "exit 3", nil, process.CauseExit, "exited with status 3", ""},
		{"a goroutine of its own panics", "goroutine panics", nil, process.CauseExit, "exited with status 2", "panic: own goroutine"},
		{"killed", "long", kill(syscall.SIGKILL), process.CauseSignal, "was killed by signal 9", ""},
		{"told to end", "long", kill(syscall.SIGTERM), process.CauseSignal, agentpb.BySignal, ""},
		{"crashes", "long", kill(syscall.SIGSEGV), process.CauseExit, "exited with status 2", "SIGSEGV"},
		{"stopped", "long", func(h *host, _ *wire.Hello) { h.must(stopRun()) }, process.CauseExit, "", ""},
		{"cancelled", "long", func(h *host, _ *wire.Hello) { h.must(cancelRun()) }, agent.CauseCancelled, "", ""},
		{"cancelled, and its user never ends", "heedless", func(h *host, _ *wire.Hello) { h.must(cancelRun()) }, agent.CauseCancelled, "", ""},
		{"released", "heedless", func(h *host, _ *wire.Hello) { h.must(release()) }, agent.CauseCancelled, "", ""},
		{"closes its output", "closes its output", nil, process.CauseExit, "", ""},
		{"leaves a child with its output", "grandchild", nil, process.CauseExit, "", ""},
		{"leaves daemons", "daemons", func(h *host, _ *wire.Hello) {
			h.until("two daemons are there", func() bool {
				text, _ := printed(h.t, h.of(aRun), 0)
				return strings.Count(text, "daemon ") == 2 && strings.HasSuffix(text, "\n")
			})
			h.must(cancelRun())
		}, agent.CauseCancelled, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, agent.Options{})
			hellos := h.load(tt.scenario, 1)
			if tt.do != nil {
				h.until("the load goes on", func() bool {
					for _, d := range h.of(aRun) {
						if batch(d) != nil {
							return true
						}
					}
					return false
				})
				tt.do(h, hellos[0])
			}
			all := h.over()
			e := ended(all)[0]
			if e.Cause != tt.cause || !strings.Contains(e.How, tt.how) || !strings.Contains(string(e.Output), tt.output) || (e.Error == "") != (tt.how == "" && tt.name != "released") {
				t.Errorf("ended %v, want cause %s, how %s", e, tt.cause, tt.how)
			}
			text, _ := printed(t, all, 0)
			for line := range strings.Lines(text) {
				var pid int
				if n, _ := fmt.Sscanf(line, "daemon %d", &pid); n == 1 {
					processtest.Gone(t, pid)
				}
				if n, _ := fmt.Sscanf(line, "grandchild %d", &pid); n == 1 {
					processtest.Gone(t, pid)
				}
			}
			h.clean(hellos)
		})
	}
}

func kill(sig syscall.Signal) func(*host, *wire.Hello) {
	return func(_ *host, hello *wire.Hello) { _ = syscall.Kill(int(hello.Pid), sig) }
}

// F50, the agent's half: in each phase a cancel ends a run, all of it.
func TestCancelInEachPhase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		phase, scenario string
		to              func(*host) // brings the run there; what it calls may be cut off
	}{
		{"preparing", "short", func(h *host) {
			fetching := make(chan struct{})
			h.spoil = func(_ int64, b []byte) ([]byte, error) {
				close(fetching)
				time.Sleep(200 * time.Millisecond)
				return b, nil
			}
			go h.command(h.prepare("no hello", 2))
			<-fetching
		}},
		{"preparing", "no hello", func(h *host) {
			go h.command(h.prepare("no hello", 2))
			h.until("its processes are there", func() bool {
				b := h.lastBeat()
				return b != nil && len(b.Processes) == 2
			})
		}},
		{"prepared", "long", func(h *host) { h.must(h.prepare("long", 2)) }},
		{"preparing or prepared", "setup hangs", func(h *host) {
			hellos := h.must(h.prepare("setup hangs", 2)).Hellos
			go h.command(arm(hellos, 0))
		}},
		{"armed", "long", func(h *host) { h.must(arm(h.must(h.prepare("long", 2)).Hellos, 0)) }},
		{"waiting to begin", "long", func(h *host) {
			h.must(arm(h.must(h.prepare("long", 2)).Hellos, 0))
			h.must(begin(time.Now().Add(30*time.Second), 0))
		}},
		{"running", "long", func(h *host) { h.load("long", 2) }},
		{"stopping", "heedless", func(h *host) { h.load("heedless", 2); h.must(stopRun()) }},
		{"over", "short", func(h *host) { h.load("short", 2); h.over() }},
	} {
		t.Run(tt.phase+" "+tt.scenario, func(t *testing.T) {
			t.Parallel()
			h := start(t, agent.Options{})
			tt.to(h)
			h.must(cancelRun())
			h.until("the run is over", func() bool {
				b := h.lastBeat()
				return b != nil && (b.Phase == "over" || b.Run == "") && b.Count > 1
			})
			h.must(release())
			h.clean(nil)
			if len(h.of(aRun)) > 0 {
				all := h.over()
				for n, e := range ended(all) {
					if e.Cause != agent.CauseCancelled && tt.phase != "over" && tt.phase != "stopping" {
						t.Errorf("executor %d: %v", n, e)
					}
				}
			}
			h.must(&agentpb.Command{Run: aRun, Epoch: 2, What: h.prepare("short", 1).What}) // it is free
			h.must(&agentpb.Command{Run: aRun, Epoch: 2, What: release().What})
		})
	}
}

func (b *fakeBus) lastBeat() *agentpb.Beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.beats) == 0 {
		return nil
	}
	return b.beats[len(b.beats)-1]
}

// Setups that fail, and processes that die while they are set up, are Arm's error.
func TestArmFails(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.must(h.prepare("setup fails", 2)).Hellos
	if answer := h.command(arm(hellos, 0)); answer.Code != "scenario" || !strings.Contains(answer.Error, "no database") {
		t.Errorf("answer %v", answer)
	}
	for n, e := range ended(h.over()) {
		if e.Cause != agent.CauseScenario {
			t.Errorf("executor %d: %v", n, e)
		}
	}
	h.clean(hellos)
}

// F30: an executor that the kernel kills because it is out of memory has that cause.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{Memory: 128 << 20})
	if level := h.level(); level != 2 {
		t.Fatalf("isolation level %d: the test needs root and a control group for memory", level)
	}
	hellos := h.load("out of memory", 1)
	all := h.over()
	if e := ended(all)[0]; e.Cause != agent.CauseOOM {
		t.Errorf("ended %v", e)
	}
	h.clean(hellos)
}

// level is the agent's isolation level.
func (h *host) level() uint32 {
	h.t.Helper()
	h.until("a beat comes", func() bool { return h.lastBeat() != nil })
	return h.lastBeat().Hello.Isolation
}
