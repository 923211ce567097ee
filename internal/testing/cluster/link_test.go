//go:build linux

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// newLined is a cluster whose agents reach the master by a line.
func newLined(t *testing.T, agents int) (*Cluster, *Line) {
	t.Helper()
	line := NewLine(t)
	c := New(t, 0, "--advertise", line.Address)
	line.To(c.Master.Address + ":8081")
	for range agents {
		c.Join(t)
	}
	return c, line
}

// stops returns how long a host still sends requests to the target. It fails the test if that
// takes too long.
func stops(t *testing.T, target *Target, n *Node) (after time.Duration) {
	t.Helper()
	began := time.Now()
	last, change := asked(target, n), began
	for time.Since(change) < 2*time.Second {
		if now := asked(target, n); now != last {
			last, change = now, time.Now()
		}
		if time.Since(began) > times.Lease+30*time.Second {
			t.Fatal("the load goes on after the lease")
		}
		time.Sleep(50 * time.Millisecond) // between looks
	}
	return change.Sub(began)
}

// withinLease makes sure that a load stopped when a lease ended that was renewed until a
// moment ago, and not before.
func withinLease(t *testing.T, after time.Duration) {
	t.Helper()
	t.Logf("the load stopped after %v", after.Round(10*time.Millisecond))
	if after < times.Lease*2/3 || after > times.Lease+10*time.Second {
		t.Errorf("the load stopped after %v, want at the end of the lease of %v", after, times.Lease)
	}
}

// F10: an agent that reaches the master, but receives nothing from it, stops its load
// at the end of its lease; once it hears again, all that it counted arrives.
func TestOneWayPartition(t *testing.T) {
	t.Parallel()
	c, line := newLined(t, 2)
	target := NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	line.Lose(c.Agents[0].Host, toAgent)
	withinLease(t, stops(t, target, c.Agents[0]))
	line.Lose(c.Agents[0].Host, 0)
	c.AwaitAgent(t, c.Agents[0], "busy", time.Minute) // with what it counted
	r := c.stop(t, id)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	exact(t, r, target)
	c.AwaitAgent(t, c.Agents[0], "ready", time.Minute)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F11: both ends see within seconds that a connection is half open: nothing comes and
// nothing closes it.
func TestHalfOpenConnection(t *testing.T) {
	t.Parallel()
	c, line := newLined(t, 1)
	n := c.Agents[0]
	began := time.Now()
	line.Lose(n.Host, stuck)
	Eventually(t, time.Minute, func() string {
		if !strings.Contains(n.Output(t), "the bus is gone") {
			return "the agent does not see it"
		}
		return ""
	})
	t.Logf("the agent saw it after %v", time.Since(began).Round(10*time.Millisecond))
	c.AwaitAgent(t, n, "lost", time.Minute)
	line.Lose(n.Host, 0)
	c.AwaitAgent(t, n, "ready", time.Minute)
	id := c.start(t, requests(NewTarget(t).URL, 4, 0, 3, 0), run.Options{})
	if r := c.Finished(t, id, time.Minute); r.State != run.Finished || !r.Complete {
		t.Errorf("the run after it is %s (%s)", r.State, r.Cause)
	}
	c.Check(t, nil)
}

// F55: the last batches come late, since the agent is cut off when the load ends: the run
// waits for them, and nothing is missing.
func TestCutOffAtTheEnd(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 4})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	time.Sleep(2500 * time.Millisecond) // into the load
	cutFromMaster(t, c.Agents[0], c.Master, true)
	stops(t, target, c.Agents[0]) // at its own end
	if o := c.Run(t, id); o.State.Final() {
		t.Errorf("the run is %s (%s) though an agent's last batches have not come", o.State, o.Cause)
	}
	cutFromMaster(t, c.Agents[0], c.Master, false)
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F51: a cancel ends a run though an agent is unreachable; the cause names the agent. Its load
// ends with its lease, and its counts are merged later.
func TestCancelWithoutAnAgent(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	cutFromMaster(t, c.Agents[0], c.Master, true)
	c.Do(t, "POST", "/api/v1/runs/"+id+"/cancel", nil, nil)
	o := c.Await(t, id, time.Minute, run.Cancelled)
	if !strings.Contains(o.Cause, c.Agents[0].Host.Name+" had not confirmed its end (lease until ") {
		t.Errorf("the cause is %q, want that %s is unconfirmed, and when its lease ends", o.Cause, c.Agents[0].Host.Name)
	}
	if r := c.Result(t, id); r.Complete || r.Verdict == run.Valid {
		t.Errorf("the result is complete: %v, %s", r.Complete, r.Verdict)
	}
	stops(t, target, c.Agents[0])
	cutFromMaster(t, c.Agents[0], c.Master, false)
	c.AwaitAgent(t, c.Agents[0], "ready", time.Minute)
	Eventually(t, time.Minute, func() string {
		if r := c.Result(t, id); !r.Complete {
			return strings.Join(r.Missing, "; ")
		}
		return ""
	})
	c.Check(t, check.Targets{id: target.Counts(false)})
}
