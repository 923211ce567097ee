//go:build linux

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// F8, F55: nothing gets through for a while, or until after the run's end. All is then
// delivered, in order and without a gap; meanwhile the spool grows.
func TestNothingGetsThrough(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"for a while", "until after the end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, agent.Options{})
			hellos := h.load("long", 1)
			h.until("the load goes on", func() bool { return len(h.of(aRun)) > 2 })
			h.down.Store(true)
			before := len(h.of(aRun))
			h.until("deliveries wait on the disk", func() bool { return spooled(t, h.dir) > 2000 })
			if name == "for a while" {
				h.down.Store(false)
				h.until("they come", func() bool { return len(h.of(aRun)) > before+5 })
			}
			h.must(stopRun())
			for _, hello := range hellos {
				processtest.Gone(t, int(hello.Pid))
			}
			h.down.Store(false)
			all := h.over()
			for i, d := range all {
				if d.Number != uint64(i+1) {
					t.Fatalf("delivery %d follows delivery %d", d.Number, i)
				}
			}
			if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
				t.Errorf("%d pieces are missing", missing)
			}
			h.clean(hellos)
		})
	}
}

// spooled is how many bytes of deliveries are on the disk.
func spooled(t *testing.T, dir string) (n int64) {
	for _, path := range glob(t, filepath.Join(dir, "spool", "*", "*")) {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// F14: what is not committed is counted in beats, sent again, and sent by the
// agent's next process; once it is committed nothing of it is left.
func TestDeliveriesAreSentUntilTheyAreCommitted(t *testing.T) {
	t.Parallel()
	bus := newBus()
	bus.commits.Store(false)
	times := quick()
	times.Resend = 500 * time.Millisecond
	h := start(t, agent.Options{Bus: bus, Times: times})
	hellos := h.load("short", 1)
	all := h.over()
	h.until("a beat tells what is not committed", func() bool {
		b := h.lastBeat()
		return b.Unsaved == uint64(len(all)) && b.OldestNs > 0
	})
	h.mu.Lock()
	once := len(h.deliveries)
	h.mu.Unlock()
	h.until("all come again", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.deliveries) >= 2*once
	})
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	next := newBus()
	next.commits.Store(false)
	h2 := start(t, agent.Options{Dir: h.dir, Bus: next, Work: h.work})
	if again := h2.over(); list(again) != list(all) {
		t.Errorf("the first life delivered\n%s\nand the next\n%s", list(all), list(again))
	}
	for _, d := range all {
		next.committer <- &agentpb.Committed{Run: d.Run, Epoch: d.Epoch, Number: d.Number}
	}
	next.committer <- &agentpb.Committed{Run: "another", Epoch: 1, Number: 1} // is nothing
	h2.clean(hellos)
}

