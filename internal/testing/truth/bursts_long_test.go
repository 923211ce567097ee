//go:build long && linux

package truth

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// thinkers is a closed load of users who think, of a target that they use to a quarter.
const thinkers = `package main

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
)

var url = scenario.Param("url", "", "the target")

func export() scenario.Vus {
	return scenario.Vus{{Name: "user", Nu: 100, Load: scenario.Loop(8 * time.Second), Start: func(ctx context.Context, vui int) (scenario.User, error) {
		client, err := http.NewHttpClient(ctx, "http")
		return scenario.Iterate(func(ctx context.Context) error {
			if err := executor.Think(ctx, 500*time.Millisecond, time.Second); err != nil {
				return err
			}
			_, err := client.Get(ctx, *url, nil)
			return err
		}), err
	}}}
}
`

// Users who think while gobench is stopped ask all at once afterwards, and queue at the target: that
// is in the bounds, so that the run is not VALID.
func TestBurstOfThinkingUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.go")
	if err := os.WriteFile(file, []byte(thinkers), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWitness(t, rand.New(rand.NewPCG(1, 1)), 2*time.Millisecond, 1)
	w.service = func() time.Duration { return 2 * time.Millisecond }
	r := measure(t, "", func(gobench int) {
		executor, err := binary.Child(gobench)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		stopFor(executor, 800*time.Millisecond)
	}, "run", file, "--set", "url="+w.url)
	i := slices.IndexFunc(r.Metrics, func(m run.Metric) bool { return m.Title == "http.latency" })
	if i < 0 || r.Metrics[i].Times == nil {
		t.Fatalf("no latencies: %+v", r.Errors)
	}
	m := r.Metrics[i]
	p95, p99 := float64(m.Times.P95), float64(m.Times.P99)
	t.Logf("%s: p95 %.1f ms (bound %.1f), p99 %.1f ms (bound %.1f)", r.Verdict, p95, m.Bounds["p95"], p99, m.Bounds["p99"])
	if p99 < 60 {
		t.Errorf("p99 is %.1f ms: the stop made no burst", p99)
	}
	if r.Verdict == run.Valid || p95-m.Bounds["p95"] > 30 || p99-m.Bounds["p99"] > 50 {
		t.Errorf("the run is %s because of %+v", r.Verdict, r.Reasons)
	}
}

// What had arrived while gobench was stopped is an answer, and no timeout.
func TestStopsMakeNoTimeouts(t *testing.T) {
	w := newWitness(t, rand.New(rand.NewPCG(1, 1)), 0, 0)
	w.service = func() time.Duration { return 100 * time.Millisecond }
	r := measure(t, "", func(gobench int) {
		executor, err := binary.Child(gobench)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(1500 * time.Millisecond)
			stopFor(executor, 700*time.Millisecond)
		}
	}, "http", "-c", "10", "-d", "6s", "--timeout", "500ms", w.url)
	for _, f := range r.Errors {
		if f.Class == "timeout" {
			t.Errorf("%d timeouts of a target that takes 100 ms", f.Count)
		}
	}
	if r.Verdict == run.Valid {
		t.Errorf("the run is VALID: %q", r.Notes)
	}
}
