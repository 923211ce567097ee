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

// sum adds up counters that have been counted.
func sum(r *run.Result, titles ...string) (n int64) {
	for _, m := range r.Metrics {
		for _, title := range titles {
			if m.Title == title && m.Count != nil {
				n += *m.Count
			}
		}
	}
	return n
}

// accounted makes sure that a run that was cut off counts what the target has seen, but
// for what was in flight.
func accounted(t *testing.T, r *run.Result, seen int64) {
	t.Helper()
	counted, cut := sum(r, "home.http_ok", "home.http_fail"), sum(r, "home.error.canceled", "home.error.timeout")
	if !r.Complete || counted > seen || counted+cut < seen {
		t.Errorf("the run counts %d answers and %d that were cut off (complete: %v, missing %q), the target has seen %d requests", counted, cut, r.Complete, r.Missing, seen)
	}
}

// F57: the load is over at most 3 s after it does harm, by the target's own clock.
func TestGuards(t *testing.T) {
	t.Parallel()
	c, target := New(t, 2), NewTarget(t)
	for _, tt := range []struct {
		name   string
		guards run.Guards
		harm   func(id string)
		cause  string
	}{
		{"error rate", run.Guards{ErrorRate: 0.05}, func(string) {
			target.Behave(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		}, "of the operations of home failed"},
		{"p99", run.Guards{P99: 0.2}, func(string) {
			target.Behave(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(400 * time.Millisecond) })
		}, "guard: the p99 of home was"},
		{"max rate", run.Guards{Rate: 600}, func(id string) {
			c.Do(t, "POST", "/api/v1/runs/"+id+"/control", map[string]any{"what": "scale", "users": 100}, nil) // 20/s each
		}, "operations a second were done, and at most 600 may"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target.Behave(nil)
			before, _, _ := target.Counted()
			begin := time.Now()
			id := c.Submit(t, loop(target.URL, 20, time.Minute, 50*time.Millisecond), run.Options{Guards: tt.guards})
			c.Await(t, id, time.Minute, run.Running)
			Eventually(t, time.Minute, func() string { // a second without harm
				if n := len(target.Seen(begin)); n < 800 {
					return fmt.Sprintf("only %d requests have come", n)
				}
				return ""
			})
			if o := c.Run(t, id); o.State != run.Running {
				t.Fatalf("the run is %s (%s) before it does harm", o.State, o.Cause)
			}
			tt.harm(id)
			breach := time.Now()
			r := c.Finished(t, id, 30*time.Second)
			if r.State != run.Failed || r.Failure != run.FailedGuard || !strings.Contains(r.Cause, tt.cause) {
				t.Errorf("the run is %s (%s), failure %q", r.State, r.Cause, r.Failure)
			}
			seen := target.Seen(breach)
			last := seen[len(seen)-1].At.Sub(breach)
			if last > 3*time.Second {
				t.Errorf("the last request came %v after the breach", last)
			}
			t.Logf("the last request came %v after the breach: %s", last.Round(time.Millisecond), r.Cause)
			after, _, _ := target.Counted()
			accounted(t, r, after-before)
		})
	}
}

// loop has users that ask the target again and again, with a pause after each.
func loop(url string, nu int, length, pause time.Duration) string {
	s := scenario(url, nu, 0, 1, pause)
	return strings.Replace(s, "Fu: ask}", fmt.Sprintf("Fu: ask, Load: scenario.Loop(%d)}", length), 1)
}

// A run goes nowhere but to its targets: not to another host, nor to the master, by
// whatever name.
func TestTargetsOnly(t *testing.T) {
	t.Parallel()
	c, target, other := New(t, 2), NewTarget(t), NewTarget(t)
	s := scenario(target.URL, 10, 0, 5, 10*time.Millisecond)
	s = strings.Replace(s, "select {", fmt.Sprintf(`c.Get(ctx, %q, nil)
		c.Get(ctx, "http://[::ffff:%s]:80/", nil)
		c.Get(ctx, "http://%s:8080/healthz", nil)
		c.Get(ctx, "http://169.254.169.254/", nil)
		select {`, other.URL, other.Host.Address, c.Master.Address), 1)
	for _, tt := range []struct {
		name    string
		targets []string
		blocked int64 // of 50 rounds on each
		other   int64
	}{
		{"one target", []string{target.Host.Address}, 200, 0},
		{"a prefix, in which the master is", []string{"10.77.0.0/16"}, 100, 100},
		{"none listed", nil, 100, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, _, _ := target.Counted()
			otherBefore, _, _ := other.Counted()
			r := c.Finished(t, c.Submit(t, s, run.Options{Guards: run.Guards{Targets: tt.targets}}), time.Minute)
			after, _, _ := target.Counted()
			otherAfter, _, _ := other.Counted()
			if r.State != run.Finished || after-before != 50 || otherAfter-otherBefore != tt.other || sum(r, "home.http_ok") != 50+tt.other || sum(r, "home.error.blocked") != tt.blocked {
				t.Errorf("the run is %s (%s): the target was asked %d times, the other %d; %d answers, %d blocked; want 50, %d, %d, %d; %v",
					r.State, r.Cause, after-before, otherAfter-otherBefore, sum(r, "home.http_ok"), sum(r, "home.error.blocked"), tt.other, 50+tt.other, tt.blocked, r.Errors)
			}
		})
	}
}