// F19: the agent's disk is full. What is counted stays in memory, and is delivered; the
// report says so.
func TestFullDiskInARun(t *testing.T) {
	t.Parallel()
	dir := small(t, "64m")
	h := start(t, agent.Options{Dir: dir})
	hellos := h.load("long", 1)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 2 })
	ballast, err := os.Create(filepath.Join(dir, "blobs", "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for size := 1 << 20; size >= 1<<12; size /= 16 {
		for err = nil; err == nil; {
			_, err = ballast.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	h.until("a note that it is full", func() bool { return strings.Contains(notes(h.of(aRun)), "because its disk fails") })
	h.must(stopRun())
	all := h.over()
	if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing", missing)
	}
	for i, d := range all {
		if d.Number != uint64(i+1) {
			t.Fatalf("delivery %d follows delivery %d", d.Number, i)
		}
	}
	if err := os.Remove(ballast.Name()); err != nil {
		t.Fatal(err)
	}
	h.clean(hellos)
}

// F47: who prints too much is cut off, what was dropped is counted, and the executor
// is not held up.
func TestTooMuchOutput(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	c := h.prepare("talkative", 1)
	c.GetPrepare().LogBytes = 1 << 20
	hellos := h.must(c).Hellos
	h.must(arm(hellos, 0))
	h.must(begin(time.Now(), 0))
	all := h.over()
	text, dropped := printed(t, all, 0)
	if len(text) > 1<<20 || len(text) < 1<<19 || dropped < 1<<20 {
		t.Errorf("%d bytes were kept and %d dropped", len(text), dropped)
	}
	for line := range strings.Lines(text) {
		if len(line) > 16<<10+1 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	if e := ended(all)[0]; e.Error != "" {
		t.Errorf("ended %v", e)
	}
	t.Logf("%d bytes kept, %d dropped", len(text), dropped)
	h.clean(hellos)
}

// F32: beats come whatever executors do to the CPUs, and describe the host and each
// process.
func TestBeats(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{Hello: &agentpb.Hello{Name: "east", Address: "10.0.0.1"}})
	hellos := h.load("busy", 2)
	var b *agentpb.Beat // one in whose time CPU was counted
	h.until("5 beats of a run that goes on", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		n := 0
		for _, b := range h.beats {
			if b.Phase == "running" {
				n++
			}
		}
		b = h.beats[len(h.beats)-1]
		last := b.GetProcesses()
		return n >= 5 && len(last) == 2 && last[0].Cpu > 0.05 && last[1].Cpu > 0 && b.Host.GetCpu() > 0
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, b := range h.beats {
		if i > 0 {
			if b.Count != h.beats[i-1].Count+1 || b.Boot != h.beats[0].Boot {
				t.Errorf("beat %d of agent %d follows beat %d of agent %d", b.Count, b.Boot, h.beats[i-1].Count, h.beats[i-1].Boot)
			}
		}
	}
	if b.Agent != "A1" || b.Run != aRun || b.Epoch != 1 || b.Boot == 0 || b.Hello.Name != "east" || b.Hello.Address != "10.0.0.1" || b.Hello.Protocol != agentpb.Protocol || b.Hello.OpenFiles == 0 {
		t.Errorf("beat %v", b)
	}
	if b.Host.MemoryTotal == 0 || b.Host.DiskFree == 0 {
		t.Errorf("host %v", b.Host)
	}
	if len(b.Processes) != 2 || b.Processes[0].Pid != hellos[0].Pid || b.Processes[0].Memory < 1<<20 || b.Processes[0].Files == 0 || b.Processes[1].Executor != 1 {
		t.Errorf("processes %v", b.Processes)
	}
	h.mu.Unlock()
	h.must(release())
	h.mu.Lock()
}

// A profile is taken while the load runs, and fetched as a blob; the run's release
// deletes it. Nothing else is given out.
func TestProfile(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.load("long", 2)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	take := func(kind string, executor uint32) *agentpb.Answer {
		return h.command(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Profile{Profile: &agentpb.Profile{Kind: kind, Executor: executor, DurationNs: int64(100 * time.Millisecond)}}})
	}
	for _, kind := range []string{"cpu", "heap", "trace"} {
		answer := take(kind, 1)
		if answer.Error != "" || answer.Blob.GetSize() == 0 {
			t.Fatalf("%s: %v", kind, answer)
		}
		b, err := h.open(answer.Blob.Sha256)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
		if err = errors.Join(err, b.Close()); err != nil || int64(len(data)) != answer.Blob.Size {
			t.Errorf("%s: %d bytes, %v", kind, len(data), err)
		}
		if want := map[string]string{"cpu": "\x1f\x8b", "heap": "\x1f\x8b", "trace": "go 1."}[kind]; !bytes.HasPrefix(data, []byte(want)) {
			t.Errorf("%s begins with %.20q", kind, data)
		}
	}
	if answer := take("smoke", 0); !strings.Contains(answer.Error, "knows no such profile") {
		t.Errorf("smoke: %v", answer)
	}
	if answer := take("cpu", 9); answer.Code != "unknown" {
		t.Errorf("of no executor: %v", answer)
	}
	for _, sum := range []string{executable().sum, "../lock", ""} {
		if _, err := h.open(sum); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("blob %q: %v", sum, err)
		}
	}
	h.must(release())
	if left := glob(t, filepath.Join(h.dir, "blobs", "*")); len(left) != 1 {
		t.Errorf("blobs %v are left, want the executor alone", left)
	}
	h.clean(hellos)
}

