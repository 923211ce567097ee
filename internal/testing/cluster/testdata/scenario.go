// This is the scenario of most tests, so that it is compiled once for all of them. What
// its users do is in the file load.json; load_test.go describes the fields.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
)

var load struct {
	URL     string
	Users   int
	Rate    float64
	Times   int
	Pause   time.Duration
	Loop    time.Duration
	Stages  []scenario.Rate
	Also    []string
	Fault   string
	After   time.Duration
	Panics  int
	Endless bool
	Setup   bool
	Drain   string
	Sizes   bool
}

// export returns one class of users as load.json describes it; it panics if it cannot read
// the file.
func export() scenario.Vus {
	b, err := os.ReadFile(filepath.Join(os.Getenv("GOBENCH_SCENARIO_DIR"), "load.json"))
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(b, &load); err != nil {
		panic(err)
	}
	class := scenario.Vu{Nu: load.Users, Rate: load.Rate, Fu: ask}
	switch {
	case load.Loop > 0:
		class.Load = scenario.Loop(load.Loop)
	case load.Stages != nil:
		class.Load = scenario.Arrival{Stages: load.Stages}
	}
	if load.Setup {
		class.Setup = func(ctx context.Context) (context.Context, error) { <-ctx.Done(); return ctx, ctx.Err() }
	}
	return scenario.Vus{class}
}

// ask is a user: it sends Times requests, any number if that is 0, until ctx ends (which Endless
// ignores), and makes the faults that load.json asks for.
func ask(ctx context.Context, vui int) {
	c, err := http.NewHttpClient(ctx, "home")
	if err != nil {
		panic(err)
	}
	if load.Panics > 0 && vui == load.Panics {
		panic("not me")
	}
	if load.Sizes {
		setUpSizes()
	}
	if load.Drain != "" {
		c.Get(context.Background(), load.Drain, nil)
	}
	if load.Endless {
		ctx = context.WithoutCancel(ctx)
	}
	began := time.Now()
	for n := 0; load.Times == 0 && ctx.Err() == nil || n < load.Times; n++ {
		if vui == 1 && load.Fault != "" && time.Since(began) > load.After {
			fault()
		}
		if load.Sizes {
			sizes()
		}
		c.Get(ctx, fmt.Sprintf("%s?vu=%d", load.URL, vui), nil)
		for _, url := range load.Also {
			c.Get(ctx, url, nil)
		}
		select {
		case <-time.After(load.Pause):
		case <-ctx.Done():
			return
		}
	}
}

// fault ends the process as load.Fault names it: "exit" (status 3), "segv", or "goroutine" (a
// panic in a goroutine). With another word it waits a minute.
func fault() {
	switch load.Fault {
	case "exit":
		os.Exit(3)
	case "segv":
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSEGV)
	case "goroutine":
		go func() { panic("all of its own") }()
	}
	time.Sleep(time.Minute)
}

// setUpSizes declares the four histograms that sizes records to; it panics if it cannot. Each
// user may call it: to declare the same metrics again changes nothing.
func setUpSizes() {
	group := metrics.Group{Name: "sizes"}
	for i := range 4 {
		m := metrics.Metric{Title: fmt.Sprintf("size.%d", i), Type: metrics.Histogram}
		group.Graphs = append(group.Graphs, metrics.Graph{Title: m.Title, Unit: "B", Metrics: []metrics.Metric{m}})
	}
	if err := executor.Setup([]metrics.Group{group}); err != nil {
		panic(err)
	}
}

// sizes records 25 random values in each of four histograms. Call setUpSizes before: else it
// panics.
func sizes() {
	for range 25 {
		for i := range 4 {
			if err := executor.Notify(fmt.Sprintf("size.%d", i), int64(math.Exp(30*rand.Float64()))); err != nil {
				panic(err)
			}
		}
	}
}
