package runner

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// outcome is the result of a finished run.
type outcome struct {
	counts      map[string]int64 // totals without "vu.": sums, gauges, numbers of recordings
	failures    map[string]int64 // by "class text"
	max, p99    map[string]int64 // of histograms, ns
	notes       []string
	samples     []meter.Sample
	interrupted []*wire.Interrupted
	took        time.Duration
	stopping    time.Duration // when the drain began
	limit       time.Duration // of the drain
	ended       *wire.Ended
	titles      []string // of the metrics, by number
}

// play runs vus as one executor does, in a synctest bubble.
func play(t *testing.T, ctx context.Context, vus scenario.Vus, start *wire.Start, during func(*Runner, *meter.Registry)) outcome {
	t.Helper()
	return playBy(t, ctx, plainAlarm{}, vus, start, during) // an alarm that uses synctest's clock
}

// playBy is play with another alarm.
func playBy(t *testing.T, ctx context.Context, a alarm, vus scenario.Vus, start *wire.Start, during func(*Runner, *meter.Registry)) outcome {
	t.Helper()
	classes, err := Check(vus)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range classes {
		if len(start.Shares) <= i {
			start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations, Part: 1})
		}
	}
	if start.GracefulNs == 0 {
		start.GracefulNs = int64(30 * time.Second)
	}
	registry := meter.New()
	r, err := New(vus, classes, start, registry)
	if err != nil {
		t.Fatal(err)
	}
	r.alarm = func() alarm { return a }
	if err := r.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	var beside sync.WaitGroup
	defer beside.Wait() // what during has written is complete when play returns
	if during != nil {
		beside.Go(func() { during(r, registry) })
	}
	o := outcome{counts: map[string]int64{}, failures: map[string]int64{}, max: map[string]int64{}, p99: map[string]int64{}}
	began := time.Now()
	r.Run(ctx, func(limit time.Duration) { o.stopping, o.limit = time.Since(began), limit })
	o.took = time.Since(began)
	cut := registry.Cut(meter.Measured)
	o.samples = cut.Samples
	for _, f := range cut.Own.Failures {
		o.failures[f.Class+" "+f.Text] += f.Count
	}
	for _, total := range registry.Totals() {
		o.titles = append(o.titles, total.Title)
		n := total.Value
		if total.Type == metrics.Histogram {
			n = int64(total.Histogram.Count())
			title := strings.TrimPrefix(total.Title, prefix)
			o.max[title], o.p99[title] = total.Histogram.Max(), total.Histogram.Quantile(0.99)
		}
		o.counts[strings.TrimPrefix(total.Title, prefix)] = n
	}
	o.notes, o.interrupted, o.ended = r.notes, r.interrupted, r.ended
	return o
}

func (o outcome) want(t *testing.T, counts map[string]int64) {
	t.Helper()
	for title, n := range counts {
		if got, ok := o.counts[title]; !ok || got != n {
			t.Errorf("%s = %d, want %d", title, got, n)
		}
	}
}

func TestFuRunsOnceAUserOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[int]bool{}
		o := play(t, t.Context(), scenario.Vus{{Nu: 100, Rate: 50, Name: "f", Fu: func(_ context.Context, vui int) {
			mu.Lock()
			defer mu.Unlock()
			if seen[vui] {
				t.Errorf("user %d runs twice", vui)
			}
			seen[vui] = true
		}}}, &wire.Start{Seed: 3}, nil)
		o.want(t, map[string]int64{"f.started": 100, "f.finished": 100, "f.active": 0})
		for vui := range 100 {
			if !seen[vui] {
				t.Errorf("no user %d", vui)
			}
		}
		if o.took < time.Second || o.took > 3*time.Second {
			t.Errorf("100 starts at 50/s took %v", o.took)
		}
	})
}

func TestShareOfAnExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sum atomic.Int64
		o := play(t, t.Context(), scenario.Vus{{Nu: 100, Name: "f", Fu: func(_ context.Context, vui int) { sum.Add(int64(vui)) }}},
			&wire.Start{Shares: []*wire.Share{{First: 40, Nu: 10}}}, nil)
		if o.want(t, map[string]int64{"f.started": 10}); sum.Load() != 445 {
			t.Errorf("sum of vui = %d, want that of 40 to 49", sum.Load())
		}
	})
}

// steps is a load whose iterations take 10 ms.
func steps(load scenario.Load) scenario.Vus {
	return scenario.Vus{{Name: "f", Nu: 4, Load: load, Fu: func(ctx context.Context, _ int) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}}}
}

func TestLoads(t *testing.T) {
	for _, tt := range []struct {
		name       string
		load       scenario.Load
		iterations int64
		took       time.Duration
	}{
		{"loop", scenario.Loop(time.Second), 400, time.Second},
		{"times", scenario.Times(7), 28, 70 * time.Millisecond},
		{"shared", scenario.Shared(10), 10, 30 * time.Millisecond},
		{"shared, fewer than users", scenario.Shared(2), 2, 10 * time.Millisecond},
		{"exactly one", scenario.Times(1), 4, 10 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := play(t, t.Context(), steps(tt.load), &wire.Start{}, nil)
				o.want(t, map[string]int64{"f.iterations": tt.iterations, "f.service": tt.iterations, "f.started": 4, "f.finished": 4, "f.errors": 0, "f.cut": 0})
				if o.took < tt.took || o.took > tt.took+20*time.Millisecond {
					t.Errorf("took %v, want %v", o.took, tt.took)
				}
			})
		})
	}
}

// api.md, what happens when 1: --duration ends any run, or holds it open.
func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		name string
		vus  scenario.Vus
		hold bool
		took time.Duration
	}{
		{"ends a long load", steps(scenario.Loop(time.Hour)), true, 2 * time.Second},
		{"holds a short load open", steps(scenario.Times(1)), true, 2 * time.Second},
		{"only bounds", steps(scenario.Times(1)), false, 10 * time.Millisecond},
		{"ends users that would live on", scenario.Vus{{Name: "f", Nu: 4, Fu: func(ctx context.Context, _ int) { <-ctx.Done() }}}, true, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := play(t, t.Context(), tt.vus, &wire.Start{DurationNs: int64(2 * time.Second), Hold: tt.hold}, nil)
				if o.took < tt.took || o.took > tt.took+30*time.Millisecond || o.interrupted != nil {
					t.Errorf("took %v, want %v; interrupted %v", o.took, tt.took, o.interrupted)
				}
				o.want(t, map[string]int64{"f.finished": 4, "f.active": 0})
			})
		})
	}
}

// F2: a user's panic is that user's failure; the counts of the others are exact.
func TestAPanicEndsOneUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "f", Nu: 100, Start: func(_ context.Context, vui int) (scenario.User, error) {
			n := 0
			return scenario.Iterate(func(context.Context) error {
				if n++; vui%10 == 7 && n == 3 {
					panic("user is broken")
				}
				return nil
			}), nil
		}, Load: scenario.Times(5)}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.panics": 10, "f.iterations": 90*5 + 10*3, "f.begun": 90*5 + 10*3, "f.errors": 10, "f.finished": 100, "f.active": 0})
		if o.failures["panic user is broken"] != 10 {
			t.Errorf("failures = %v", o.failures)
		}
		if len(o.notes) != 1 || !strings.Contains(o.notes[0], "user is broken") || !strings.Contains(o.notes[0], "runner_test.go") {
			t.Errorf("notes = %q, want the first panic's stack", o.notes)
		}
	})
}

func TestRunLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		play(t, t.Context(), scenario.Vus{{Name: "f", Nu: 50, Rate: 10_000, Load: scenario.Loop(20 * time.Millisecond), Fu: func(context.Context, int) {}}}, &wire.Start{}, nil)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