// A profile that is too large is an error, and nothing of it is stored.
func TestALargeProfile(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.load("long", 1)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	answered := make(chan *agentpb.Answer, 1)
	go func() {
		answered <- h.command(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Profile{Profile: &agentpb.Profile{Kind: "trace", DurationNs: int64(2 * time.Second)}}})
	}()
	var answer *agentpb.Answer
	h.until("the profile is complete", func() bool {
		for _, name := range glob(t, h.work+"/*/home/profile-*") {
			_ = os.Truncate(name, 257<<20) // the executor truncates it when it begins; at its end it is deleted
		}
		select {
		case answer = <-answered:
		default:
		}
		return answer != nil
	})
	if !strings.Contains(answer.Error, "trace profile of executor 0 has 257 MiB, and at most 256 MiB") || answer.Blob != nil {
		t.Errorf("answer %v", answer)
	}
	h.must(release())
	h.clean(hellos)
}

// A wish goes to the executor that it names, as it is.
func TestControl(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.load("long", 2)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	control := func(c *wire.Control) *agentpb.Answer {
		return h.command(&agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Control{Control: c}})
	}
	if answer := control(&wire.Control{Id: 1, What: "scale", Class: "nobody", Users: 7, Rate: -1}); !strings.Contains(answer.Error, "nobody") {
		t.Errorf("a class that is not there: %v", answer)
	}
	if answer := control(&wire.Control{Id: 7, What: "pause"}); answer.Code != "dead" {
		t.Errorf("an executor that is not there: %v", answer)
	}
	for _, c := range []*wire.Control{
		{Id: 0, What: "scale", Users: 2, Rate: -1, AllUsers: 3, Executors: 2, Place: 0},
		{Id: 1, What: "scale", Users: 1, Rate: -1, AllUsers: 3, Executors: 2, Place: 1},
	} {
		if answer := control(c); answer.Error != "" {
			t.Errorf("scale: %v", answer)
		}
	}
	h.until("each has its share of 3 users", func() bool {
		users := map[uint32]int64{}
		names := map[uint32][]*wire.Metric{}
		for _, d := range h.of(aRun) {
			b := batch(d)
			names[d.Executor] = append(names[d.Executor], b.GetDeclared()...)
			for _, g := range b.GetGauges() {
				if names[d.Executor][g.Metric].Title == "vu.ticks.active" {
					users[d.Executor] = g.Value
				}
			}
		}
		return users[0] == 2 && users[1] == 1
	})
	h.must(cancelRun())
	h.over()
	h.clean(hellos)
}

// An agent that is stopped while it runs something cancels it, delivers what was counted,
// and leaves nothing.
func TestTheAgentIsStoppedInARun(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	hellos := h.load("long", 1)
	h.until("the load goes on", func() bool { return len(h.of(aRun)) > 3 })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	all := h.over()
	if _, missing := merged(t, all, 1, "ticks"); missing != 0 {
		t.Errorf("%d pieces are missing: %s", missing, list(all))
	}
	for _, hello := range hellos {
		processtest.Gone(t, int(hello.Pid))
	}
	if left := glob(t, h.work+"/*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// A bus that fails for good is the agent's end, and what it ran ends with it.
func TestTheBusFails(t *testing.T) {
	t.Parallel()
	err := agent.New(agent.Options{Dir: t.TempDir(), Work: work(t), Bus: &brokenBus{newBus()}, ID: "A1", Times: quick()}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "take commands: no permission") {
		t.Errorf("error %v", err)
	}
}

type brokenBus struct{ *fakeBus }

func (brokenBus) Commands(context.Context, func(context.Context, *agentpb.Command) *agentpb.Answer) error {
	return errors.New("no permission")
}
