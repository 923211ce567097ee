//go:build linux

package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// What can't be prepared is refused with its reason, and nothing is left of it: F37 to
// F39, F43, F44, B9.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	for _, tt := range []struct {
		name, scenario string
		change         func(*host, *agentpb.Command)
		code, want     string
	}{
		{"another architecture", "short", func(_ *host, c *agentpb.Command) { c.GetPrepare().Arch = other }, "platform", "built for /" + other},
		{"another system", "short", func(_ *host, c *agentpb.Command) { c.GetPrepare().Os = "plan9" }, "platform", "built for plan9/"},
		{"a damaged executor", "short", func(h *host, _ *agentpb.Command) {
			h.spoil = func(offset int64, b []byte) ([]byte, error) { b[len(b)/2] ^= 1; return b, nil }
		}, "digest", "digest is wrong"},
		{"a text for an executor", "short", func(h *host, c *agentpb.Command) { c.GetPrepare().Executor = h.put("", []byte("#!/bin/sh\n")) }, "dead", "exited with status 126"},
		{"an executor that nobody has", "short", func(h *host, c *agentpb.Command) {
			c.GetPrepare().Executor = &agentpb.Blob{Sha256: strings.Repeat("0", 64), Size: 5}
		}, "unknown", "has no blob"},
		{"no executor", "short", func(_ *host, c *agentpb.Command) { c.GetPrepare().Executor = nil }, "unknown", "names no executor"},
		{"a run that is a path", "short", func(_ *host, c *agentpb.Command) { c.Run = "../../x" }, "unknown", "is not a run's id"},
		{"a file outside", "short", func(h *host, c *agentpb.Command) {
			c.GetPrepare().Files = []*agentpb.Blob{h.put("../../etc/passwd", []byte("x"))}
		}, "unknown", "is not a name for a file"},
		{"too many processes", "short", func(_ *host, c *agentpb.Command) { c.GetPrepare().Processes = 1e6 }, "unknown", "are the most"},
		{"another agent", "short", func(_ *host, c *agentpb.Command) { c.Agent = "A2" }, "unknown", "is for agent A2"},
		{"no hello", "no hello", func(_ *host, _ *agentpb.Command) {}, "dead", "did not say hello in 5s"},
		{"no classes", "no classes", func(_ *host, _ *agentpb.Command) {}, "scenario", "export() returned no classes"},
		{"another protocol", "another protocol", func(_ *host, _ *agentpb.Command) {}, "unknown", "compile the scenario again"},
		{"dies before it says hello", "no such scenario", func(_ *host, _ *agentpb.Command) {}, "dead", "exited with status 2"},
		{"more than fits", "short", func(h *host, c *agentpb.Command) { c.GetPrepare().Executor.Size = 1 << 50 }, "space", "no space"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			times := quick()
			if tt.name == "no hello" {
				times.Process.Start = 5 * time.Second
			}
			h := start(t, agent.Options{Times: times})
			c := h.prepare(tt.scenario, 2)
			tt.change(h, c)
			answer := h.command(c)
			if answer.Code != tt.code || !strings.Contains(answer.Error, tt.want) || len(answer.Hellos) > 0 {
				t.Errorf("answer %s: %s, want %s: %s", answer.Code, answer.Error, tt.code, tt.want)
			}
			h.clean(nil)
			// The next run has a free agent.
			h.mu.Lock()
			h.spoil = nil
			h.mu.Unlock()
			if len(h.of(aRun)) > 0 { // processes were started, so that batches of this epoch may be there
				if answer := h.command(h.prepare("short", 1)); answer.Code != "fenced" {
					t.Errorf("the epoch is used twice: %v", answer)
				}
			}
			next := h.prepare("short", 1)
			next.Epoch = 2
			hellos := h.must(next).Hellos
			for _, c := range []*agentpb.Command{arm(hellos, 0), begin(time.Now(), 0)} {
				c.Epoch = 2
				h.must(c)
			}
			h.until("the next run is over", func() bool {
				all := h.of(aRun)
				return len(all) > 0 && all[len(all)-1].GetOver() && all[len(all)-1].Epoch == 2
			})
			if total, missing := merged(t, h.of(aRun), 1, "ticks"); total != 15 || missing != 0 {
				t.Errorf("the next run: %d ticks, %d missing", total, missing)
			}
		})
	}
}

// F39: what was fetched of an executor is not fetched again when the connection broke.
func TestPrepareGoesOnFetching(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	half := len(executable().body) / 2
	h.spoil = func(_ int64, b []byte) ([]byte, error) { return b[:half], errors.New("the line broke") }
	c := h.prepare("short", 1)
	if answer := h.command(c); !strings.Contains(answer.Error, "the line broke") {
		t.Fatalf("answer %v", answer)
	}
	h.mu.Lock()
	h.spoil = nil
	h.mu.Unlock()
	c = h.prepare("short", 1)
	h.must(c)
	if got := h.fetched.Load(); got != int64(len(executable().body)) {
		t.Errorf("%d bytes were fetched of an executor that has %d", got, len(executable().body))
	}
	h.must(release())
	h.must(&agentpb.Command{Run: aRun, Epoch: 2, What: h.prepare("short", 1).What})
	if got := h.fetched.Load(); got != int64(len(executable().body)) {
		t.Errorf("an executor that is there was fetched again")
	}
	h.must(&agentpb.Command{Run: aRun, Epoch: 2, What: release().What})
	h.clean(nil)
}

