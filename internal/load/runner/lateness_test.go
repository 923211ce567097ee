package runner

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// halting is an alarm that is late once, at a given time of the run, as if the process had been
// stopped.
type halting struct {
	from time.Time
	at   time.Duration
	long time.Duration
	done *atomic.Bool
}

func halt(at, long time.Duration) halting { return halting{time.Now(), at, long, new(atomic.Bool)} }

func (h halting) wait(d time.Duration) {
	time.Sleep(d)
	if time.Since(h.from) >= h.at && !h.done.Swap(true) {
		time.Sleep(h.long)
	}
}

func (halting) close() {}

// A start that becomes due while gobench itself is stopped, and then finds no user free, has
// not waited for the target. Its wait counts from then on.
func TestGobenchsOwnLatenessIsNoQueueWait(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		load     scenario.Arrival
		lag      time.Duration // the greatest
		wait     time.Duration // the greatest
		response time.Duration // the greatest
		late     int64         // at least
		dropped  int64         // at least
	}{
		// 300 starts become due, for which there are 50 users, of 1 ms each: the last
		// waits for five before it.
		{"all wait", scenario.Arrival{Stages: at(1000, 2*time.Second)}, 300 * ms, 6 * ms, 301 * ms, 240, 0},
		{"none may wait", scenario.Arrival{Stages: at(1000, 2*time.Second), Drop: true}, 300 * ms, 0, 301 * ms, 0, 240},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := playBy(t, t.Context(), halt(time.Second, 300*ms), taking(50, tt.load, always(ms)), &wire.Start{}, nil)
				o.want(t, map[string]int64{"f.planned": 2000, "f.start_lag": 2000, "f.begun": 2000 - o.counts["f.dropped"],
					"f.queue_wait": o.counts["f.late"], "f.response": o.counts["f.begun"], "f.behind": 0})
				if lag := time.Duration(o.max["f.start_lag"]); lag < tt.lag-2*ms || lag > tt.lag {
					t.Errorf("greatest start lag %v, want %v", lag, tt.lag)
				}
				if wait := time.Duration(o.max["f.queue_wait"]); wait > tt.wait {
					t.Errorf("greatest queue wait %v, want %v at most", wait, tt.wait)
				}
				// Whatever is late, a response time counts from the planned start.
				if r := time.Duration(o.max["f.response"]); r < tt.response-2*ms || r > tt.response+6*ms {
					t.Errorf("greatest response time %v, want %v", r, tt.response)
				}
				if o.counts["f.late"] < tt.late || o.counts["f.dropped"] < tt.dropped {
					t.Errorf("%d late, %d dropped, want at least %d and %d", o.counts["f.late"], o.counts["f.dropped"], tt.late, tt.dropped)
				}
			})
		})
	}
}

// Both together: the target stalls from 1 s to 2 s, gobench is stopped from 1.2 s to 1.5 s.
// Starts due in these 300 ms have up to that much lag; the rest is wait.
func TestLagAndWaitAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := playBy(t, t.Context(), halt(1200*time.Millisecond, 300*time.Millisecond), taking(10, scenario.Arrival{Stages: at(1000, 3*time.Second)}, func() time.Duration {
			if now := time.Since(began); now >= time.Second && now < 2*time.Second {
				return 2*time.Second - now
			}
			return 100 * time.Microsecond
		}), &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.planned": 3000, "f.begun": 3000, "f.start_lag": 3000, "f.response": 3000})
		near := func(what string, got int64, want time.Duration) {
			if d := time.Duration(got) - want; d.Abs() > 20*time.Millisecond {
				t.Errorf("greatest %s %v, want %v", what, time.Duration(got), want)
			}
		}
		near("start lag", o.max["f.start_lag"], 300*time.Millisecond)
		near("queue wait", o.max["f.queue_wait"], time.Second)
		near("response time", o.max["f.response"], time.Second)
	})
}

