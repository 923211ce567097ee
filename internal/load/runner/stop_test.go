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
