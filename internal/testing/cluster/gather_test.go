//go:build linux

package cluster

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/check"
)

// recording is steady with four metrics of 40,000 recordings a second together for every
// 20 users, of all sizes: more than the bus takes as they are.
func recording(url string, nu int) string {
	s := steady(url, nu)
	for _, change := range [][2]string{
		{`"github.com/gobench-io/gobench/clients/http"`, `"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"`},
		{"import (", "import (\n\t\"math\"\n\t\"math/rand/v2\""},
		{"\tfor ctx.Err() == nil {", `	sizes := metrics.Group{Name: "sizes"}
	for i := range 4 {
		m := metrics.Metric{Title: fmt.Sprintf("size.%d", i), Type: metrics.Histogram}
		sizes.Graphs = append(sizes.Graphs, metrics.Graph{Title: m.Title, Unit: "B", Metrics: []metrics.Metric{m}})
	}
	if err := executor.Setup([]metrics.Group{sizes}); err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		for range 25 {
			for i := range 4 {
				if err := executor.Notify(fmt.Sprintf("size.%d", i), int64(math.Exp(30*rand.Float64()))); err != nil {
					panic(err)
				}
			}
		}`},
	} {
		s = strings.Replace(s, change[0], change[1], 1)
	}
	return s
}

// What agents send each second keeps to a budget, and totals are what was counted all the
// same: of an executor that ended, and of one that was killed, which its agent outlives. Of
// an agent that was lost with what it knew, the run says that percentiles are coarser.
func TestGathered(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	id := c.Submit(t, recording(target.URL, 60), run.Options{Duration: 15})
	load(t, target, 3)
	c.Await(t, id, time.Minute, run.Running)
	time.Sleep(4 * time.Second) // some batches
	strike(t, c.Agents[0], syscall.SIGKILL)
	time.Sleep(2 * time.Second)
	c.Agents[1].Kill()
	r := c.Finished(t, id, 2*time.Minute)
	if r.State != run.Finished || r.Complete {
		t.Errorf("the run is %s (%s), complete: %v", r.State, r.Cause, r.Complete)
	}
	coarse := 0
	for _, text := range r.Missing {
		if strings.Contains(text, "exact histograms") {
			coarse++
			if !strings.Contains(text, c.Agents[1].Host.Name) {
				t.Errorf("of the executor whose agent lives is said: %s", text)
			}
		}
	}
	if coarse != 1 {
		t.Errorf("missing is %q: want one executor without its exact histograms", r.Missing)
	}
	if n := count(t, r, "size.0"); n < 10_000 {
		t.Errorf("only %d sizes were recorded", n)
	}
	c.Agents[1].Begin(t)
	c.AwaitAgent(t, c.Agents[1], "ready", 20*time.Second)
	c.Check(t, check.Targets{id: target.Counts(false)})
}
