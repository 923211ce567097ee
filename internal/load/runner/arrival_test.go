package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// taking is a class whose iterations take d.
func taking(nu int, load scenario.Load, d func() time.Duration) scenario.Vus {
	return scenario.Vus{{Name: "f", Nu: nu, Load: load, Fu: func(ctx context.Context, _ int) {
		t := time.NewTimer(d())
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}}}
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func at(rate float64, over time.Duration) []scenario.Rate {
	return []scenario.Rate{{To: rate, Over: over}}
}

func TestArrivalsAreServedOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := play(t, t.Context(), taking(10, scenario.Arrival{Stages: at(100, 10*time.Second)}, always(50*time.Millisecond)), &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.planned": 1000, "f.iterations": 1000, "f.late": 0, "f.dropped": 0, "f.response": 1000, "f.service": 1000, "f.start_lag": 1000, "f.queue_wait": 0, "f.started": 10, "f.finished": 10})
		if o.took < 10*time.Second || o.took > 10100*time.Millisecond || o.max["f.start_lag"] != 0 || o.max["f.response"] != int64(50*time.Millisecond) {
			t.Errorf("took %v, greatest lag %d, response %d", o.took, o.max["f.start_lag"], o.max["f.response"])
		}
	})
}

// A target stalls for a second: starts due meanwhile wait, their response time counts from the
// planned time, and no start is lost.
func TestAStallShowsInResponseTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := play(t, t.Context(), taking(50, scenario.Arrival{Stages: at(2000, 10*time.Second)}, func() time.Duration {
			if now := time.Since(began); now >= 5*time.Second && now < 6*time.Second {
				return 6*time.Second - now
			}
			return 100 * time.Microsecond
		}), &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.planned": 20_000, "f.iterations": 20_000, "f.dropped": 0, "f.response": 20_000})
		p99 := time.Duration(o.p99["f.response"])
		if p99 < 870*time.Millisecond || p99 > 930*time.Millisecond {
			t.Errorf("p99 of response times is %v, want about 900 ms: a tenth of the starts waits 0 to 1 s", p99)
		}
		if max := time.Duration(o.max["f.response"]); max < 995*time.Millisecond || max > 1010*time.Millisecond {
			t.Errorf("greatest response time %v, want 1 s", max)
		}
		if p99 := time.Duration(o.p99["f.service"]); p99 > time.Millisecond {
			t.Errorf("p99 of service times is %v: only 50 of 20,000 saw the stall", p99)
		}
		if o.max["f.start_lag"] > int64(time.Millisecond) || o.counts["f.late"] < 1900 {
			t.Errorf("greatest start lag %d, %d late: waiting for a free user is no lag of ours", o.max["f.start_lag"], o.counts["f.late"])
		}
	})
}

func TestDropAndQueue(t *testing.T) {
	for _, tt := range []struct {
		name string
		load scenario.Arrival
		want map[string]int64
	}{
		// One user, 100 ms each, 100 starts/s for a second: 10 are served in time.
		{"drop", scenario.Arrival{Stages: at(100, time.Second), Drop: true}, map[string]int64{"f.planned": 100, "f.iterations": 10, "f.dropped": 90, "f.late": 0, "f.queue_wait": 0}},
		{"queue of 5", scenario.Arrival{Stages: at(100, time.Second), Queue: 5}, map[string]int64{"f.planned": 100, "f.iterations": 10, "f.dropped": 85, "f.late": 9, "f.unserved": 5, "f.age": 5}},
		{"no limit", scenario.Arrival{Stages: at(100, time.Second)}, map[string]int64{"f.planned": 100, "f.iterations": 10, "f.dropped": 0, "f.late": 9, "f.response": 10, "f.unserved": 90, "f.age": 90}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := play(t, t.Context(), taking(1, tt.load, always(100*time.Millisecond+time.Nanosecond)), &wire.Start{}, nil)
				o.want(t, tt.want)
			})
		})
	}
}

// Starts that wait when the load ends are unserved: nothing new begins then. planned = begun +
// dropped + unserved, and begun = done + cut; each that has no end of its own has an age.
func TestNoPlannedStartIsForgotten(t *testing.T) {
	for name, start := range map[string]*wire.Start{
		"stopped":       {DurationNs: int64(500 * time.Millisecond), Hold: true},
		"graceful time": {GracefulNs: int64(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := play(t, t.Context(), taking(2, scenario.Arrival{Stages: at(100, time.Second)}, always(150*time.Millisecond)), start, nil)
				c := o.counts
				if c["f.unserved"] == 0 || c["f.planned"] != c["f.begun"]+c["f.dropped"]+c["f.unserved"] || c["f.begun"] != c["f.iterations"]+c["f.cut"] || c["f.age"] != c["f.unserved"]+c["f.cut"] {
					t.Errorf("%v", c)
				}
				if o.took > 1200*time.Millisecond {
					t.Errorf("it took %v", o.took)
				}
			})
		})
	}
}

// The users of an Arrival exist before its clock begins, and are prepared while they are free.
func TestServersAreReadyBeforeTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		vus := scenario.Vus{{Name: "f", Nu: 5, Load: scenario.Arrival{Stages: at(10, time.Second)}, Start: func(_ context.Context, vui int) (scenario.User, error) {
			time.Sleep(time.Second) // for example for connecting
			made.Add(1)
			if vui == 4 {
				return nil, errors.New("no connection")
			}
			return &slow{}, nil
		}}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.planned": 10, "f.iterations": 10, "f.late": 0})
		if made.Load() != 5 || o.took > 1100*time.Millisecond || o.max["f.response"] > int64(6*time.Millisecond) || o.failures["start no connection"] != 1 {
			t.Errorf("%d made, took %v, greatest response %d, failures %v", made.Load(), o.took, o.max["f.response"], o.failures)
		}
	})
}

// slow takes 100 ms for Prepare and 5 ms for Iterate.
type slow struct{}

func (slow) Prepare(context.Context) error { time.Sleep(100 * time.Millisecond); return nil }
func (slow) Iterate(context.Context) error { time.Sleep(5 * time.Millisecond); return nil }

func TestRampOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := scenario.Ramp{{To: 10, Over: 10 * time.Second}, {To: 10, Over: 5 * time.Second}, {To: 0, Over: 10 * time.Second}}
		seen := make(chan int64, 4)
		o := play(t, t.Context(), taking(10, load, always(10*time.Millisecond)), &wire.Start{}, func(_ *Runner, r *meter.Registry) {
			for range 4 {
				time.Sleep(5 * time.Second)
				for _, total := range r.Totals() {
					if total.Title == "vu.f.active" {
						seen <- total.Value
					}
				}
			}
		})
		for i, want := range []int64{5, 10, 10, 5} {
			if got := <-seen; got < want || got > want+1 { // at the borders themselves
				t.Errorf("%d users active after %d s, want %d", got, (i+1)*5, want)
			}
		}
		// The area under the ramp is 150 user seconds, of 100 iterations each.
		if n := o.counts["f.iterations"]; n < 14_900 || n > 15_100 || o.took > 25100*time.Millisecond {
			t.Errorf("%d iterations, took %v", n, o.took)
		}
		o.want(t, map[string]int64{"f.active": 0, "f.started": 10, "f.finished": 10})
	})
}
