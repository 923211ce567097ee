//go:build linux

package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// Executors returns the ids of the executor processes of an agent.
func (n *Node) Executors(t testing.TB) (pids []int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", n.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", n.Pid(), task.Name())) // a thread may have ended
		for _, text := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// strike sends a signal to the executors of an agent.
func strike(t *testing.T, n *Node, s syscall.Signal) {
	t.Helper()
	pids := n.Executors(t)
	if len(pids) == 0 {
		t.Fatalf("%s has no executor", n.Host.Name)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
}

// An executor is killed, or kills itself, after the first deadAfter seconds of deadRun.
const deadAfter, deadRun = 2, 8

// faulty returns a steady load whose user 1, who is on one host, ends its process.
func faulty(url string, users int, fault string) load {
	l := steady(url, users)
	l.Fault, l.After = fault, deadAfter*time.Second
	return l
}

// dead makes sure that a run went on without an executor of one host, and says so.
func dead(t *testing.T, c *Cluster, target *Target, id string, says ...string) {
	t.Helper()
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Verdict == run.Valid || r.Complete || len(r.Missing) != 1 {
		t.Errorf("the run is %s (%s), %s, missing %q: want finished, not VALID, one executor missing", r.State, r.Cause, r.Verdict, r.Missing)
	}
	for _, text := range says {
		if all := fmt.Sprint(r.Notes, r.Reasons, r.Missing); !strings.Contains(all, text) {
			t.Errorf("the result does not say %q: %s", text, all)
		}
	}
	if total, counted := asked(target, c.Agents...), count(t, r, "home.http_ok"); total-counted < 0 || total-counted > 4*4*perSecond {
		t.Errorf("the target has seen %d requests, counted are %d: want at most four seconds of one executor between them", total, counted)
	}
	busy := 0
	for _, n := range c.Agents {
		if asked(target, n) > 4*perSecond*deadAfter*2 { // 4 users
			busy++
		}
	}
	if busy != len(c.Agents)-1 {
		t.Errorf("%d of %d hosts made load to the end, want all but one", busy, len(c.Agents))
	}
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F1, F3: a scenario that ends its process on one of several hosts, by an exit, a signal, or
// a panic of a goroutine of its own, ends that one; the report says how.
func TestExecutorEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault, says string
		agents      int
	}{
		{"exit", "status 3", 3},
		{"segv", "status 2", 2},
		{"goroutine", "status 2", 2},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			c, target := New(t, tt.agents), NewTarget(t)
			dead(t, c, target, c.start(t, faulty(target.URL, 4*tt.agents, tt.fault), run.Options{Duration: deadRun}), tt.says)
		})
	}
}

// F1: the policy stop ends a run that loses an executor.
func TestExecutorEndsAndTheRunWith(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, faulty(target.URL, 8, "exit"), run.Options{Duration: 60, Lost: run.LostStop})
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Failed || r.Failure != run.FailedExecutor || !strings.Contains(r.Cause, "status 3") {
		t.Errorf("the run is %s (%s), failure %q: want failed, by its executor", r.State, r.Cause, r.Failure)
	}
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F2: a panic ends one user, is counted with its stack, and no other user.
func TestUserPanics(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	s := requests(target.URL, 100, 0, 5, 20*time.Millisecond)
	s.Panics = 7
	id := c.start(t, s, run.Options{})
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished || !r.Complete || count(t, r, "vu.ask.panics") != 1 || count(t, r, "home.http_ok") != 495 {
		t.Errorf("the run is %s (%s), %d panics, %d answers: want finished, 1, 495", r.State, r.Cause, count(t, r, "vu.ask.panics"), count(t, r, "home.http_ok"))
	}
	requests, users, _ := target.Counted()
	if requests != 495 || len(users) != 99 || users["7"] != 0 {
		t.Errorf("the target has seen %d requests of %d users, %d of user 7; want 495, 99, 0", requests, len(users), users["7"])
	}
	if !strings.Contains(fmt.Sprint(r.Notes), "not me") {
		t.Errorf("notes %q do not have the panic", r.Notes)
	}
	c.Check(t, check.Targets{id: {"home.http_ok": requests}})
}

// F4: an executor that is killed; what it had sent counts.
func TestExecutorKilled(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.start(t, steady(target.URL, 12), run.Options{Duration: deadRun})
	awaitLoad(t, target, 3)
	Eventually(t, time.Minute, func() string {
		if n := asked(target, c.Agents[1]); n < 4*perSecond {
			return fmt.Sprintf("%d requests of %s", n, c.Agents[1].Host.Name)
		}
		return ""
	})
	strike(t, c.Agents[1], syscall.SIGKILL)
	dead(t, c, target, id, "signal 9", c.Agents[1].Host.Name)
}

// F7: an executor that is stopped for a while; the run says so, and all is counted.
func TestExecutorFrozen(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	strike(t, c.Agents[0], syscall.SIGSTOP)
	time.Sleep(time.Second + agent.DefaultTimes().Stall + 2*time.Second) // an interval, the limit, which no scale changes, and more
	strike(t, c.Agents[0], syscall.SIGCONT)
	Eventually(t, time.Minute, func() string {
		if notes := fmt.Sprint(c.Result(t, id).Notes); !strings.Contains(notes, "continues after it was stuck") {
			return "notes are " + notes
		}
		return ""
	})
	r := c.stop(t, id)
	if r.State != run.Finished { // the verdict is by the effect: users who wait between requests may have had none in flight
		t.Errorf("the run is %s (%s), want finished", r.State, r.Cause)
	}
	if notes := fmt.Sprint(r.Notes); !strings.Contains(notes, "it is stuck") || !strings.Contains(notes, "continues after it was stuck") {
		t.Errorf("notes %q do not tell of it", r.Notes)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F54: a run of one request has all its numbers.
func TestShortestRun(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, requests(target.URL, 1, 0, 1, 0), run.Options{})
	r := c.Finished(t, id, time.Minute)
	if ok, started := count(t, r, "home.http_ok"), count(t, r, "vu.ask.started"); r.State != run.Finished || !r.Complete || ok != 1 || started != 1 {
		t.Errorf("the run is %s (%s), %d answers to %d users, missing %q: want finished, 1, 1", r.State, r.Cause, ok, started, r.Missing)
	}
	c.Check(t, check.Targets{id: target.Counts(true)})
}
