//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// F5, policy stop: the run ends, failed, soon after an agent was lost.
func TestAgentLostStops(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 120, Lost: run.LostStop})
	c.Await(t, id, 2*time.Minute, run.Running)
	load(t, target, 2)
	c.Agents[1].Kill()
	killed := time.Now()
	r := c.Finished(t, id, 30*time.Second)
	if r.State != run.Failed || r.Failure != run.FailedLost || !strings.Contains(r.Cause, "agent "+c.Agents[1].Host.Name+" was lost at") {
		t.Errorf("the run is %s (%s), failure %q", r.State, r.Cause, r.Failure)
	}
	seen := target.Seen(killed)
	if last := seen[len(seen)-1].At.Sub(killed); last > 14*time.Second { // lost after 10 s
		t.Errorf("the load went on for %v", last)
	}
}

// F5, policy rebalance: the others do what the lost agent did, once its lease has ended;
// never is there more load than the whole; and the lost agent that comes back does nothing.
func TestAgentLostRebalances(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	const rate = 300
	s := arrival(target.URL, 60, fmt.Sprintf("{To: %d, Over: 36 * time.Second}", rate), "")
	target.Behave(func(http.ResponseWriter, *http.Request) { time.Sleep(170 * time.Millisecond) }) // so that most users are busy
	id := c.Submit(t, s, run.Options{Lost: run.LostRebalance})
	c.Await(t, id, 2*time.Minute, run.Running)
	load(t, target, 3)
	victim := c.Agents[1]
	begin := target.Seen(time.Time{})[0].At
	time.Sleep(5 * time.Second) // so long all is well
	// The network is cut, not the agent killed: it goes on until its lease ends.
	cutFromMaster(t, victim, c.Master, true)
	cut := time.Now()
	Eventually(t, 40*time.Second, func() string {
		if text := fmt.Sprint(c.Result(t, id).Notes); !strings.Contains(text, "do what was lost") {
			return "nobody took over: " + text
		}
		return ""
	})
	cutFromMaster(t, victim, c.Master, false) // it is back, and refused
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished || r.Verdict == run.Valid {
		t.Errorf("the run is %s (%s), %s: want finished, not VALID", r.State, r.Cause, r.Verdict)
	}
	// What a user does is done by one agent at a time, and by another one only when the first
	// can make no load any more, however late either of them is for want of CPU.
	all, last := target.Seen(time.Time{}), time.Duration(0)
	of := map[string]Seen{} // each user's newest
	taken := 0
	for _, x := range all {
		before, known := of[x.User]
		switch {
		case x.Host == victim.Address && known && before.Host != x.Host:
			t.Errorf("user %s is on the lost agent again at %v", x.User, x.At.Sub(begin))
		case known && before.Host != x.Host:
			taken++
			if gap := x.At.Sub(before.At); gap < 5*time.Second {
				t.Errorf("user %s is on %s %v after it was on %s", x.User, x.Host, gap, before.Host)
			}
		}
		of[x.User] = x
		if x.Host == victim.Address {
			last = x.At.Sub(begin)
		}
	}
	if taken < 10 || taken > 20 {
		t.Errorf("%d users of %d were seen to be taken over, want almost 20 of 60", taken, len(of))
	}
	lease := last - cut.Sub(begin)
	t.Logf("the lost agent made load for %v after the cut", lease.Round(100*time.Millisecond))
	if lease > 16*time.Second {
		t.Errorf("the lost agent made load for %v after it was cut off, its lease is 15 s", lease)
	}
	between := func(from, to time.Duration) (n int) {
		for _, x := range all {
			if at := x.At.Sub(begin); at >= from && at < to {
				n++
			}
		}
		return n
	}
	most, mostAt := 0, time.Duration(0)
	for at := time.Duration(0); at < 36*time.Second; at += 100 * time.Millisecond {
		if n := between(at, at+100*time.Millisecond); n > most {
			most, mostAt = n, at
		}
	}
	t.Logf("at most %d requests came in 100 ms (at %v), of %d", most, mostAt, rate/10)
	back := last
	for back < 34*time.Second && between(back, back+time.Second) < rate*19/20 {
		back += 100 * time.Millisecond
	}
	over := cut.Sub(begin) + 15*time.Second + 5*time.Second + 4*time.Second // the lease, the fence, the start
	t.Logf("all of the load is back at %v, want by %v", back, over)
	if back > over {
		t.Errorf("all of the load is back at %v, want by %v", back, over)
	}
	// What came late in a phase may be in the next one: a second's worth.
	for _, phase := range [][2]time.Duration{{0, cut.Sub(begin)}, {0, last}, {last, back}, {back, 35 * time.Second}} {
		if n, whole := between(phase[0], phase[1]), (phase[1]-phase[0]).Seconds()*rate; float64(n) > whole+rate {
			t.Errorf("%d requests came from %v to %v, the whole is %.0f", n, phase[0], phase[1], whole)
		}
	}
	if n, whole := between(back, 35*time.Second), (35*time.Second-back).Seconds()*rate; float64(n) < whole-rate {
		t.Errorf("%d requests came from %v on, want %.0f", n, back, whole)
	}
	exact(t, r, target) // what the lost agent counted has come, too
}

// An agent that is begun anew in a run is not that run's any more: the run says so, at
// once, and the others go on.
func TestAgentRestarted(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.Submit(t, steady(target.URL, 20), run.Options{Duration: 15})
	c.Await(t, id, 2*time.Minute, run.Running)
	load(t, target, 2)
	victim := c.Agents[0]
	victim.Kill()
	victim.Begin(t)
	r := c.Finished(t, id, time.Minute)
	notes := fmt.Sprint(r.Notes)
	if r.State != run.Finished || r.Verdict == run.Valid || !strings.Contains(notes, "agent "+victim.Host.Name+" was lost") && !strings.Contains(notes, "on "+victim.Host.Name+": the executor ended with its agent") {
		t.Errorf("the run is %s (%s), %s, notes %q", r.State, r.Cause, r.Verdict, notes)
	}
	if n := asked(target, c.Agents[1]); n < 1500 { // 10 users, 20 a second, 15 s: half of it on a busy machine
		t.Errorf("the other agent asked only %d times", n)
	}
	c.AwaitAgent(t, victim, "ready", 20*time.Second)
	before, _, _ := target.Counted()
	r = c.Finished(t, c.Submit(t, scenario(target.URL, 10, 0, 3, 0), run.Options{}), time.Minute)
	if after, _, _ := target.Counted(); after-before != 30 || count(t, r, "home.http_ok") != 30 || len(r.Hosts) != 2 {
		t.Errorf("the next run asked %d times and counts %d, on %d agents; want 30, 30, 2", after-before, count(t, r, "home.http_ok"), len(r.Hosts))
	}
}
