//go:build linux

package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// awaitLoad waits until the target is asked, and so the load is on.
func awaitLoad(t *testing.T, target *Target, hosts int) {
	t.Helper()
	Eventually(t, 5*time.Minute, func() string { // the scenario may have to be compiled
		if _, _, from := target.Counted(); len(from) < hosts {
			return fmt.Sprintf("the target is asked by %d hosts, want %d", len(from), hosts)
		}
		return ""
	})
}

// asked is how many requests the target has seen of some hosts.
func asked(target *Target, nodes ...*Node) (n int64) {
	_, _, from := target.Counted()
	for _, node := range nodes {
		n += from[node.Address]
	}
	return n
}

// exact makes sure that a complete run counted what the target has seen.
func exact(t *testing.T, r *run.Result, target *Target) {
	t.Helper()
	requests, _, _ := target.Counted()
	if ok := count(t, r, "home.http_ok"); !r.Complete || ok != requests {
		t.Errorf("the run counts %d answers (complete: %v, missing %q), the target has seen %d requests", ok, r.Complete, r.Missing, requests)
	}
}

// undisturbed checks that a run finished with exact counts, and that no agent lowered its
// verdict.
func undisturbed(t *testing.T, r *run.Result, target *Target) {
	t.Helper()
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
	for _, reason := range r.Reasons {
		if reason.Signal == "agents" {
			t.Errorf("the verdict is lowered: %s", reason.Text)
		}
	}
}

// reasonOf returns the first reason of a result's verdict with a signal, or an empty one.
func reasonOf(r *run.Result, signal string) (of run.Reason) {
	for _, x := range r.Reasons {
		if x.Signal == signal {
			return x
		}
	}
	return of
}

// F5, default policy: when an agent is killed, its executor ends at once; the others
// continue, the run is marked, and delivered batches count.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	seconds := (times.Lost + 4*time.Second).Seconds()
	id := c.start(t, steady(target.URL, 12), run.Options{Duration: seconds})
	awaitLoad(t, target, 3)
	c.Await(t, id, time.Minute, run.Running)
	victim := c.Agents[1]
	victim.Kill()
	killed := time.Now()
	before := asked(target, victim)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Verdict != run.Invalid || reasonOf(r, "totals").Level != run.Red || reasonOf(r, "agents").Level != run.Amber {
		t.Errorf("the run is %s (%s), %s for %+v; want finished, INVALID as counts are missing", r.State, r.Cause, r.Verdict, r.Reasons)
	}
	if after := asked(target, victim); after > before+2*4 { // those of each user that were in flight
		t.Errorf("the killed agent's executor asked %d times more", after-before)
	}
	if r.Complete || !strings.Contains(strings.Join(r.Missing, " "), victim.Host.Name) {
		t.Errorf("missing is %q, want what %s had", r.Missing, victim.Host.Name)
	}
	if !strings.Contains(fmt.Sprint(r.Notes), "agent "+victim.Host.Name+" was lost") {
		t.Errorf("notes %q do not tell of the lost agent", r.Notes)
	}
	for _, node := range []*Node{c.Agents[0], c.Agents[2]} {
		if float64(asked(target, node)) < 4*perSecond*seconds/4 { // 4 users, on a busy host
			t.Errorf("%s asked only %d times: it did not go on", node.Host.Name, asked(target, node))
		}
	}
	total, counted := asked(target, c.Agents...), count(t, r, "home.http_ok")
	if lost := total - counted; lost < 0 || lost > 4*4*perSecond {
		t.Errorf("the target has seen %d requests, counted are %d: want at most four seconds of one agent between them", total, counted)
	}
	i := slices.IndexFunc(r.Hosts, func(h run.Host) bool { return h.Name == victim.Host.Name })
	if ended := killed.Sub(r.Start).Seconds(); r.Hosts[i].Lost <= 0 || r.Hosts[i].Lost > ended+1 || reasonOf(r, "agents").Worst > ended+1 {
		t.Errorf("it was killed at %.1f s: its counts end at %.1f s, the reason is %+v", ended, r.Hosts[i].Lost, reasonOf(r, "agents"))
	}
	victim.Begin(t) // it is known, and ready for the next run
	c.AwaitAgent(t, victim, "ready", time.Minute)
	Eventually(t, time.Minute, func() string {
		if notes := fmt.Sprint(c.Result(t, id).Notes); !strings.Contains(notes, "on "+victim.Host.Name+": the agent ended during the run and was started again later") {
			return "the notes are " + notes
		}
		return ""
	})
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F8: to be without the master for longer than Suspect changes nothing.
func TestShortPartition(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: times.Lost.Seconds() + 3})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	// The agent loses the master, not the target.
	cutFromMaster(t, c.Agents[0], c.Master, true)
	time.Sleep(times.Suspect + 100*time.Millisecond) // as long as the cut is to last
	cutFromMaster(t, c.Agents[0], c.Master, false)
	r := c.Finished(t, id, 2*time.Minute)
	undisturbed(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// cutFromMaster has a host drop all that goes to the master, or stop doing so.
func cutFromMaster(t *testing.T, n, master *Node, cut bool) {
	t.Helper()
	how := "del"
	if cut {
		how = "add"
	}
	if err := ip(fmt.Sprintf("-n %s route %s blackhole %s/32", n.Host.Name, how, master.Address)); err != nil {
		t.Fatal(err)
	}
}

// F9: load stops at the end of the lease. What was counted until then arrives, exactly, when
// the master is back.
func TestLongPartition(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	away := c.Agents[0]
	cutFromMaster(t, away, c.Master, true)
	withinLease(t, stops(t, target, away))
	cutFromMaster(t, away, c.Master, false)
	c.AwaitAgent(t, away, "busy", time.Minute) // with what it counted
	r := c.stop(t, id)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F14, S0-16: a master that is killed comes back with its queue; the run that was active
// is cancelled, and what agents had counted until their leases ended is all there.
func TestMasterKilled(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 20), run.Options{Duration: 300})
	next := c.start(t, requests(target.URL, 10, 0, 1, 0), run.Options{})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	c.Master.Kill()
	c.Master.Begin(t)
	back := time.Now()
	c.Back(t)
	if o := c.Await(t, id, time.Minute, run.Cancelled); o.Cause != "master restarted" {
		t.Errorf("the run is %s (%s), want cancelled, master restarted", o.State, o.Cause)
	}
	for _, n := range c.Agents {
		Eventually(t, time.Minute, func() string {
			var all struct {
				Items []struct{ Name, State string }
			}
			if err := c.get("/api/v1/agents", &all); err != nil {
				return err.Error()
			}
			for _, a := range all.Items {
				if a.Name == n.Host.Name && (a.State == "ready" || a.State == "busy") {
					return ""
				}
			}
			return "agent " + n.Host.Name + " is not back"
		})
	}
	t.Logf("all agents are back %v after the restart", time.Since(back).Round(time.Millisecond))
	r := c.Finished(t, next, time.Minute) // the queue continues
	if r.State != run.Finished {
		t.Errorf("the run that waited is %s (%s)", r.State, r.Cause)
	}
	waited := asked(target, c.Agents...)
	Eventually(t, time.Minute, func() string {
		r := c.Result(t, id)
		if ok := count(t, r, "home.http_ok"); !r.Complete || ok > waited-10 || ok < waited-10-20 { // a cancel cuts what is in flight
			return fmt.Sprintf("the cancelled run counts %d answers (complete: %v, missing %q), the target has seen %d", ok, r.Complete, r.Missing, waited-10)
		}
		return ""
	})
	c.Check(t, check.Targets{id: {"home.http_ok": waited - 10}, next: {"home.http_ok": 10}})
}

