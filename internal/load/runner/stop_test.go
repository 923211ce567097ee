package runner

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

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

// Without --graceful-stop an operation in flight may take as long as its own limit.
func TestDrainLastsAsLongAsItsOperations(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		patient              bool
		limit, takes, drains time.Duration
		cut                  int64
	}{
		{"its own limit", true, time.Minute, 50 * time.Second, time.Minute + spare, 0},
		{"beyond its limit", true, 40 * time.Second, 50 * time.Second, 40*time.Second + spare, 1},
		{"no limit", true, 0, 50 * time.Second, 30 * time.Second, 1},
		{"a short limit", true, time.Second, 20 * time.Second, 30 * time.Second, 0},
		{"given", false, time.Minute, 50 * time.Second, 30 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vus := scenario.Vus{{Name: "f", Nu: 1, Load: scenario.Loop(time.Second), Start: func(context.Context, int) (scenario.User, error) {
					return scenario.Iterate(func(ctx context.Context) error {
						s := meter.ScopeOf(ctx)
						if err := s.Begin(tt.limit); err != nil {
							return err
						}
						defer s.End()
						select {
						case <-time.After(tt.takes):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}), nil
				}}}
				o := play(t, t.Context(), vus, &wire.Start{GracefulNs: int64(30 * time.Second), Patient: tt.patient}, nil)
				o.want(t, map[string]int64{"f.cut": tt.cut, "f.iterations": 1 - tt.cut})
				if o.limit != tt.drains {
					t.Errorf("the drain lasts at most %v, want %v", o.limit, tt.drains)
				}
			})
		})
	}
}

// The measured time lasts until the load ends, without warm-ups and pauses; that of a number of
// iterations until the last of them has ended. What comes later is not in its counts.
func TestMeasuredTime(t *testing.T) {
	const second = time.Second
	stages := []scenario.Rate{{To: 10, Over: 2 * second, Warmup: true}, {To: 10, Over: 6 * second}}
	for _, tt := range []struct {
		name     string
		load     scenario.Load
		start    *wire.Start
		during   func(*Runner, *meter.Registry)
		takes    time.Duration
		measured time.Duration
		done     int64 // that ended in it
		all      int64
	}{
		{"a length", scenario.Loop(5 * second), &wire.Start{}, nil, 2 * second, 5 * second, 2, 3},
		{"a duration", scenario.Loop(time.Hour), &wire.Start{DurationNs: int64(5 * second)}, nil, 2 * second, 5 * second, 2, 3},
		{"a warm-up", scenario.Loop(time.Hour), &wire.Start{DurationNs: int64(5 * second), WarmupNs: int64(2 * second)}, nil, 2 * second, 3 * second, 2, 3},
		{"stages", scenario.Arrival{Stages: stages}, &wire.Start{}, nil, 10 * time.Millisecond, 6 * second, 80, 80},
		{"a number", scenario.Times(3), &wire.Start{}, nil, 2 * second, 6 * second, 3, 3},
		{"a shared number", scenario.Shared(3), &wire.Start{DurationNs: int64(100 * second)}, nil, 2 * second, 6 * second, 3, 3},
		{"a number cut off", scenario.Times(3), &wire.Start{DurationNs: int64(3 * second)}, nil, 2 * second, 3 * second, 1, 2},
		{"stopped", scenario.Loop(time.Hour), &wire.Start{}, func(r *Runner, _ *meter.Registry) { time.Sleep(5 * second); r.Stop() }, 2 * second, 5 * second, 2, 3},
		{"paused", scenario.Loop(19 * second), &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			time.Sleep(3 * second)
			r.Pause()
			r.Pause()
			time.Sleep(7 * second)
			r.Resume()
			r.Resume()
		}, 2 * second, 12 * second, 6, 7},
		{"paused in the warm-up", scenario.Loop(19 * second), &wire.Start{WarmupNs: int64(5 * second)}, func(r *Runner, _ *meter.Registry) {
			time.Sleep(3 * second)
			r.Pause()
			time.Sleep(7 * second)
			r.Resume()
		}, 2 * second, 9 * second, 6, 7},
		{"paused at the end", scenario.Loop(10 * second), &wire.Start{}, func(r *Runner, _ *meter.Registry) { time.Sleep(3 * second); r.Pause() }, 2 * second, 3 * second, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vus := scenario.Vus{{Name: "f", Nu: 1, Load: tt.load, Fu: func(context.Context, int) { time.Sleep(tt.takes) }}}
				o := play(t, t.Context(), vus, tt.start, tt.during)
				o.want(t, map[string]int64{"f.iterations": tt.all})
				done := int64(0)
				for _, c := range o.ended.Counters {
					if o.titles[c.Metric] == "vu.f.iterations" {
						done = c.Add
					}
				}
				if off := time.Duration(o.ended.MeasuredNs) - tt.measured; off < 0 || off > 20*time.Millisecond || done != tt.done {
					t.Errorf("measured %v, in which %d iterations ended; want %v, %d", time.Duration(o.ended.MeasuredNs), done, tt.measured, tt.done)
				}
			})
		})
	}
}

// A Fu that starts one operation after another ends at the run's end, and its operations in
// flight are waited for.
func TestOperationsInFlightAreDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done, cut atomic.Int64
		vus := scenario.Vus{{Name: "f", Nu: 5, Fu: func(ctx context.Context, _ int) {
			s := meter.ScopeOf(ctx)
			for s.Begin(0) == nil {
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
				if s.Begin(0) == nil {
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