// An Arm that is refused arms no executor: the next one can name them all.
func TestArmRefuses(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.must(h.prepare("short", 2)).Hellos
	for _, second := range []uint32{9, 0} { // one that does not exist, and the first one again
		c := arm(hellos, 0)
		c.GetArm().Starts[1].Executor = second
		if answer := h.command(c); answer.Code != "unknown" {
			t.Errorf("a start for executor %d: %v", second, answer)
		}
	}
	h.must(arm(hellos, 0))
	h.must(begin(time.Now(), 0))
	if total, missing := merged(t, h.over(), 2, "ticks"); total != 30 || missing != 0 {
		t.Errorf("%d ticks, %d missing", total, missing)
	}
	h.clean(hellos)
}

// A scenario has its files, its input, a home of its own, and the environment that it
// was given.
func TestWhatAScenarioIsGiven(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	c := h.prepare("reads its files", 1)
	c.GetPrepare().Files = []*agentpb.Blob{h.put("data/names.csv", []byte("a,b\n"))}
	c.GetPrepare().In = []byte("input")
	hellos := h.must(c).Hellos
	h.must(arm(hellos, 0))
	h.must(begin(time.Now(), 0))
	text, _ := printed(t, h.over(), 0)
	if want := `file "a,b\n" <nil>, input "input", home true, extra "given"` + "\n"; text != want {
		t.Errorf("it printed %q, want %q", text, want)
	}
	h.clean(hellos)
}

// One run at a time; the same run may have more executors in a newer epoch, and from
// then on what is of the older one is refused.
func TestBusyAndFenced(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	first := h.load("long", 1)
	c := h.prepare("short", 1)
	c.Run = "20261121-120000-000002"
	if answer := h.command(c); answer.Code != "busy" || !strings.Contains(answer.Error, aRun) {
		t.Errorf("another run: %v", answer)
	}
	if answer := h.command(h.prepare("short", 1)); answer.Code != "busy" {
		t.Errorf("the same again: %v", answer)
	}
	c = h.prepare("long", 2)
	c.Epoch, c.GetPrepare().First = 2, 7
	second := h.must(c).Hellos
	for name, old := range map[string]*agentpb.Command{"stop": stopRun(), "release": release(), "cancel": cancelRun(), "begin": begin(time.Now(), 0), "prepare": h.prepare("long", 1)} {
		if answer := h.command(old); answer.Code != "fenced" {
			t.Errorf("%s of the older epoch: %v", name, answer)
		}
	}
	c = arm(second, 7)
	c.Epoch = 2
	h.must(c)
	c = begin(time.Now(), 0)
	c.Epoch = 2
	h.must(c)
	h.until("all send batches", func() bool {
		sent := map[uint32]bool{}
		for _, d := range h.of(aRun) {
			sent[d.Executor] = sent[d.Executor] || batch(d) != nil
			if batch(d) != nil && (d.Executor == 0) != (d.Epoch == 1) {
				t.Fatalf("a batch of executor %d has epoch %d", d.Executor, d.Epoch)
			}
		}
		return sent[0] && sent[7] && sent[8]
	})
	c = stopRun()
	c.Epoch = 2
	h.must(c)
	h.until("both epochs are over", func() bool {
		over := 0
		for _, d := range h.of(aRun) {
			if d.GetOver() {
				over++
			}
		}
		return over == 2
	})
	for n, e := range ended(h.of(aRun)) {
		if e.Error != "" {
			t.Errorf("executor %d: %v", n, e)
		}
	}
	h.clean(append(first, second...))
}

// Without a run there is nothing to be done to one, and to release nothing is done.
func TestNoRun(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	for name, c := range map[string]*agentpb.Command{
		"stop": stopRun(), "cancel": cancelRun(), "begin": begin(time.Now(), 0), "arm": arm(nil, 0),
		"renew":   {Run: aRun, Epoch: 1, What: &agentpb.Command_Renew{Renew: &agentpb.Renew{}}},
		"control": {Run: aRun, Epoch: 1, What: &agentpb.Command_Control{Control: &wire.Control{What: "pause"}}},
		"profile": {Run: aRun, Epoch: 1, What: &agentpb.Command_Profile{Profile: &agentpb.Profile{Kind: "cpu"}}},
	} {
		if answer := h.command(c); answer.Code != "unknown" || !strings.Contains(answer.Error, aRun) {
			t.Errorf("%s: %v", name, answer)
		}
	}
	h.must(release())
	before := time.Now().UnixNano()
	if answer := h.must(&agentpb.Command{What: &agentpb.Command_Ping{Ping: &agentpb.Ping{}}}); answer.ReceivedNs < before || answer.SentNs < answer.ReceivedNs {
		t.Errorf("ping: %v", answer)
	}
}

// F35: a folder is one agent's.
func TestTwoAgentsWithOneFolder(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	err := agent.New(agent.Options{Dir: h.dir, Bus: newBus(), ID: "A2"}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "another agent") || !strings.Contains(err.Error(), h.dir) {
		t.Errorf("error %v", err)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	start(t, agent.Options{Dir: h.dir}) // free again
}

// F19: an agent whose disk is full refuses what it has no room for, with that reason.
func TestPrepareOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := small(t, "4m")
	h := start(t, agent.Options{Dir: filepath.Join(dir, "agent")})
	if answer := h.command(h.prepare("short", 1)); answer.Code != "space" {
		t.Errorf("answer %v", answer)
	}
	h.clean(nil)
	if b, err := os.ReadFile(filepath.Join(h.dir, "lock")); err != nil || len(bytes.TrimSpace(b)) == 0 {
		t.Errorf("lock %q %v", b, err)
	}
}
