package runner

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
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
	r.Run(ctx, func() { o.stopping = time.Since(began) })
	o.took = time.Since(began)
	cut := registry.Cut()
	o.samples = cut.Samples
	for _, f := range cut.Failures {
		o.failures[f.Class+" "+f.Text] += f.Count
	}
	for _, total := range registry.Totals() {
		n := total.Value
		if total.Type == metrics.Histogram {
			n = int64(total.Histogram.Count())
			title := strings.TrimPrefix(total.Title, Prefix)
			o.max[title], o.p99[title] = total.Histogram.Max(), total.Histogram.Quantile(0.99)
		}
		o.counts[strings.TrimPrefix(total.Title, Prefix)] = n
	}
	o.notes, o.interrupted = r.notes, r.interrupted
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

// S0-3: 12 users at 100/s are all started after 0.12 s on average, and the gaps are
// those of a Poisson process.
func TestStartsAreAPoissonProcess(t *testing.T) {
	var last, first []float64
	for seed := range uint64(1000) {
		s := newStarts(100, seed, 0)
		var at time.Duration
		for n := range 12 {
			next := s.nth(int64(n))
			if next < at {
				t.Fatalf("seed %d: a start at %v follows one at %v", seed, next, at)
			}
			if at = next; n == 0 {
				first = append(first, at.Seconds())
			}
		}
		last = append(last, at.Seconds())
	}
	// The sum of 12 gaps of mean 10 ms: mean 120 ms, deviation 34.6 ms; of 1,000 such, 1.1 ms.
	if m := mean(last); math.Abs(m-0.12) > 4*0.0011 {
		t.Errorf("all 12 users are started after %.4f s on average, want 0.12", m)
	}
	// Kolmogorov-Smirnov: the first gap is exponential. 1.95/sqrt(n) is the bound for p = 0.001.
	slices.Sort(first)
	var distance float64
	for i, x := range first {
		f := 1 - math.Exp(-100*x)
		distance = max(distance, math.Abs(f-float64(i)/1000), math.Abs(f-float64(i+1)/1000))
	}
	if distance > 1.95/math.Sqrt(1000) {
		t.Errorf("the gaps are not exponential: distance %.4f", distance)
	}
	if s := newStarts(0, 1, 0); s.nth(0)+s.nth(1) != 0 {
		t.Error("rate 0 does not start all at once")
	}
	if a, b := newStarts(100, 7, 0), newStarts(100, 7, 1); a.nth(0) == b.nth(0) {
		t.Error("two classes share their random source")
	}
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
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

func TestStopDrainsIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "slow", Nu: 3, Load: scenario.Loop(time.Hour), Fu: func(ctx context.Context, _ int) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				t.Error("an iteration in flight was cut")
			}
		}}}
		o := play(t, t.Context(), vus, &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			time.Sleep(15 * time.Second)
			r.Stop()
			r.Stop()
		})
		o.want(t, map[string]int64{"slow.iterations": 6, "slow.finished": 3})
		if o.took < 20*time.Second || o.took > 20100*time.Millisecond || o.stopping != 15*time.Second {
			t.Errorf("took %v, drained from %v", o.took, o.stopping)
		}
	})
}

func TestGracefulTimeCutsWhatIsStillInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "stuck", Nu: 3, Load: scenario.Loop(time.Second), Start: func(context.Context, int) (scenario.User, error) {
			return scenario.Iterate(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), nil
		}}}
		o := play(t, t.Context(), vus, &wire.Start{GracefulNs: int64(4 * time.Second)}, nil)
		o.want(t, map[string]int64{"stuck.iterations": 0, "stuck.cut": 3, "stuck.errors": 0, "stuck.service": 0})
		if o.took < 5*time.Second || o.took > 5100*time.Millisecond || len(o.notes) != 1 || !strings.Contains(o.notes[0], "4s") {
			t.Errorf("took %v; notes %q", o.took, o.notes)
		}
	})
}

