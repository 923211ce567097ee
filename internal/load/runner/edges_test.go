package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// unprepared is a user whose preparation fails so many times.
type unprepared struct{ fails int }

func (u *unprepared) Prepare(context.Context) error {
	if u.fails--; u.fails >= 0 {
		return errors.New("prep fails")
	}
	return nil
}
func (u *unprepared) Iterate(context.Context) error { return nil }

// The load of an Arrival begins though the preparation of a user fails, for a while or always.
func TestPreparationsOfAnArrivalFail(t *testing.T) {
	for name, fails := range map[string]int{"always": 1 << 30, "at first": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vus := scenario.Vus{{Name: "f", Nu: 3, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 10, Over: 2 * time.Second}}},
					Start: func(context.Context, int) (scenario.User, error) { return &unprepared{fails: fails}, nil }}}
				o := play(t, t.Context(), vus, &wire.Start{GracefulNs: int64(time.Second)}, nil)
				done := int64(20)
				if fails > 5 {
					done = 0
				}
				o.want(t, map[string]int64{"f.planned": 20, "f.begun": done, "f.iterations": done, "f.unserved": 20 - done})
				if o.failures["prepare prep fails"] == 0 {
					t.Errorf("failures %v", o.failures)
				}
			})
		})
	}
}

// An iteration that ignores the end of its ctx is cut: begun = done + cut, and it is not counted
// again when it returns.
func TestIterationsThatIgnoreTheirContextAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "deaf", Nu: 3, Load: scenario.Loop(2 * time.Second), Fu: func(_ context.Context, vui int) {
			if time.Sleep(500 * time.Millisecond); vui == 1 {
				time.Sleep(20 * time.Second)
			}
		}}}
		var of *meter.Registry
		o := play(t, t.Context(), vus, &wire.Start{GracefulNs: int64(time.Second)}, func(_ *Runner, r *meter.Registry) { of = r })
		time.Sleep(20 * time.Second) // until it returns
		of.Cut(meter.Measured)
		for _, total := range of.Totals() {
			if n := o.counts[strings.TrimPrefix(total.Title, prefix)]; total.Type == metrics.Counter && total.Value != n && total.Title != "vu.deaf.finished" {
				t.Errorf("%s is %d after its return, %d before", total.Title, total.Value, n)
			}
		}
		o.want(t, map[string]int64{"deaf.begun": 9, "deaf.iterations": 8, "deaf.cut": 1, "deaf.age": 1})
	})
}

// A number of iterations may take the whole duration, whatever the graceful time is.
func TestNumberOfIterationsLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "n", Nu: 4, Load: scenario.Shared(6), Fu: func(ctx context.Context, _ int) {
			select {
			case <-ctx.Done():
			case <-time.After(1300 * time.Millisecond):
			}
		}}}
		o := play(t, t.Context(), vus, &wire.Start{DurationNs: int64(20 * time.Second), GracefulNs: int64(100 * time.Millisecond)}, nil)
		o.want(t, map[string]int64{"n.begun": 6, "n.iterations": 6, "n.cut": 0})
		if o.took > 2700*time.Millisecond {
			t.Errorf("took %v, want until the last has ended", o.took)
		}
	})
}

// A stop ends that wait: what is in flight then has the graceful time.
func TestStopOfANumberOfIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "n", Nu: 2, Load: scenario.Shared(2), Fu: func(ctx context.Context, _ int) { <-ctx.Done() }}}
		o := play(t, t.Context(), vus, &wire.Start{DurationNs: int64(time.Hour), GracefulNs: int64(time.Second)}, func(r *Runner, _ *meter.Registry) {
			time.Sleep(5 * time.Second)
			r.Stop()
		})
		o.want(t, map[string]int64{"n.begun": 2})
		if o.took > 7*time.Second || o.limit != time.Second {
			t.Errorf("took %v, drained for %v at most; want the graceful time after the stop", o.took, o.limit)
		}
	})
}