// Starts that are due but not made are counted while gobench is stopped. If the load ends
// before they are made, they count as planned and unserved.
func TestStartsBehindPlan(t *testing.T) {
	for _, tt := range []struct {
		name string
		load scenario.Arrival
		off  float64 // allowed relative error of the number
	}{
		{"evenly spaced", scenario.Arrival{Stages: at(1000, 10*time.Second)}, 0.01},
		{"second stage", scenario.Arrival{Stages: []scenario.Rate{{To: 10, Over: 500 * time.Millisecond}, {To: 10, Over: 0}, {To: 1000, Over: 0}, {To: 1000, Over: 9 * time.Second}}}, 0.01},
		{"Poisson", scenario.Arrival{Stages: at(1000, 10*time.Second), Poisson: true}, 0.15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var behind int64
				start := &wire.Start{DurationNs: int64(1800 * time.Millisecond), Hold: true}
				o := playBy(t, t.Context(), halt(time.Second, 2*time.Second), taking(50, tt.load, always(time.Millisecond)), start, func(r *Runner, _ *meter.Registry) {
					time.Sleep(1500 * time.Millisecond)
					c := r.classes[0]
					behind = c.coming.overdue(c.now())
				})
				if math.Abs(float64(behind)/500-1) > tt.off {
					t.Errorf("%d starts behind plan after 0.5 s at 1,000/s", behind)
				}
				missed := o.counts["f.planned"] - o.counts["f.start_lag"]
				if math.Abs(float64(missed)/800-1) > tt.off || o.counts["f.unserved"] != missed || o.counts["f.begun"] != o.counts["f.start_lag"] {
					t.Errorf("missed %d starts in 0.8 s at 1,000/s; %v", missed, o.counts)
				}
			})
		})
	}
}

// A pause shifts the schedule: starts that are not due are not behind.
func TestAPauseIsNotBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overdue := func(r *Runner) int64 { return r.classes[0].coming.overdue(r.classes[0].now()) }
		load := scenario.Arrival{Stages: []scenario.Rate{{To: 100, Over: time.Second}, {To: 100, Over: time.Second}}}
		o := playBy(t, t.Context(), halt(3200*time.Millisecond, time.Second), taking(10, load, always(time.Millisecond)), &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			time.Sleep(1100*time.Millisecond + 1)
			r.Pause()
			time.Sleep(time.Second)
			if n := overdue(r); n != 0 {
				t.Errorf("%d starts behind in a pause", n)
			}
			time.Sleep(time.Second)
			r.Resume()
			time.Sleep(50 * time.Millisecond)
			if n := overdue(r); n != 0 {
				t.Errorf("%d starts behind after a pause", n)
			}
			time.Sleep(550 * time.Millisecond) // of which 0.5 s and a start or two are in a halt
			if n := overdue(r); n < 49 || n > 51 {
				t.Errorf("%d starts behind after a halt of 0.5 s at 100/s", n)
			}
		})
		// The halt lasts beyond the end, when nothing begins any more.
		o.want(t, map[string]int64{"f.planned": 200, "f.start_lag": 200, "f.begun": 130, "f.unserved": 70, "f.age": 70})
	})
}

func TestUsersBehindTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := taking(100, nil, always(time.Hour))
		vus[0].Rate = 100
		var before, behind int64
		ctx := t.Context()
		o := playBy(t, ctx, halt(200*time.Millisecond, 600*time.Millisecond), vus, &wire.Start{Seed: 3, DurationNs: int64(3 * time.Second)}, func(r *Runner, _ *meter.Registry) {
			c := r.classes[0]
			time.Sleep(150 * time.Millisecond)
			before = c.coming.overdue(c.now())
			time.Sleep(550 * time.Millisecond)
			behind = c.coming.overdue(c.now())
		})
		if before != 0 || behind < 40 || behind > 60 {
			t.Errorf("%d users behind before the halt, %d after 0.5 s of it at 100/s", before, behind)
		}
		o.want(t, map[string]int64{"f.start_lag": 100})
	})
}
