//go:build linux

package cluster

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
	"github.com/gobench-io/gobench/internal/testing/long"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *soak > defaultSoak {
		fullTimes()
	}
	os.Exit(Main(m))
}

// count is a metric's count.
func count(t *testing.T, r *run.Result, title string) int64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Title == title {
			return *m.Count
		}
	}
	t.Fatalf("the run has no metric %q", title)
	return 0
}

// S0-11, I1, I8: Nu 100 and Rate 33.3 on three agents are 100 users for the target, none
// twice, and what is counted is what the target has seen.
func TestThreeAgents(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.start(t, requests(target.URL, 100, 33.3, 5, 100*time.Millisecond), run.Options{})
	r := c.Finished(t, id, 3*time.Minute)
	if r.State != run.Finished || !r.Complete {
		t.Fatalf("the run is %s (%s), missing %q", r.State, r.Cause, r.Missing)
	}
	requests, users, hosts := target.Counted()
	if requests != 500 || len(users) != 100 || len(hosts) != 3 {
		t.Errorf("the target has seen %d requests of %d users on %d hosts, want 500, 100, 3", requests, len(users), len(hosts))
	}
	for vu, n := range users {
		if n != 5 {
			t.Errorf("user %s has asked %d times, want 5", vu, n)
		}
	}
	if ok, started := count(t, r, "home.http_ok"), count(t, r, "vu.ask.started"); ok != 500 || started != 100 {
		t.Errorf("counted are %d answers to %d users, want 500, 100", ok, started)
	}
	var first, last time.Time
	for _, h := range r.Hosts {
		if first.IsZero() || h.Began.Before(first) {
			first = h.Began
		}
		if h.Began.After(last) {
			last = h.Began
		}
	}
	most := time.Second
	if long.Run {
		most = 50 * time.Millisecond
	}
	if spread := last.Sub(first); len(r.Hosts) != 3 || first.IsZero() || spread > most {
		t.Errorf("%d hosts began within %v of each other, want 3 within %v", len(r.Hosts), spread, most)
	} else {
		t.Logf("the load began on all hosts within %v", spread)
	}
	c.Check(t, check.Targets{id: target.Counts(true)})
}
