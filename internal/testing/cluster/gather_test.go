//go:build linux

package cluster

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// What agents send each second keeps to a budget, and totals are what was counted
// anyway: of an executor that ended, and of one that was killed, which its agent outlives. Of
// an agent that was lost with its data, the run reports that percentiles are coarser.
func TestGathered(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	l := steady(target.URL, 30)
	l.Sizes = true
	id := c.start(t, l, run.Options{Duration: 10})
	awaitLoad(t, target, 3)
	c.Await(t, id, time.Minute, run.Running)
	time.Sleep(3 * time.Second) // some batches
	strike(t, c.Agents[0], syscall.SIGKILL)
	time.Sleep(time.Second)
	c.Agents[1].Kill()
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Complete {
		t.Errorf("the run is %s (%s), complete: %v", r.State, r.Cause, r.Complete)
	}
	coarse := 0
	for _, text := range r.Missing {
		if strings.Contains(text, "exact histograms") {
			coarse++
			if !strings.Contains(text, c.Agents[1].Host.Name) {
				t.Errorf("of the executor whose agent lives is said: %s", text)
			}
		}
	}
	if coarse != 1 {
		t.Errorf("missing is %q: want one executor without its exact histograms", r.Missing)
	}
	if n := count(t, r, "size.0"); n < 10_000 {
		t.Errorf("only %d sizes were recorded", n)
	}
	c.Agents[1].Begin(t)
	c.AwaitAgent(t, c.Agents[1], "ready", time.Minute)
	c.Check(t, check.Targets{id: target.Counts(false)})
}
