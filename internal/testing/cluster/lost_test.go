//go:build linux

package cluster

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// F5, policy stop: the run ends, failed, soon after an agent was lost.
func TestAgentLostStops(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 300, Lost: run.LostStop})
	c.Await(t, id, 2*time.Minute, run.Running)
	awaitLoad(t, target, 2)
	c.Agents[1].Kill()
	killed := time.Now()
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Failed || r.Failure != run.FailedLost || !strings.Contains(r.Cause, "agent "+c.Agents[1].Host.Name+" was lost at") {
		t.Errorf("the run is %s (%s), failure %q", r.State, r.Cause, r.Failure)
	}
	seen := target.Seen(killed)
	if last := seen[len(seen)-1].At.Sub(killed); last > times.Lost+10*time.Second {
		t.Errorf("the load went on for %v", last)
	}
}

// Others take over fence after a lost agent's lease, ahead of the moment in the run at which
// they begin (constants of internal/master).
const fence, ahead = 5 * time.Second, 3 * time.Second

// F5, policy rebalance: the others do what the lost agent did, once its lease has ended;
// never is there more load than the whole; and a lost agent that reconnects does nothing.
func TestAgentLostRebalances(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	rate, users, slack := 100, 21, 3 // slack is by how many seconds a busy host may be late
	if long.Run {
		rate, users, slack = 300, 60, 1
	}
	well := scaled(5 * time.Second)                            // before the fault
	over := well + times.Lease + fence + ahead + 8*time.Second // the end of the load
	s := arrival(target.URL, users, float64(rate), over)
	target.Behave(func(http.ResponseWriter, *http.Request) { time.Sleep(170 * time.Millisecond) }) // so that most users are busy
	id := c.start(t, s, run.Options{Lost: run.LostRebalance})
	c.Await(t, id, 2*time.Minute, run.Running)
	awaitLoad(t, target, 3)
	victim := c.Agents[1]
	begin := target.Seen(time.Time{})[0].At
	time.Sleep(well)
	// The network is cut, the agent is not killed: its load continues until its lease ends.
	cutFromMaster(t, victim, c.Master, true)
	cut := time.Now()
	Eventually(t, time.Minute, func() string {
		if text := fmt.Sprint(c.Result(t, id).Notes); !strings.Contains(text, "what was lost is done by") {
			return "nobody took over: " + text
		}
		return ""
	})
	cutFromMaster(t, victim, c.Master, false) // it is back, and refused
	r := c.Finished(t, id, 2*time.Minute)
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
			if gap := x.At.Sub(before.At); gap < fence {
				t.Errorf("user %s is on %s %v after it was on %s", x.User, x.Host, gap, before.Host)
			}
		}
		of[x.User] = x
		if x.Host == victim.Address {
			last = x.At.Sub(begin)
		}
	}
	if taken < users/6 || taken > users/3 {
		t.Errorf("%d users of %d were seen to be taken over, want almost %d of %d", taken, len(of), users/3, users)
	}
	lease := last - cut.Sub(begin)
	t.Logf("the lost agent made load for %v after the cut", lease.Round(100*time.Millisecond))
	if lease > times.Lease+time.Duration(slack)*time.Second {
		t.Errorf("the lost agent made load for %v after it was cut off, its lease is %v", lease, times.Lease)
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
	for at := time.Duration(0); at < over; at += 100 * time.Millisecond {
		if n := between(at, at+100*time.Millisecond); n > most {
			most, mostAt = n, at
		}
	}
	t.Logf("at most %d requests came in 100 ms (at %v), of %d", most, mostAt, rate/10)
	back := last
	for back < over-2*time.Second && between(back, back+time.Second) < rate*19/20 {
		back += 100 * time.Millisecond
	}
	wanted := cut.Sub(begin) + times.Lease + fence + 5*time.Second // and the start, at a whole second
	t.Logf("all of the load is back at %v, want by %v", back, wanted)
	if long.Run && back > wanted {
		t.Errorf("all of the load is back at %v, want by %v", back, wanted)
	}
	// What came late in a phase may be in the next one.
	late := float64(slack * rate)
	for _, phase := range [][2]time.Duration{{0, cut.Sub(begin)}, {0, last}, {last, back}, {back, over - time.Second}} {
		if n, whole := between(phase[0], phase[1]), (phase[1]-phase[0]).Seconds()*float64(rate); float64(n) > whole+late {
			t.Errorf("%d requests came from %v to %v, the whole is %.0f", n, phase[0], phase[1], whole)
		}
	}
	if n, whole := between(back, over-time.Second), (over-time.Second-back).Seconds()*float64(rate); float64(n) < whole-late {
		t.Errorf("%d requests came from %v on, want %.0f", n, back, whole)
	}
	exact(t, r, target) // what the lost agent counted has come, too
	var series types.Series
	c.Do(t, "GET", "/api/v1/runs/"+id+"/series", nil, &series)
	for i, x := range series.Intervals[1:] {
		if before := series.Intervals[i]; math.Abs(before.From+before.Seconds-x.From) > 1e-6 {
			t.Errorf("the interval from %v s, %v s long, is followed by one from %v s", before.From, before.Seconds, x.From)
		}
	}
}

// An agent that is restarted during a run no longer takes part in that run: the run notes it
// at once, and the others continue.
func TestAgentRestarted(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	id := c.start(t, steady(target.URL, 20), run.Options{Duration: 8})
	c.Await(t, id, 2*time.Minute, run.Running)
	awaitLoad(t, target, 2)
	victim := c.Agents[0]
	victim.Kill()
	victim.Begin(t)
	r := c.Finished(t, id, time.Minute)
	notes := fmt.Sprint(r.Notes)
	if r.State != run.Finished || r.Verdict == run.Valid || !strings.Contains(notes, "agent "+victim.Host.Name+" was lost") && !strings.Contains(notes, "on "+victim.Host.Name+": the executor ended with its agent") {
		t.Errorf("the run is %s (%s), %s, notes %q", r.State, r.Cause, r.Verdict, notes)
	}
	if n := asked(target, c.Agents[1]); n < 10*perSecond*8/4 { // 10 users, on a busy host
		t.Errorf("the other agent asked only %d times", n)
	}
	c.AwaitAgent(t, victim, "ready", time.Minute)
	before, _, _ := target.Counted()
	r = c.Finished(t, c.start(t, requests(target.URL, 10, 0, 3, 0), run.Options{}), time.Minute)
	if after, _, _ := target.Counted(); after-before != 30 || count(t, r, "home.http_ok") != 30 || len(r.Hosts) != 2 {
		t.Errorf("the next run asked %d times and counts %d, on %d agents; want 30, 30, 2", after-before, count(t, r, "home.http_ok"), len(r.Hosts))
	}
}
