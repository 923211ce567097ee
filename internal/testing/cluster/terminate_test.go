//go:build linux

package cluster

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// terminated starts a run whose users never end, with another one behind it, and has the
// master be asked to end.
func terminated(t *testing.T, c *Cluster, target *Target, before func()) (id, next string) {
	t.Helper()
	c.Login(t) // held follows the runs in a session
	l := steady(target.URL, 20)
	l.Endless = true
	id = c.start(t, l, run.Options{Duration: 300, GracefulStop: 3600})
	next = c.start(t, requests(target.URL+"next", 4, 0, 3, 0), run.Options{})
	c.Await(t, id, time.Minute, run.Running)
	awaitLoad(t, target, len(c.Agents))
	before()
	c.Master.Signal(syscall.SIGTERM)
	Eventually(t, time.Minute, func() string {
		if !strings.Contains(c.Master.Output(t), "ending: cancelling the active run") {
			return "the master does not say that it ends"
		}
		return ""
	})
	return id, next
}

// part has neither an agent nor the master reach the other, or both do so again.
func (c *Cluster) part(t *testing.T, n *Node, cut bool) {
	t.Helper()
	cutFromMaster(t, n, c.Master, cut)
	cutFromMaster(t, c.Master, n, cut)
}

// held keeps the API of a master busy: with a request whose rest never arrives, and
// with one that follows.
func held(t *testing.T, c *Cluster) {
	t.Helper()
	address := strings.TrimPrefix(c.url, "http://")
	half, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { half.Close() })
	fmt.Fprintf(half, "POST /api/v1/login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", address)
	follower, err := (&http.Client{Jar: c.http.Jar}).Get(c.url + "/api/v1/events")
	if err != nil || follower.StatusCode != http.StatusOK {
		t.Fatalf("follow the runs: %v %v", follower, err)
	}
	t.Cleanup(func() { follower.Body.Close() })
}

// F15: a master that is asked to end cancels the run that is active, takes in what it
// counted, and ends within 20 s, also when an agent is out of its reach. It begins no other
// run: that is for the next master.
func TestMasterTerminated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		away  bool
		cause string
	}{
		{"all agents there", false, "cancelled by the end of the master"},
		{"one agent away", true, "cancelled by the end of the master; agent "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, target := New(t, 2), NewTarget(t)
			asked := time.Now()
			id, next := terminated(t, c, target, func() {
				held(t, c)
				if tt.away {
					c.part(t, c.Agents[0], true)
				}
				asked = time.Now()
			})
			if status := c.Master.Wait(t, 30*time.Second); status != 0 {
				t.Errorf("the master ended with status %d", status)
			}
			t.Logf("the master ended after %v", time.Since(asked).Round(time.Millisecond))
			if n := target.On("/next"); n != 0 {
				t.Errorf("the run that waited has asked %d times", n)
			}
			c.quiet(t, target)
			seen := target.On("/")
			if tt.away {
				c.part(t, c.Agents[0], false)
			}
			c.Master.Begin(t)
			c.Back(t)
			if o := c.Await(t, id, time.Minute, run.Cancelled); !strings.HasPrefix(o.Cause, tt.cause) {
				t.Errorf("the run is %s (%s), want cancelled, %s", o.State, o.Cause, tt.cause)
			}
			ok := int64(0)
			Eventually(t, time.Minute, func() string { // what the one that was away has, too
				r := c.Result(t, id)
				if ok = count(t, r, "home.http_ok"); !r.Complete || ok > seen || ok < seen-20 { // a cancel cuts what is in flight
					return fmt.Sprintf("the run counts %d answers (complete: %v, missing %q), the target has seen %d", ok, r.Complete, r.Missing, seen)
				}
				return ""
			})
			if r := c.Finished(t, next, time.Minute); r.State != run.Finished || !r.Complete || target.On("/next") != 12 {
				t.Errorf("the run that waited is %s (%s), and asked %d times", r.State, r.Cause, target.On("/next"))
			}
			c.Check(t, check.Targets{id: {"home.http_ok": ok}, next: {"home.http_ok": 12}})
		})
	}
}

// quiet waits until the target has had no request for 2 s, and returns the time of the last
// one, which must be within the lease.
func (c *Cluster) quiet(t *testing.T, target *Target) (last time.Time) {
	t.Helper()
	Eventually(t, times.Lease+30*time.Second, func() string {
		all := target.Seen(time.Time{})
		if last = all[len(all)-1].At; time.Since(last) < 2*time.Second {
			return "the load goes on without a master"
		}
		return ""
	})
	return last
}

// F15: the second signal ends a master at once, even while it waits for an unreachable agent
// and for a request that is stuck. The agents stop the load, and the next master concludes the
// run.
func TestMasterTerminatedTwice(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	away := c.Agents[0]
	id, next := terminated(t, c, target, func() {
		held(t, c)
		c.part(t, away, true)
	})
	asked := time.Now()
	c.Master.Signal(syscall.SIGTERM)
	c.Master.Wait(t, 10*time.Second)
	gone := time.Now()
	t.Logf("the master ended %v after the second signal", gone.Sub(asked).Round(time.Millisecond))
	t.Logf("the load ended %v after the master", c.quiet(t, target).Sub(gone).Round(time.Millisecond))
	c.part(t, away, false)
	c.Master.Begin(t)
	c.Back(t)
	if o := c.Await(t, id, time.Minute, run.Cancelled); o.Cause != "master restarted" {
		t.Errorf("the run is cancelled by %q, want master restarted", o.Cause)
	}
	if r := c.Finished(t, next, time.Minute); r.State != run.Finished {
		t.Errorf("the run that waited is %s (%s)", r.State, r.Cause)
	}
	c.Check(t, check.Targets{next: {"home.http_ok": 12}})
}
