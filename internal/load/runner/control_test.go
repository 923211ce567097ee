package runner

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// now returns the current value of a counter or gauge of the run.
func now(t *testing.T, r *meter.Registry, title string) int64 {
	r.Cut(meter.Measured)
	for _, total := range r.Totals() {
		if total.Title == prefix+title {
			return total.Value
		}
	}
	t.Errorf("no %s", title)
	return 0
}

func TestPauseHoldsAndResumeGoesOn(t *testing.T) {
	for name, load := range map[string]scenario.Load{
		"closed": scenario.Loop(10 * time.Second),
		"open":   scenario.Arrival{Stages: at(100, 10*time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := play(t, t.Context(), taking(5, load, always(10*time.Millisecond)), &wire.Start{}, func(r *Runner, m *meter.Registry) {
					time.Sleep(3 * time.Second)
					r.Pause()
					time.Sleep(100 * time.Millisecond)
					before := now(t, m, "f.iterations")
					time.Sleep(2 * time.Second)
					if after := now(t, m, "f.iterations"); after != before || before == 0 {
						t.Errorf("%d iterations before the pause, %d after 2 s of it", before, after)
					}
					r.Resume()
				})
				switch name {
				case "closed": // the loop's time continues: 7.9 s of 500/s
					if n := o.counts["f.iterations"]; n < 3900 || n > 4000 {
						t.Errorf("%d iterations", n)
					}
				case "open": // the schedule is paused: nothing is lost, nothing is late
					o.want(t, map[string]int64{"f.planned": 1000, "f.iterations": 1000, "f.late": 0, "f.dropped": 0})
					if o.took < 12*time.Second || o.took > 12200*time.Millisecond || o.max["f.response"] > int64(11*time.Millisecond) {
						t.Errorf("took %v, greatest response time %d", o.took, o.max["f.response"])
					}
				}
			})
		})
	}
}

func TestScaleRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := play(t, t.Context(), taking(20, scenario.Arrival{Stages: at(100, 10*time.Second)}, always(time.Millisecond)), &wire.Start{}, func(r *Runner, m *meter.Registry) {
			time.Sleep(4 * time.Second)
			if err := r.Scale("", -1, 500); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Millisecond)
			before := now(t, m, "f.iterations")
			time.Sleep(2 * time.Second)
			if n := now(t, m, "f.iterations") - before; n < 995 || n > 1005 {
				t.Errorf("%d iterations in 2 s at 500/s", n)
			}
			if err := r.Scale("f", -1, 0); err != nil {
				t.Error(err)
			}
		})
		if n := o.counts["f.iterations"]; n < 1400 || n > 1415 || o.counts["f.late"] != 0 {
			t.Errorf("%d iterations, want those of 4 s at 100/s, 2 s at 500/s and none after; %d late", n, o.counts["f.late"])
		}
	})
}

func TestScaleUsers(t *testing.T) {
	for name, load := range map[string]scenario.Load{
		"closed": scenario.Loop(10 * time.Second),
		"open":   scenario.Arrival{Stages: at(1000, 10*time.Second), Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rates []int64
				done := make(chan struct{})
				play(t, t.Context(), taking(5, load, always(10*time.Millisecond)), &wire.Start{}, func(r *Runner, m *meter.Registry) {
					defer close(done)
					for _, users := range []int64{5, 2, 9, 0} {
						if err := r.Scale("f", users, -1); err != nil {
							t.Error(err)
						}
						time.Sleep(100 * time.Millisecond)
						before := now(t, m, "f.iterations")
						time.Sleep(time.Second)
						rates = append(rates, now(t, m, "f.iterations")-before)
					}
				})
				<-done
				for i, want := range []int64{500, 200, 900, 0} { // 100/s a user
					if rates[i] < want-want/8 || rates[i] > want+want/8 {
						t.Errorf("rates %v, want about 500, 200, 900, 0", rates)
						break
					}
				}
			})
		})
	}
}

// TestScaleAsUsersEnd holds that users may be added at the moment in which the last one ends.
func TestScaleAsUsersEnd(t *testing.T) {
	t.Parallel()
	for range 100 {
		o := play(t, t.Context(), taking(1, scenario.Times(1), always(0)), &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			for users := int64(1); users <= 200; users++ {
				if r.Scale("f", users, -1) != nil {
					return // the load is over
				}
			}
		})
		if started, finished := o.counts["f.started"], o.counts["f.finished"]; started != finished || started < 1 {
			t.Fatalf("%d users started, %d finished", started, finished)
		}
	}
}

func TestScaleRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := append(steps(scenario.Loop(time.Second)), scenario.Vu{Name: "once", Nu: 1, Fu: nothing})
		play(t, t.Context(), vus, &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			for _, tt := range []struct {
				class string
				users int64
				rate  float64
				want  string
			}{
				{"", 5, -1, "several classes"},
				{"g", 5, -1, `no class is called "g"`},
				{"f", -1, 5, "has no rate"},
				{"once", 5, -1, "can't change its users"},
				{"f", maxUsers + 1, -1, "at most"},
			} {
				if err := r.Scale(tt.class, tt.users, tt.rate); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Scale(%q, %d, %v) = %v, want %q", tt.class, tt.users, tt.rate, err, tt.want)
				}
			}
		})
	})
}