// F50: a cancel in any state leads to cancelled, soon, and leaves nothing on the agents.
func TestCancelInEveryState(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	blocker := c.start(t, steady(target.URL, 2), run.Options{Duration: 300})
	queued := c.start(t, steady(target.URL, 2), run.Options{})
	c.Do(t, "POST", "/api/v1/runs/"+queued+"/cancel", nil, nil)
	if o := c.Run(t, queued); o.State != run.Cancelled {
		t.Errorf("the queued run is %s after its cancel", o.State)
	}
	if status, _, err := c.try("POST", "/api/v1/runs/"+queued+"/cancel", nil); err != nil || status != 409 {
		t.Errorf("a second cancel of a final run: %d %v, want 409", status, err)
	}
	c.Do(t, "POST", "/api/v1/runs/"+blocker+"/cancel", nil, nil)
	c.Await(t, blocker, time.Minute, run.Cancelled)
	for _, state := range []run.State{run.Compiling, run.Starting, run.Running, run.Stopping} {
		source, l, o := program, steady(target.URL, 2), run.Options{Duration: 300}
		switch state {
		case run.Compiling:
			source += fmt.Sprintf("\nvar _ = %d\n", os.Getpid()) // compiled again
		case run.Starting:
			l.Setup = true
		case run.Stopping:
			l.Drain = "http://10.77.255.1/" // where nothing answers
			o = run.Options{Duration: 1, GracefulStop: 60}
		}
		id := c.Submit(t, source, o, l.file(t))
		c.Await(t, id, 2*time.Minute, state)
		began := time.Now()
		c.Do(t, "POST", "/api/v1/runs/"+id+"/cancel", nil, nil)
		c.Await(t, id, time.Minute, run.Cancelled)
		t.Logf("%s: cancelled after %v", state, time.Since(began).Round(time.Millisecond))
		for _, n := range c.Agents {
			Eventually(t, time.Minute, func() string { return children(n.Pid()) })
		}
	}
	c.Check(t, nil)
}

// children names the processes that a process has; empty: none.
func children(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err.Error()
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err.Error()
	}
	all := string(b)
	for _, task := range tasks {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name())) // a thread may have ended
		all += string(b)
	}
	if all = strings.TrimSpace(all); all != "" {
		return "processes " + all + " are left"
	}
	return ""
}

// F6: an agent that is frozen makes no load after its lease, is lost to the
// master, and what it had counted counts once.
func TestAgentFrozen(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	frozen := c.Agents[0]
	frozen.Signal(syscall.SIGSTOP)
	withinLease(t, stops(t, target, frozen))
	c.AwaitAgent(t, frozen, "lost", time.Minute)
	frozen.Signal(syscall.SIGCONT)
	c.AwaitAgent(t, frozen, "busy", time.Minute) // with what its executor counted
	r := c.stop(t, id)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}
