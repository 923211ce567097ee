//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

var (
	soak = flag.Int("soak", 6, "how often TestSoak kills a master, an agent or an executor")
	seed = flag.Uint64("soak-seed", 0, "of TestSoak's dice; 0: drawn")
)

// F4, F5, F14: a master, an agent or an executor is killed at a random moment, of which some come while
// the killed one is still away, and begun again; after each run the checker finds that all
// that was counted is there or named.
func TestSoak(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("go test ./internal/testing/cluster -run TestSoak -soak %d -soak-seed %d", *soak, *seed)
	dice := rand.New(rand.NewPCG(*seed, 0))
	c, target := New(t, 3), NewTarget(t)
	seen := check.Targets{}
	upTo := func(limit time.Duration) time.Duration { return time.Duration(dice.Int64N(int64(limit))) }
	for kills, round := 0, 1; kills < *soak; round++ {
		policy := []run.LostPolicy{run.LostContinue, run.LostStop, run.LostRebalance}[dice.IntN(3)]
		path := fmt.Sprintf("/%d", round)
		id := c.Submit(t, steady(target.URL+path[1:], 12), run.Options{Duration: 4, Lost: policy})
		for range 1 + dice.IntN(2) {
			victim, name, executors := c.Master, "the master", false
			if n := dice.IntN(5); n > 0 {
				victim = c.Agents[n%3]
				name = victim.Host.Name
				if executors = n == 4; executors {
					name += "'s executor"
				}
			}
			pause, away := upTo(5*time.Second), upTo(3*time.Second)
			t.Logf("round %d, on loss %s: %s dies after %v, for %v", round, policy, name, pause.Round(time.Millisecond), away.Round(time.Millisecond))
			time.Sleep(pause) // the moment is the dice's
			if executors {
				for _, pid := range victim.Executors(t) {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
			} else {
				victim.Kill()
				time.Sleep(away)
				victim.Begin(t)
			}
			kills++
		}
		c.Back(t)
		for _, n := range c.Agents {
			c.AwaitAgent(t, n, "ready", time.Minute)
		}
		o := c.Await(t, id, 3*time.Minute, run.Finished, run.Failed, run.Cancelled)
		t.Logf("round %d: the run is %s (%s)", round, o.State, o.Cause)
		c.Settle(t)
		seen[id] = map[string]int64{"home.http_ok": target.On(path)}
		c.Check(t, seen)
		if t.Failed() {
			return
		}
	}
}
