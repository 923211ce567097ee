//go:build linux

package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// S2's own scenario, but for the address that it asks: five users at ten requests a second
// each, over two agents on hosts of their own, one of which is killed. All that the other
// asked is counted, and what is missing is of the killed one's last moments.
func TestPublishedScenario(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../testdata/scenario/s2/scenario.go")
	if err != nil {
		t.Fatal(err)
	}
	c, target := New(t, 2), NewTarget(t)
	const asks = "http://localhost:8080"
	if strings.Count(string(source), asks) != 1 {
		t.Fatalf("the scenario does not ask %s", asks)
	}
	id := c.Submit(t, strings.Replace(string(source), asks, target.URL, 1), run.Options{Duration: times.Lost.Seconds() + 6})
	awaitLoad(t, target, 2)
	c.Await(t, id, time.Minute, run.Running)
	time.Sleep(2 * time.Second) // of the load, before the fault
	victim, other := c.Agents[1], c.Agents[0]
	victim.Kill()
	before := asked(target, other)
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Complete || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], victim.Host.Name) {
		t.Errorf("the run is %s (%s), missing %q: want it finished without what %s had", r.State, r.Cause, r.Missing, victim.Host.Name)
	}
	if asked(target, other) < before+40 { // 2 users or 3, for times.Lost and more
		t.Errorf("%s asked %d times after the other was killed", other.Host.Name, asked(target, other)-before)
	}
	counted := count(t, r, "home.http_ok")
	if lost := asked(target, victim, other) - counted; lost < 0 || lost > 4*3*10+3*5 { // four seconds of three users, and what was in flight
		t.Errorf("the target has seen %d requests, %d are counted", asked(target, victim, other), counted)
	}
	if started := count(t, r, "vu.f.started"); started != 5 {
		t.Errorf("%d users began, want 5", started)
	}
	victim.Begin(t)
	c.AwaitAgent(t, victim, "ready", time.Minute)
	c.Check(t, check.Targets{id: target.Counts(false)})
}
