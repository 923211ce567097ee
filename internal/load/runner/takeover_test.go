package runner

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// An agent is lost, and others take over its part 2 s later: from then on the load is complete
// again. Starts due meanwhile are omitted, and there is no burst.
func TestTakingOver(t *testing.T) {
	second := time.Second
	for name, vu := range map[string]scenario.Vu{
		"even":    {Nu: 30, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 300, Over: 6 * second}}}},
		"Poisson": {Nu: 30, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 300, Over: 6 * second}}, Poisson: true}},
		"ramp":    {Nu: 30, Load: scenario.Ramp{{To: 30, Over: 6 * second}}},
	} {
		for survivors := 1; survivors <= 4; survivors++ {
			t.Run(fmt.Sprint(name, ", by ", survivors), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSeen()
					takes := time.Duration(0)
					if name == "ramp" {
						takes = 100 * time.Millisecond
					}
					vu.Name, vu.Start = "f", s.start(takes)
					vus := scenario.Vus{vu}
					one := play(t, t.Context(), vus, &wire.Start{Seed: 5}, nil)
					whole := slices.Clone(s.at)

					*s = seen{began: time.Now(), users: map[int]time.Duration{}, by: map[int]int{}}
					p := planned(t, vus, []split.Place{{Weight: 2}, {Weight: 1}, {Weight: 2}}, &wire.Start{Seed: 5})
					p.Gone(1)
					survived := p.Starts()
					further, err := p.TakeOver(make([]split.Place, survivors), 2*second, nil)
					if err != nil || len(further) != survivors {
						t.Fatalf("%d executors, %v", len(further), err)
					}
					var later sync.WaitGroup
					for _, e := range further {
						later.Go(func() {
							time.Sleep(2 * second)
							o := play(t, t.Context(), vus, e.Start, nil)
							if want := 4 * second; o.took < want || o.took > want+takes+drainPoll {
								t.Errorf("took %v, want the rest: %v", o.took, want)
							}
						})
					}
					together(t, vus, survived, nil)
					later.Wait()
					if s.twice > 0 || len(s.users) != 30 {
						t.Errorf("%d users, %d twice; one executor's run took %v", len(s.users), s.twice, one.took)
					}
					after := func(all []time.Duration) (rest []time.Duration, before int) {
						for _, at := range all {
							if at >= 2*second+time.Millisecond {
								rest = append(rest, at)
							}
						}
						slices.Sort(rest)
						return rest, len(all) - len(rest)
					}
					want, early := after(whole)
					got, before := after(s.at)
					if name == "ramp" { // users that begin an iteration as soon as they start
						if math.Abs(float64(len(got)-len(want))) > 30 || before >= early {
							t.Errorf("%d iterations after, %d of one executor; %d and %d before", len(got), len(want), before, early)
						}
					} else if !slices.Equal(got, want) || before >= early {
						t.Errorf("%d starts after, of one executor %d, or at other times; %d and %d before", len(got), len(want), before, early)
					}
				})
			})
		}
	}
}

// Users that start at a rate, and were due before, start one by one. A class that works once
// does its work once, if it is known which was done.
func TestTakingOverUsers(t *testing.T) {
	for name, tt := range map[string]struct {
		vu         scenario.Vu
		done       split.Done
		users      int
		iterations int64
	}{
		"loop":   {scenario.Vu{Nu: 60, Rate: 30, Load: scenario.Loop(20 * time.Second)}, split.Done{Iterations: 100}, 20, -1},
		"once":   {scenario.Vu{Nu: 60, Rate: 30}, split.Done{Finished: 15, Iterations: 15}, 5, 5},
		"times":  {scenario.Vu{Nu: 60, Load: scenario.Times(10)}, split.Done{Iterations: 77}, 20, 123},
		"shared": {scenario.Vu{Nu: 60, Load: scenario.Shared(600)}, split.Done{Iterations: 77}, 20, 123},
	} {
		for survivors := 1; survivors <= 3; survivors++ {
			t.Run(fmt.Sprint(name, ", by ", survivors), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSeen()
					vu := tt.vu
					vu.Name, vu.Start = "f", s.start(10*time.Millisecond)
					vus := scenario.Vus{vu}
					p := planned(t, vus, make([]split.Place, 3), &wire.Start{Seed: 5})
					p.Gone(2)
					further, err := p.TakeOver(make([]split.Place, survivors), 10*time.Second, map[uint32][]split.Done{2: {tt.done}})
					if err != nil {
						t.Fatal(err)
					}
					var starts []*wire.Start
					for _, e := range further {
						starts = append(starts, e.Start)
					}
					o := together(t, vus, starts, nil)
					if len(s.users) != tt.users || tt.iterations >= 0 && o.counts["f.iterations"] != tt.iterations {
						t.Errorf("%d users, %d iterations", len(s.users), o.counts["f.iterations"])
					}
					for vui := range s.users {
						if vui%3 != 2 {
							t.Errorf("user %d was not lost", vui)
						}
					}
					if vu.Rate > 0 { // a third of 30/s
						var at []time.Duration
						for _, began := range s.users {
							at = append(at, began)
						}
						slices.Sort(at)
						burst := survivors
						for i := burst; i < len(at); i++ {
							if gap := at[i] - at[i-burst]; gap < 90*time.Millisecond {
								t.Errorf("%d users begin within %v", burst+1, gap)
							}
						}
					}
				})
			})
		}
	}
}