// A Fu that starts one operation after another ends at the run's end, and its operations in
// flight are waited for.
func TestOperationsInFlightAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done, cut atomic.Int64
		vus := scenario.Vus{{Name: "f", Nu: 5, Fu: func(ctx context.Context, _ int) {
			s := meter.ScopeOf(ctx)
			for s.Begin() == nil {
				go func() { // like S2: go client.Get
					defer s.End()
					select {
					case <-time.After(300 * time.Millisecond):
						done.Add(1)
					case <-ctx.Done():
						cut.Add(1)
					}
				}()
				time.Sleep(100 * time.Millisecond)
			}
		}}}
		o := play(t, t.Context(), vus, &wire.Start{DurationNs: int64(950 * time.Millisecond), Hold: true}, nil)
		if done.Load() != 50 || cut.Load() != 0 || o.took > 1250*time.Millisecond {
			t.Errorf("%d operations done, %d cut, took %v", done.Load(), cut.Load(), o.took)
		}
	})
}

// F45: a user that ignores its context is counted, and does not hold up the end.
func TestUsersThatIgnoreTheirContextAreInterrupted(t *testing.T) {
	never := make(chan struct{}) // of the bubble: closed at its end
	for _, tt := range []struct {
		name string
		fu   scenario.VuFunc
		took time.Duration
	}{
		{"silent", func(context.Context, int) { <-never }, time.Second + grace},
		{"stillStarting", func(ctx context.Context, _ int) {
			s := meter.ScopeOf(ctx)
			for {
				if s.Begin() == nil {
					s.End()
				}
				select {
				case <-never:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		}, 1300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				never = make(chan struct{})
				o := play(t, t.Context(), scenario.Vus{{Name: "f", Nu: 7, Fu: tt.fu}}, &wire.Start{DurationNs: int64(time.Second), Hold: true}, nil)
				if len(o.interrupted) != 1 || o.interrupted[0].Users != 7 || o.interrupted[0].Class != "f" {
					t.Errorf("interrupted = %v, want the 7 users of f", o.interrupted)
				}
				if o.took < time.Second || o.took > tt.took+50*time.Millisecond {
					t.Errorf("took %v, want %v", o.took, tt.took)
				}
				close(never)
			})
		})
	}
}

func TestCancelEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		vus := scenario.Vus{{Name: "f", Nu: 3, Load: scenario.Loop(time.Hour), Fu: func(ctx context.Context, _ int) { <-ctx.Done() }}}
		o := play(t, ctx, vus, &wire.Start{}, func(*Runner, *meter.Registry) { time.Sleep(time.Second); cancel() })
		if o.took > 1100*time.Millisecond {
			t.Errorf("took %v", o.took)
		}
	})
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
		o.want(t, map[string]int64{"f.panics": 10, "f.iterations": 90*5 + 10*2, "f.finished": 100, "f.active": 0})
		if o.failures["panic user is broken"] != 10 {
			t.Errorf("failures = %v", o.failures)
		}
		if len(o.notes) != 1 || !strings.Contains(o.notes[0], "user is broken") || !strings.Contains(o.notes[0], "runner_test.go") {
			t.Errorf("notes = %q, want the first panic's stack", o.notes)
		}
	})
}

// api.md 7: an iteration's error is counted by class and text, and the user continues; a target
// that fails at once is not called without a pause.
func TestIterationErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "f", Nu: 2, Load: scenario.Times(10), Start: func(context.Context, int) (scenario.User, error) {
			n := 0
			return scenario.Iterate(func(context.Context) error {
				if n++; n%2 == 0 {
					return errors.New("no luck")
				}
				return nil
			}), nil
		}}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.iterations": 20, "f.errors": 10, "f.service": 10, "f.failure": 10})
		if o.failures["iteration no luck"] != 10 {
			t.Errorf("failures = %v", o.failures)
		}
		if o.took < 5*minFailure {
			t.Errorf("five failures in a row took %v, want a pause of %v after each", o.took, minFailure)
		}
	})
}

// user has all the methods that a scenario.User may have.
type user struct {
	vui                int
	log                *sync.Map
	prepared, iterated int
	closed             bool
}

func (u *user) Prepare(context.Context) error {
	time.Sleep(50 * time.Millisecond)
	if u.prepared++; u.prepared == 2 {
		return errors.New("not ready")
	}
	return nil
}
func (u *user) Iterate(context.Context) error {
	time.Sleep(10 * time.Millisecond)
	u.iterated++
	return nil
}
func (u *user) Close() { u.closed = true; u.log.Store(u.vui, u) }

func TestStartPrepareCloseStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var users sync.Map
		var stopped atomic.Bool
		vus := scenario.Vus{{Name: "f", Nu: 3, Load: scenario.Times(4),
			Setup: func(ctx context.Context) (context.Context, error) {
				return context.WithValue(ctx, key{}, "set up"), nil
			},
			Start: func(ctx context.Context, vui int) (scenario.User, error) {
				if ctx.Value(key{}) != "set up" {
					t.Error("Start's ctx does not come from Setup")
				}
				if vui == 2 {
					return nil, errors.New("cannot start")
				}
				return &user{vui: vui, log: &users}, nil
			},
			Stop: func(ctx context.Context) {
				stopped.Store(ctx.Value(key{}) == "set up" && ctx.Err() == nil)
			}}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		// Of four rounds one has no iteration, since its Prepare failed.
		o.want(t, map[string]int64{"f.started": 3, "f.iterations": 6, "f.errors": 2, "f.service": 6})
		if !stopped.Load() || o.failures["start cannot start"] != 1 || o.failures["prepare not ready"] != 2 {
			t.Errorf("stopped %v, failures %v", stopped.Load(), o.failures)
		}
		for vui := range 2 {
			u, ok := users.Load(vui)
			if !ok || !u.(*user).closed || u.(*user).prepared != 4 || u.(*user).iterated != 3 {
				t.Errorf("user %d: %+v", vui, u)
			}
		}
		if o.took < 230*time.Millisecond {
			t.Errorf("took %v", o.took)
		}
	})
}

// chain is an Executor and Preparer that checks the contexts it receives (api.md 6).
type chain struct {
	t     *testing.T
	calls atomic.Int64
}
type link string

func (c *chain) Setup(ctx context.Context) (context.Context, error) {
	return context.WithValue(ctx, link("setup"), true), nil
}
func (c *chain) PrepareContext(ctx context.Context) (context.Context, error) {
	time.Sleep(10 * time.Millisecond)
	if ctx.Value(link("setup")) == nil || ctx.Value(link("exec")) != nil {
		c.t.Error("PrepareContext's ctx is not Setup's alone")
	}
	return context.WithValue(ctx, link("prepare"), true), nil
}
func (c *chain) ExecContext(ctx context.Context) (context.Context, error) {
	if ctx.Value(link("prepare")) == nil || ctx.Value(link("exec")) != nil {
		c.t.Error("ExecContext's ctx does not come from PrepareContext")
	}
	if c.calls.Add(1)%3 == 0 {
		return ctx, errors.New("step failed")
	}
	time.Sleep(2 * time.Millisecond)
	return context.WithValue(ctx, link("exec"), true), nil
}

func TestExecutorAndPreparer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := play(t, t.Context(), scenario.Vus{{Nu: 3, Exec: &chain{t: t}, Load: scenario.Times(5)}}, &wire.Start{}, nil)
		o.want(t, map[string]int64{"chain.iterations": 15, "chain.errors": 5, "chain.service": 10})
		if o.max["chain.service"] != int64(2*time.Millisecond) {
			t.Errorf("greatest service time %d ns: the 10 ms of PrepareContext are not measured", o.max["chain.service"])
		}
	})
}

func TestSetupThatFails(t *testing.T) {
	for name, setup := range map[string]func(context.Context) (context.Context, error){
		"error": func(context.Context) (context.Context, error) { return nil, errors.New("no database") },
		"panic": func(context.Context) (context.Context, error) { panic("no database") },
	} {
		t.Run(name, func(t *testing.T) {
			vus := scenario.Vus{{Name: "f", Nu: 1, Setup: setup, Fu: func(context.Context, int) {}}}
			classes, err := Check(vus)
			if err != nil {
				t.Fatal(err)
			}
			r, err := New(vus, classes, &wire.Start{Shares: []*wire.Share{{Nu: 1}}}, meter.New())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "no database") || !strings.Contains(err.Error(), "class f") {
				t.Errorf("Prepare = %v", err)
			}
		})
	}
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
