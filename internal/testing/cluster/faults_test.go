//go:build linux

package cluster

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// steady has users that ask the target every 50 ms until the run's end.
func steady(url string, nu int) string {
	s := scenario(url, nu, 0, 1, 50*time.Millisecond)
	return strings.Replace(s, "for range 1 {", "for ctx.Err() == nil {", 1)
}

// load waits until the target is asked, and so the load is on.
func load(t *testing.T, target *Target, hosts int) {
	t.Helper()
	Eventually(t, 2*time.Minute, func() string {
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

// F5, default policy: an agent that is killed ends its executor at once; the others go
// on, the run is marked, and what was delivered counts.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 30), run.Options{Duration: 25})
	load(t, target, 3)
	c.Await(t, id, time.Minute, run.Running)
	victim := c.Agents[1]
	victim.Kill()
	before := asked(target, victim)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Verdict != run.Suspect { // unless the machine itself was disturbed
		invalid := r.Verdict == run.Invalid
		for _, reason := range r.Reasons {
			invalid = invalid && reason.Signal != "totals"
		}
		if !invalid {
			t.Errorf("the run is %s (%s), %s for %+v; want finished, SUSPECT", r.State, r.Cause, r.Verdict, r.Reasons)
		}
	}
	if after := asked(target, victim); after > before+30 { // one more of each user that was in flight
		t.Errorf("the killed agent's executor asked %d times more", after-before)
	}
	if r.Complete || !strings.Contains(strings.Join(r.Missing, " "), victim.Host.Name) {
		t.Errorf("missing is %q, want what %s had", r.Missing, victim.Host.Name)
	}
	if !strings.Contains(fmt.Sprint(r.Notes), "agent "+victim.Host.Name+" was lost") {
		t.Errorf("notes %q do not tell of the lost agent", r.Notes)
	}
	for _, node := range []*Node{c.Agents[0], c.Agents[2]} {
		if asked(target, node) < 1500 { // 10 users, 20 a second each, 25 s
			t.Errorf("%s asked only %d times: it did not go on", node.Host.Name, asked(target, node))
		}
	}
	total, counted := asked(target, c.Agents...), count(t, r, "home.http_ok")
	if lost := total - counted; lost < 0 || lost > 3*10*20 {
		t.Errorf("the target has seen %d requests, counted are %d: want at most three seconds of one agent between them", total, counted)
	}
	victim.Begin(t) // it is known, and ready for the next run
	c.AwaitAgent(t, victim, "ready", 20*time.Second)
	c.Check(t, check.Targets{id: target.Counts(false)})
}

// F8: five seconds without the master change nothing.
func TestShortPartition(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 20})
	load(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	// The agent loses the master, not the target.
	cutFromMaster(t, c.Agents[0], c.Master, true)
	time.Sleep(5 * time.Second) // as long as the cut is to last
	cutFromMaster(t, c.Agents[0], c.Master, false)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
	for _, reason := range r.Reasons {
		if reason.Signal == "agents" {
			t.Errorf("the verdict is lowered: %s", reason.Text)
		}
	}
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

// F9: load stops at the end of the lease; what was counted by then arrives once the
// master is back, exactly.
func TestLongPartition(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 50})
	load(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	away := c.Agents[0]
	cutFromMaster(t, away, c.Master, true)
	began := time.Now()
	var stopped time.Duration
	last := asked(target, away)
	for change := time.Now(); time.Since(change) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
		if n := asked(target, away); n != last {
			last, change, stopped = n, time.Now(), time.Since(began)
		}
		if time.Since(began) > 40*time.Second {
			t.Fatal("the load goes on after the lease")
		}
	}
	if stopped < 10*time.Second || stopped > 18*time.Second {
		t.Errorf("the load stopped %v after the cut, want at the end of the lease of 15 s", stopped)
	}
	cutFromMaster(t, away, c.Master, false)
	r := c.Finished(t, id, 2*time.Minute)
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
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 120})
	next := c.Submit(t, scenario(target.URL, 10, 0, 1, 0), run.Options{})
	load(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	c.Master.Kill()
	c.Master.Begin(t)
	back := time.Now()
	c.Login(t)
	if o := c.Run(t, id); o.State != run.Cancelled || o.Cause != "master restarted" {
		t.Errorf("the run is %s (%s), want cancelled, master restarted", o.State, o.Cause)
	}
	for _, n := range c.Agents {
		Eventually(t, 30*time.Second, func() string {
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
	r := c.Finished(t, next, time.Minute) // the queue goes on
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
	blocker := c.Submit(t, steady(target.URL, 2), run.Options{Duration: 300})
	queued := c.Submit(t, steady(target.URL, 2), run.Options{})
	c.Do(t, "POST", "/api/v1/runs/"+queued+"/cancel", nil, nil)
	if o := c.Run(t, queued); o.State != run.Cancelled {
		t.Errorf("the queued run is %s after its cancel", o.State)
	}
	if status, _, err := c.try("POST", "/api/v1/runs/"+queued+"/cancel", nil); err != nil || status != 409 {
		t.Errorf("a second cancel of a final run: %d %v, want 409", status, err)
	}
	c.Do(t, "POST", "/api/v1/runs/"+blocker+"/cancel", nil, nil)
	c.Await(t, blocker, 15*time.Second, run.Cancelled)
	for i, state := range []run.State{run.Compiling, run.Starting, run.Running, run.Stopping} {
		s := steady(target.URL, 2) + fmt.Sprintf("\nvar _ = %d\n", i*1000+os.Getpid()) // compiled anew
		if state == run.Starting {                                                     // a Setup that takes its time
			s = strings.Replace(s, "Fu: ask}", "Fu: ask, Setup: func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return ctx, ctx.Err() }}", 1)
		}
		o := run.Options{Duration: 300}
		if state == run.Stopping { // a drain that takes its time
			s = strings.Replace(s, "for ctx.Err() == nil {", "c.Get(context.Background(), \"http://10.77.255.1/\", nil)\n\tfor ctx.Err() == nil {", 1)
			o = run.Options{Duration: 1, GracefulStop: 60}
		}
		id := c.Submit(t, s, o)
		c.Await(t, id, 2*time.Minute, state)
		began := time.Now()
		c.Do(t, "POST", "/api/v1/runs/"+id+"/cancel", nil, nil)
		c.Await(t, id, 16*time.Second, run.Cancelled)
		t.Logf("%s: cancelled after %v", state, time.Since(began).Round(time.Millisecond))
		for _, n := range c.Agents {
			Eventually(t, 10*time.Second, func() string { return children(n.Pid()) })
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

// F6: an agent that is frozen for 30 s makes no load after its lease, is lost to the
// master, and what it had counted counts once.
func TestAgentFrozen(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 45})
	load(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	frozen := c.Agents[0]
	frozen.Signal(syscall.SIGSTOP)
	time.Sleep(17 * time.Second) // beyond the lease
	before := asked(target, frozen)
	time.Sleep(3 * time.Second) // in which nothing more may come
	if more := asked(target, frozen) - before; more > 0 {
		t.Errorf("a frozen agent's executor asked %d times after its lease", more)
	}
	c.AwaitAgent(t, frozen, "lost", 5*time.Second)
	frozen.Signal(syscall.SIGCONT)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	exact(t, r, target)
	c.Check(t, check.Targets{id: target.Counts(false)})
}