// A run's time limit is at the same time for an executor that joins later.
func TestDurationFromTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "f", Nu: 3, Load: scenario.Loop(time.Minute), Start: newSeen().start(10 * time.Millisecond)}}
		o := play(t, t.Context(), vus, &wire.Start{ElapsedNs: int64(4 * time.Second), DurationNs: int64(6 * time.Second)}, nil)
		if o.took < 2*time.Second || o.took > 2*time.Second+20*time.Millisecond {
			t.Errorf("took %v, want 2 s", o.took)
		}
	})
}

// The first batch of an executor that joins later begins when it joins; it has the same clock
// as the others.
func TestBatchesOfWhoComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := steps(scenario.Loop(5 * time.Second))
		classes, err := Check(vus)
		if err != nil {
			t.Fatal(err)
		}
		elapsed := 2300 * time.Millisecond
		r, err := New(vus, classes, &wire.Start{IntervalNs: int64(time.Second), WarmupNs: int64(2500 * time.Millisecond), GracefulNs: int64(time.Second), ElapsedNs: int64(elapsed), Shares: []*wire.Share{{Nu: 4, Part: 1}}}, meter.New())
		if err != nil {
			t.Fatal(err)
		}
		r.alarm = func() alarm { return plainAlarm{} }
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		done, began := make(chan struct{}), time.Now()
		go func() {
			defer close(done)
			r.Run(t.Context(), func(time.Duration) {})
		}()
		var borders []time.Duration
		var warm []bool
		err = r.Report(began, done, func(b *wire.Batch) error {
			if b.Seq == 1 && b.GoUnixNs != began.Add(-elapsed).UnixNano() {
				t.Errorf("the load is said to begin at %d", b.GoUnixNs)
			}
			if !b.More {
				borders = append(borders, time.Duration(b.FromNs))
				warm = append(warm, b.Warmup)
			}
			if b.Final != nil && time.Duration(b.Final.LoadNs) < 5*time.Second {
				t.Errorf("the load was over at %v", time.Duration(b.Final.LoadNs))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{2300 * time.Millisecond, 2500 * time.Millisecond, 3 * time.Second, 4 * time.Second, 5 * time.Second}
		if !slices.Equal(borders, want) || !warm[0] || slices.Contains(warm[1:], true) {
			t.Errorf("batches from %v, warm-up %v", borders, warm)
		}
	})
}

// A schedule that started hours ago is skipped at once; start by start only if each start needs
// a random number.
func TestComingLateToAnEvenScheduleIsQuick(t *testing.T) {
	seg, err := segmentOf(&wire.Start{Executors: 3, Place: 1})
	if err != nil {
		t.Fatal(err)
	}
	load := scenario.Arrival{Stages: []scenario.Rate{{To: 0, Over: time.Hour}, {To: maxRate, Over: 10 * time.Hour}, {To: maxRate, Over: time.Hour}}}
	s := newArrivals(load, 1, 1, 0, seg.Round(100))
	elapsed := 11*time.Hour + 59*time.Minute // 200,000,000,000 starts
	s.skip(elapsed)
	if at, ok := s.next(); !ok || at < elapsed || at > elapsed+time.Microsecond {
		t.Errorf("the next start is at %v, %v", at, ok)
	}
}
