//go:build linux

package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/process/processtest"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

const (
	agentEnv    = "AGENT_TEST_AGENT"
	workEnv     = "AGENT_TEST_WORK"
	loadEnv     = "AGENT_TEST_LOAD"
	commitEnv   = "AGENT_TEST_COMMIT"
	ledgersEnv  = "AGENT_TEST_LEDGERS"
	executorEnv = "AGENT_TEST_EXECUTOR"
)

// merged merges the batches of some executors, and returns a metric's total and how many
// pieces are missing.
func merged(t *testing.T, all []*agentpb.Delivery, executors int, title string) (total int64, missing int) {
	t.Helper()
	m := merge.New(executors, interval)
	for _, d := range all {
		if b := batch(d); b != nil {
			if err := m.Add(int(d.Executor), b); err != nil {
				t.Fatal(err)
			}
		}
		if x := d.GetExact(); x != nil { // of histograms that had no room in the batches
			if err := m.Exact(int(d.Executor), x.Through, x.Histograms, x.More); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, metric := range m.Metrics() {
		if metric.Title == title {
			total = *metric.Count
		}
	}
	for _, piece := range m.Missing() {
		t.Logf("missing: %s", piece)
	}
	return total, len(m.Missing())
}

// The path of a run: it is prepared, armed, begun and ends by itself; all that it
// counted is delivered in order, then that it is over; nothing is left (I9).
func TestARun(t *testing.T) {
	t.Parallel()
	h := start(t, agent.Options{})
	command := h.prepare("short", 2)
	hellos := h.must(command).Hellos
	if len(hellos) != 2 || hellos[0].Pid == hellos[1].Pid || hellos[0].Classes[0].Name != "ticks" {
		t.Fatalf("hellos %v", hellos)
	}
	if again := h.must(command); len(again.Hellos) != 2 || again.Hellos[0].Pid != hellos[0].Pid {
		t.Error("a command that came twice was done twice")
	}
	h.must(arm(hellos, 0))
	at := time.Now().Add(300 * time.Millisecond)
	h.must(begin(at, 0))
	all := h.over()
	for i, d := range all {
		if d.Number != uint64(i+1) || d.Agent != "A1" || d.Epoch != 1 {
			t.Errorf("delivery %d has number %d, agent %s, epoch %d", i+1, d.Number, d.Agent, d.Epoch)
		}
	}
	if total, missing := merged(t, all, 2, "ticks"); total != 30 || missing != 0 {
		t.Errorf("%d ticks, %d missing, want 30 and 0", total, missing)
	}
	for n, e := range ended(all) {
		if e.Error != "" || e.Cause != process.CauseExit {
			t.Errorf("executor %d: %v", n, e)
		}
	}
	var late []time.Duration
	for _, d := range all {
		if b := batch(d); b != nil && b.GoUnixNs != 0 {
			late = append(late, time.Unix(0, b.GoUnixNs).Sub(at))
		}
	}
	if len(late) != 2 || min(late[0], late[1]) < 0 {
		t.Errorf("the loads began %v after the moment", late)
	}
	t.Logf("the loads began %v after the moment", late)
	h.must(release())
	h.clean(hellos)
}

// clean checks that nothing is left of a run (I9).
func (h *host) clean(hellos []*wire.Hello) {
	h.t.Helper()
	for _, hello := range hellos {
		processtest.Gone(h.t, int(hello.Pid))
	}
	h.until("what is delivered is forgotten", func() bool {
		left, err := os.ReadDir(filepath.Join(h.dir, "spool"))
		return err == nil && len(left) == 0
	})
	h.until("nothing of the run is left in the agent's folders", func() bool {
		private, broken := os.ReadDir(h.work)
		left, err := os.ReadDir(h.dir)
		return err == nil && broken == nil && len(private) == 0 && !slices.ContainsFunc(left, func(e os.DirEntry) bool { return !slices.Contains([]string{"blobs", "lock", "spool"}, e.Name()) })
	})
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
