//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/long"
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

// F57: the load is over at most 3 s after it does harm, by the target's own clock; the
// short form allows for a busy host.
func TestGuards(t *testing.T) {
	t.Parallel()
	limit := 20 * time.Second
	if long.Run {
		limit = 3 * time.Second
	}
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
		{"p99", run.Guards{P99: 0.8}, func(string) {
			target.Behave(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(1200 * time.Millisecond) })
		}, "guard: the p99 of home was"},
		{"max rate", run.Guards{Rate: 350}, func(id string) {
			c.Do(t, "POST", "/api/v1/runs/"+id+"/control", map[string]any{"what": "scale", "users": 100}, nil) // 10/s each
		}, "operations a second were done, and at most 350 may"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target.Behave(nil)
			before, _, _ := target.Counted()
			begin := time.Now()
			id := c.start(t, loop(target.URL, 20, time.Minute, 100*time.Millisecond), run.Options{Guards: tt.guards})
			c.Await(t, id, time.Minute, run.Running)
			Eventually(t, time.Minute, func() string { // a second without harm
				if n := len(target.Seen(begin)); n < 300 {
					return fmt.Sprintf("only %d requests have come", n)
				}
				return ""
			})
			if o := c.Run(t, id); o.State != run.Running {
				t.Fatalf("the run is %s (%s) before it does harm", o.State, o.Cause)
			}
			tt.harm(id)
			breach := time.Now()
			r := c.Finished(t, id, time.Minute)
			if r.State != run.Failed || r.Failure != run.FailedGuard || !strings.Contains(r.Cause, tt.cause) {
				t.Errorf("the run is %s (%s), failure %q", r.State, r.Cause, r.Failure)
			}
			seen := target.Seen(breach)
			last := seen[len(seen)-1].At.Sub(breach)
			if last > limit {
				t.Errorf("the last request came %v after the breach", last)
			}
			t.Logf("the last request came %v after the breach: %s", last.Round(time.Millisecond), r.Cause)
			after, _, _ := target.Counted()
			accounted(t, r, after-before)
		})
	}
}

// A run goes nowhere but to its targets: not to another host, nor to the master, by
// whatever name.
func TestTargetsOnly(t *testing.T) {
	t.Parallel()
	c, target, other := New(t, 2), NewTarget(t), NewTarget(t)
	s := requests(target.URL, 10, 0, 5, 10*time.Millisecond)
	s.Also = []string{other.URL, "http://[::ffff:" + other.Host.Address + "]:80/", "http://" + c.Master.Address + ":8080/healthz", "http://169.254.169.254/"}
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
			r := c.Finished(t, c.start(t, s, run.Options{Guards: run.Guards{Targets: tt.targets}}), time.Minute)
			after, _, _ := target.Counted()
			otherAfter, _, _ := other.Counted()
			if r.State != run.Finished || after-before != 50 || otherAfter-otherBefore != tt.other || sum(r, "home.http_ok") != 50+tt.other || sum(r, "home.error.blocked") != tt.blocked {
				t.Errorf("the run is %s (%s): the target was asked %d times, the other %d; %d answers, %d blocked; want 50, %d, %d, %d; %v",
					r.State, r.Cause, after-before, otherAfter-otherBefore, sum(r, "home.http_ok"), sum(r, "home.error.blocked"), tt.other, 50+tt.other, tt.blocked, r.Errors)
			}
		})
	}
}
