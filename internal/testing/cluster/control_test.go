//go:build linux

package cluster

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// users are those that have asked since a moment.
func users(target *Target, since time.Time) map[string]int {
	all := map[string]int{}
	for _, s := range target.Seen(since) {
		all[s.User]++
	}
	return all
}

// settled waits until, in a while of 400 ms, as many users ask as are wanted, and says how
// long that took.
func settled(t *testing.T, target *Target, want int) time.Duration {
	t.Helper()
	began := time.Now()
	Eventually(t, time.Minute, func() string {
		since := time.Now()
		time.Sleep(400 * time.Millisecond) // users ask every 50 ms
		if got := len(users(target, since)); got != want {
			return fmt.Sprintf("%d users ask, want %d", got, want)
		}
		return ""
	})
	return time.Since(began)
}

// Live control of a closed load on three agents: the requested number of users applies to
// the whole run, and the target sees exactly that number. No added user has a number twice.
func TestControlUsers(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.start(t, loop(target.URL, 10, 5*time.Minute, 50*time.Millisecond), run.Options{})
	c.Await(t, id, 2*time.Minute, run.Running)
	control := func(change map[string]any) {
		t.Helper()
		c.Do(t, "POST", "/api/v1/runs/"+id+"/control", change, nil)
	}
	settled(t, target, 10)
	for _, n := range []int{31, 4, 1, 20} {
		control(map[string]any{"what": "scale", "users": n})
		took := settled(t, target, n)
		t.Logf("%d users after %v", n, took.Round(100*time.Millisecond))
	}
	hosts := map[string]map[string]bool{}
	for _, s := range target.Seen(time.Now().Add(-400 * time.Millisecond)) {
		if hosts[s.Host] == nil {
			hosts[s.Host] = map[string]bool{}
		}
		hosts[s.Host][s.User] = true
	}
	if len(hosts) != 3 {
		t.Errorf("users are on %d agents, want 3", len(hosts))
	}
	all := map[string]string{}
	for host, its := range hosts {
		if len(its) < 6 || len(its) > 7 {
			t.Errorf("%d users are on %s, want 6 or 7", len(its), host)
		}
		for u := range its {
			if all[u] != "" {
				t.Errorf("user %s is on %s and on %s", u, host, all[u])
			}
			all[u] = host
		}
	}
	control(map[string]any{"what": "pause"})
	settled(t, target, 0)
	paused := time.Now()
	time.Sleep(500 * time.Millisecond) // in which nothing may come
	if more := target.Seen(paused); len(more) > 0 {
		t.Errorf("%d requests come while the run is paused, the first %v after", len(more), more[0].At.Sub(paused))
	}
	control(map[string]any{"what": "resume"})
	settled(t, target, 20)
	c.Do(t, "POST", "/api/v1/runs/"+id+"/stop", nil, nil)
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
}

// Live control of an open load on three agents: a rate is that of all together.
func TestControlRate(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.start(t, arrival(target.URL, 30, 100, 5*time.Minute), run.Options{})
	c.Await(t, id, 2*time.Minute, run.Running)
	for _, rate := range []float64{300, 31, 200} {
		if o := c.Run(t, id); o.State.Final() {
			r := c.Result(t, id)
			t.Fatalf("the run is %s (%s): %q, %+v", o.State, o.Cause, r.Notes, r.Config.Classes)
		}
		c.Do(t, "POST", "/api/v1/runs/"+id+"/control", map[string]any{"what": "scale", "rate": rate}, nil)
		Eventually(t, time.Minute, func() string { // a start that was late is made up for, so it may take more than one second
			since := time.Now()
			time.Sleep(time.Second) // in which starts are counted
			if got := float64(len(target.Seen(since))) / time.Since(since).Seconds(); math.Abs(got-rate) > 2+rate/20 {
				return fmt.Sprintf("%v requests a second come, want %v", got, rate)
			}
			return ""
		})
	}
	c.Do(t, "POST", "/api/v1/runs/"+id+"/stop", nil, nil)
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished {
		t.Errorf("the run is %s (%s)", r.State, r.Cause)
	}
	exact(t, r, target)
}

// Thresholds are judged on what all agents count together, and one that aborts stops all.
func TestThresholdsOnTheWhole(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	// Each agent makes 500 of 1,500 requests: none alone crosses it.
	s := arrival(target.URL, 30, 100, 15*time.Second)
	r := c.Finished(t, c.start(t, s, run.Options{Thresholds: []string{"home.http_ok count <= 550 abort", "home.http_fail count == 0"}}), 2*time.Minute)
	requests, _, _ := target.Counted()
	if r.State != run.Finished || !strings.Contains(r.Cause, "threshold home.http_ok count <= 550 abort crossed") || len(r.Thresholds) != 2 || r.Thresholds[0].OK || !r.Thresholds[1].OK {
		t.Errorf("the run is %s (%s), thresholds %+v", r.State, r.Cause, r.Thresholds)
	}
	if requests <= 550 || requests >= 1500 {
		t.Errorf("the target was asked %d times, want more than 550 and less than the whole, 1,500", requests)
	}
	exact(t, r, target)
}
