package executor_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/executortest"
	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
)

func TestMain(m *testing.M) {
	if os.Getenv("EXECUTOR_TEST_MAIN") != "" {
		executor.Main(scenario.Vus{})
	}
	os.Exit(m.Run())
}

func things(prefix string) []metrics.Group {
	return []metrics.Group{{Name: "Things " + prefix, Graphs: []metrics.Graph{
		{Title: "Things", Unit: "N", Metrics: []metrics.Metric{{Title: prefix + ".done", Type: metrics.Counter}, {Title: prefix + ".open", Type: metrics.Gauge}}},
		{Title: "Times", Unit: "ns", Metrics: []metrics.Metric{{Title: prefix + ".time", Type: metrics.Histogram}}},
	}}}
}

type key struct{}

func TestEachContextHasItsRecorder(t *testing.T) {
	t.Parallel()
	for range 2 { // the recorders of two tests are independent
		ctx, rec := executortest.Context(t)
		r := executor.From(ctx)
		if err := r.Setup(things("a")); err != nil {
			t.Fatal(err)
		}
		if err := executor.From(context.WithValue(ctx, key{}, 1)).Notify("a.done", 2); err != nil {
			t.Fatal(err)
		}
		m, err := r.Find("a.time")
		if err != nil {
			t.Fatal(err)
		}
		open, err := r.Find("a.open")
		if err != nil {
			t.Fatal(err)
		}
		open.Set(7)
		open.Add(-2)
		e := r.Entry()
		e.Record(m, 100)
		e.Record(m, 200)
		e.Close()
		r.Error("a", "timeout", "late")
		if got := rec.Counts("a."); got["done"] != 2 || got["time"] != 2 || got["open"] != 5 || len(got) != 3 {
			t.Errorf("counts = %v", got)
		}
		if rec.Quantile("a.time", 1) != 200 || rec.Errors("a")["timeout: late"] != 1 {
			t.Errorf("max %d, errors %v", rec.Quantile("a.time", 1), rec.Errors("a"))
		}
	}
}

func TestWithoutAContextTheProcessRecords(t *testing.T) {
	t.Parallel()
	if err := executor.Setup(things("own")); err != nil {
		t.Fatal(err)
	}
	if err := executor.Notify("own.done", 1); err != nil {
		t.Error(err)
	}
	if err := executor.Notify("own.done", -1); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("a negative count: %v", err)
	}
	if err := executor.Notify("own.nothing", 1); err == nil || !strings.Contains(err.Error(), `"own.nothing" is not declared`) {
		t.Errorf("what was not declared: %v", err)
	}
	if executor.From(t.Context()) != executor.From(context.Background()) {
		t.Error("two contexts of nobody have two recorders")
	}
	if a, b := executor.Rand(t.Context()).Uint64(), executor.Rand(t.Context()).Uint64(); a == b {
		t.Error("the random source stands still")
	}
}

// Without a user's context goroutines share a random source, and none gets the number of
// another one.
func TestRandWithoutAUser(t *testing.T) {
	t.Parallel()
	const each = 10_000
	all := make([][]uint64, 4)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			for range each {
				all[i] = append(all[i], executor.Rand(context.Background()).Uint64())
			}
		})
	}
	wg.Wait()
	once := map[uint64]bool{}
	for _, numbers := range all {
		for _, n := range numbers {
			once[n] = true
		}
	}
	if len(once) != len(all)*each {
		t.Errorf("%d different numbers of %d", len(once), len(all)*each)
	}
}

func TestSharedIsMadeOnce(t *testing.T) {
	t.Parallel()
	ctx, _ := executortest.Context(t)
	made := 0
	for range 3 {
		v, err := executor.From(ctx).Shared("key", func() (any, error) { made++; return made, nil })
		if v != 1 || err != nil {
			t.Errorf("Shared = %v, %v", v, err)
		}
	}
}

func TestAnExecutorByItselfSaysWhatItIs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EXECUTOR_TEST_MAIN=1", executor.SocketEnv+"=")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "gobench run SCENARIO.go") {
		t.Errorf("%v: %s", err, out)
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EXECUTOR_TEST_MAIN=1", executor.SocketEnv+"=/nowhere/s")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "/nowhere/s") {
		t.Errorf("%v: %s", err, out)
	}
}
