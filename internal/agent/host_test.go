//go:build linux

package agent_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// host is an agent that runs, and the master's end of its bus.
type host struct {
	*fakeBus
	t    *testing.T
	dir  string
	work string       // where its runs' folders are
	stop func() error // ends it and returns Run's error
}

// start starts an agent with the options that it needs filled in.
func start(t *testing.T, o agent.Options) *host {
	t.Helper()
	h := &host{t: t, dir: o.Dir}
	if h.dir == "" {
		h.dir = t.TempDir()
	}
	o.Dir = h.dir
	if h.work = o.Work; h.work == "" {
		h.work = work(t) // t.TempDir's path is too long for a socket
	}
	o.Work = h.work
	if o.Bus == nil {
		o.Bus = newBus()
	}
	h.fakeBus = o.Bus.(*fakeBus)
	if o.ID == "" {
		o.ID = "A1"
	}
	if o.Times == (agent.Times{}) {
		o.Times = quick()
	}
	a := agent.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return fmt.Errorf("the agent did not end in %v", patience)
		}
	})
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-h.ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("the agent ended: %v", err)
	case <-time.After(patience):
		t.Fatal("the agent does not take commands")
	}
	return h
}

// must sends a command that is to be done.
func (h *host) must(c *agentpb.Command) *agentpb.Answer {
	h.t.Helper()
	answer := h.command(c)
	if answer.Error != "" {
		h.t.Fatalf("%T: %s (%s)", c.What, answer.Error, answer.Code)
	}
	return answer
}

const aRun = "20261121-120000-000001"

// prepare is the command to prepare processes of a scenario.
func (h *host) prepare(scenario string, processes uint32) *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Prepare{Prepare: &agentpb.Prepare{
		Executor: h.executor(), Env: []string{processtest.Env(scenario), "EXTRA=given"}, Processes: processes, LeaseNs: int64(time.Minute)}}}
}

func arm(hellos []*wire.Hello, first uint32) *agentpb.Command {
	a := &agentpb.Arm{}
	for i, h := range hellos {
		start := &wire.Start{Run: aRun, Executor: first + uint32(i), IntervalNs: int64(interval), GracefulNs: int64(2 * time.Second)}
		for _, c := range h.Classes {
			start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations})
		}
		a.Starts = append(a.Starts, start)
	}
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Arm{Arm: a}}
}

func begin(at time.Time, lease time.Duration) *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Begin{Begin: &agentpb.Begin{AtUnixNs: at.UnixNano(), LeaseNs: int64(lease)}}}
}

func cancelRun() *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Cancel{Cancel: &wire.Cancel{}}}
}

func stopRun() *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Stop{Stop: &wire.Stop{}}}
}

func release() *agentpb.Command {
	return &agentpb.Command{Run: aRun, Epoch: 1, What: &agentpb.Command_Release{Release: &agentpb.Release{}}}
}

// load has processes of a scenario make load.
func (h *host) load(scenario string, processes uint32) []*wire.Hello {
	h.t.Helper()
	hellos := h.must(h.prepare(scenario, processes)).Hellos
	h.must(arm(hellos, 0))
	h.must(begin(time.Now().Add(50*time.Millisecond), 0))
	return hellos
}

// over waits until all of a run is delivered, and returns it.
func (h *host) over() []*agentpb.Delivery {
	h.t.Helper()
	h.until("the run is over", func() bool {
		all := h.of(aRun)
		return len(all) > 0 && all[len(all)-1].GetOver()
	})
	return h.of(aRun)
}

// until polls f.
func (h *host) until(what string, f func() bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("not in %v: %s; delivered: %s", patience, what, list(h.of(aRun)))
		}
	}
}
