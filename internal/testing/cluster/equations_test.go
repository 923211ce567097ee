//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/equations"
	"github.com/gobench-io/gobench/internal/testing/long"
)

var equationSeeds = flag.Int("equations", 0, "how many random runs TestEquations makes; 0: as make test and make test-long do")

// TestEquations: nothing vanishes from the counts of a run on two agents, whatever the target does
// and however the run ends: by itself, a stop, a cancel, the kill of an executor or of an agent.
func TestEquations(t *testing.T) {
	t.Parallel()
	seeds := 6
	switch {
	case *equationSeeds > 0:
		seeds = *equationSeeds
	case long.Run:
		seeds = 30
	}
	c := NewHere(t, 2)
	for seed := range seeds {
		choose := rand.New(rand.NewPCG(uint64(seed), 15))
		target := equations.NewTarget(t, choose)
		load := equations.Loads[choose.IntN(len(equations.Loads))]
		out := filepath.Join(t.TempDir(), "r.json")
		users := 2 + choose.IntN(20)
		flags := fmt.Sprintf("-c %d %s --timeout 1500ms --interval 100ms", users, load.Flags)
		if choose.IntN(2) == 0 {
			flags += " --graceful-stop 200ms"
		}
		args := append([]string{"http", "--master", c.url, "-q", "-o", out}, strings.Fields(flags)...)
		follower := c.Master.Host.Start(t, []string{"GOBENCH_TOKEN=" + c.tokens.admin}, append(args, target.URL)...)
		target.Await(t)
		end := []string{"stop", "cancel", "kill of an executor", "kill of an agent", "itself"}[(seed+choose.IntN(2))%5]
		after := time.Duration(choose.IntN(900)) * time.Millisecond
		if end != "itself" {
			time.Sleep(after) // into the load
		}
		victim := c.Agents[choose.IntN(2)]
		switch end {
		case "stop", "cancel":
			var runs struct{ Items []run.Order }
			c.Do(t, "GET", "/api/v1/runs?limit=1", nil, &runs)
			_, _, _ = c.try("POST", "/api/v1/runs/"+runs.Items[0].ID+"/"+end, nil) // it may have ended
		case "kill of an executor":
			for _, pid := range victim.Executors(t) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		case "kill of an agent":
			victim.Kill()
		}
		follower.Wait(t, 5*time.Minute)
		starts := load.Starts
		if end != "itself" {
			starts = 0
		}
		what := fmt.Sprintf("seed %d on a cluster, %s, ended by %s after %v", seed, flags, end, after)
		equations.Check(t, out, target, starts, int64(users), what)
		if t.Failed() {
			t.Log(follower.Output(t))
			return
		}
		if end == "kill of an agent" {
			victim.Begin(t)
		}
		c.Back(t)
		for _, n := range c.Agents {
			c.AwaitAgent(t, n, "ready", time.Minute)
		}
	}
}
