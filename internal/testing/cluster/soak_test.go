//go:build linux

package cluster

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// defaultSoak is how many kills belong to make test. With more, the cluster's timeouts are
// the default ones.
const defaultSoak = 3

var (
	soak     = flag.Int("soak", defaultSoak, "how many masters, agents and executors TestSoak kills")
	seed     = flag.Uint64("soak-seed", 0, "seed of TestSoak; 0: random")
	soakFrom = flag.Int("soak-from", 1, "first run of TestSoak: the ones before it are counted as done")
	soakOut  = flag.String("soak-out", "", "file to which TestSoak appends a line of JSON after each run (default in the test's temporary folder)")
)

// soakFault is a kill of a run of the soak.
type soakFault struct {
	Victim   int           `json:"victim"` // 0: the master; otherwise the agent
	Executor bool          `json:"executor,omitempty"`
	After    time.Duration `json:"afterNs"`          // from the submission, or from the fault before
	Away     time.Duration `json:"awayNs,omitempty"` // until it is started again
}

// soakRun is a run of the soak. It depends on the seed and its number only, so that a soak
// can continue at any run.
type soakRun struct {
	Seed    uint64         `json:"seed"`
	Number  int            `json:"run"`
	Policy  run.LostPolicy `json:"policy"`
	Faults  []soakFault    `json:"faults"`
	Kills   int            `json:"kills"` // with those of all runs before it
	State   run.State      `json:"state"`
	Cause   string         `json:"cause,omitempty"`
	Counted int64          `json:"requests"` // that the target has seen
	Seconds float64        `json:"seconds"`
	Failed  bool           `json:"failed"`
}

// soakPlan returns what happens in a run.
func soakPlan(seed uint64, number, agents int) *soakRun {
	dice := rand.New(rand.NewPCG(seed, uint64(number)))
	upTo := func(limit time.Duration) time.Duration { return time.Duration(dice.Int64N(int64(limit))) }
	r := &soakRun{Seed: seed, Number: number, Policy: []run.LostPolicy{run.LostContinue, run.LostStop, run.LostRebalance}[dice.IntN(3)]}
	for range 1 + dice.IntN(2) {
		f := soakFault{}
		if n := dice.IntN(5); n > 0 {
			f.Victim, f.Executor = 1+n%agents, n == 4
		}
		f.After, f.Away = upTo(5*time.Second), upTo(3*time.Second)
		r.Faults = append(r.Faults, f)
	}
	return r
}

// F4, F5, F14: a master, an agent or an executor is killed at random moments, some of them while
// another one is still down, and restarted. After each run the checker verifies that all
// counts are stored or named as missing.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed := cmp.Or(*seed, rand.Uint64())
	out := cmp.Or(*soakOut, filepath.Join(t.TempDir(), "soak.jsonl"))
	t.Logf("go test ./internal/testing/cluster -run TestSoak -soak %d -soak-seed %d", *soak, seed)
	c, target := New(t, 3), NewTarget(t)
	seen := check.Targets{}
	for kills, number := 0, 1; kills < *soak; number++ {
		r := soakPlan(seed, number, len(c.Agents))
		kills += len(r.Faults)
		r.Kills = kills
		if number < *soakFrom {
			continue
		}
		c.soakRun(t, target, r, seen, out)
		if t.Failed() {
			return
		}
	}
}

// soakRun performs a run of the soak, appends it to the file out and checks all runs so far.
func (c *Cluster) soakRun(t *testing.T, target *Target, r *soakRun, seen check.Targets, out string) {
	began := time.Now()
	defer func() {
		r.Seconds, r.Failed = time.Since(began).Seconds(), t.Failed()
		r.append(t, out)
		t.Logf("to begin with run %d: -soak-seed %d -soak-from %d", r.Number, r.Seed, r.Number)
	}()
	path := fmt.Sprintf("/%d", r.Number)
	id := c.start(t, steady(target.URL+path[1:], 12), run.Options{Duration: 4, Lost: r.Policy})
	for _, f := range r.Faults {
		victim, name := c.Master, "the master"
		if f.Victim > 0 {
			victim = c.Agents[f.Victim-1]
			name = victim.Host.Name
			if f.Executor {
				name += "'s executor"
			}
		}
		t.Logf("run %d, on loss %s: %s dies after %v, for %v", r.Number, r.Policy, name, f.After.Round(time.Millisecond), f.Away.Round(time.Millisecond))
		time.Sleep(f.After) // the moment is random
		if f.Executor {
			for _, pid := range victim.Executors(t) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		} else {
			victim.Kill()
			time.Sleep(f.Away)
			victim.Begin(t)
		}
	}
	c.Back(t)
	for _, n := range c.Agents {
		c.AwaitAgent(t, n, "ready", time.Minute)
	}
	o := c.Await(t, id, 3*time.Minute, run.Finished, run.Failed, run.Cancelled)
	r.State, r.Cause = o.State, o.Cause
	t.Logf("run %d is %s (%s)", r.Number, o.State, o.Cause)
	c.Settle(t)
	r.Counted = target.On(path)
	seen[id] = map[string]int64{"home.http_ok": r.Counted}
	c.Check(t, seen)
}

// append appends the run to a file, as a line of JSON.
func (r *soakRun) append(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(r); err != nil {
		t.Error(err)
	}
}

// A run of the soak is the same whether the soak began with it or before it.
func TestSoakPlan(t *testing.T) {
	t.Parallel()
	for n := 1; n < 50; n++ {
		a, b := soakPlan(7, n, 3), soakPlan(7, n, 3)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("run %d is %v and %v", n, a, b)
		}
		for _, f := range a.Faults {
			if f.Victim < 0 || f.Victim > 3 {
				t.Errorf("run %d has the victim %d", n, f.Victim)
			}
		}
	}
}
