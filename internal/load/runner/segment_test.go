package runner

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// The sum of active users is the ramp's value at every time, on any number of executors.
func TestRampOverExecutorsIsExact(t *testing.T) {
	t.Logf("seed 3")
	random := rand.New(rand.NewPCG(3, 1))
	for range 40 {
		load := scenario.Ramp{{To: random.IntN(100), Over: time.Duration(random.IntN(5)) * time.Second}, {To: random.IntN(100), Over: time.Second}, {To: 7, Over: time.Second}}
		var places []split.Place
		for range 1 + random.IntN(50) {
			places = append(places, split.Place{Weight: random.IntN(4)})
		}
		vus := scenario.Vus{{Nu: 100, Load: load, Fu: func(context.Context, int) {}}}
		ramp := newRamp(load)
		for at := time.Duration(0); at < ramp.length(); at += 97 * time.Millisecond {
			var want, got int64
			for n := range int64(100) {
				if active, _ := ramp.active(n, at); active {
					want++
				}
			}
			for _, s := range planned(t, vus, places, &wire.Start{}).Starts() {
				seg, err := segmentOf(s)
				if err != nil {
					t.Fatal(err)
				}
				for i := range s.Shares[0].Nu {
					if active, _ := ramp.active(seg.Nth(i), at); active {
						got++
					}
				}
			}
			if got != want {
				t.Fatalf("%v on %d places: %d users at %v, want %d", load, len(places), got, at, want)
			}
		}
	}
}

// I8: the schedules of all executors together are that of one, start by start, for any stages,
// agents and weights.
func TestDividedArrivalsAreTheWhole(t *testing.T) {
	t.Logf("seed 4")
	random := rand.New(rand.NewPCG(4, 1))
	for configuration := range 1000 {
		load := scenario.Arrival{Poisson: configuration%2 == 1}
		for range 1 + random.IntN(4) {
			load.Stages = append(load.Stages, scenario.Rate{To: float64(random.IntN(300)) * random.Float64(), Over: time.Duration(random.IntN(4000)) * time.Millisecond})
		}
		load.Stages = append(load.Stages, scenario.Rate{To: 1 + random.Float64(), Over: time.Second})
		var places []split.Place
		for range 1 + random.IntN(50) {
			places = append(places, split.Place{Weight: random.IntN(1 + configuration%7)})
		}
		vus := scenario.Vus{{Nu: 1 + random.IntN(120), Load: load, Fu: func(context.Context, int) {}}}
		elapsed := time.Duration(random.IntN(3)) * time.Duration(random.IntN(3000)) * time.Millisecond
		var want, got []time.Duration
		for _, at := range all(load, 1, 9) {
			if at >= elapsed {
				want = append(want, at)
			}
		}
		for _, s := range planned(t, vus, places, &wire.Start{Seed: 9, ElapsedNs: int64(elapsed)}).Starts() {
			seg, err := segmentOf(s)
			if err != nil {
				t.Fatal(err)
			}
			schedule := newArrivals(load, 1, 9, 0, seg.Round(int64(vus[0].Nu)))
			schedule.skip(elapsed)
			for at, ok := schedule.next(); ok; at, ok = schedule.next() {
				got = append(got, at)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("configuration %d: %d starts on %d places from %v on, of one executor %d, or at other times", configuration, len(got), len(places), elapsed, len(want))
		}
	}
}

// Contradictory start messages are refused.
func TestBadSegments(t *testing.T) {
	vus := scenario.Vus{{Name: "f", Nu: 100, Fu: func(context.Context, int) {}}}
	classes, err := Check(vus)
	if err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]*wire.Start{
		"place 3 of 3":   {Executors: 3, Place: 3, Shares: []*wire.Share{{Nu: 33}}},
		"30 of the 100":  {Executors: 3, Place: 1, Shares: []*wire.Share{{Nu: 30}}},
		"weight 0":       {Executors: 2, Weights: []int64{0, 1}, Shares: []*wire.Share{{Nu: 50}}},
		"2 weights of 3": {Executors: 3, Weights: []int64{1, 1}, Shares: []*wire.Share{{Nu: 34}}},
		"part 5 of 2":    {Executors: 2, Part: 5, Parts: 2, Shares: []*wire.Share{{Nu: 25}}},
		"turn -1":        {Turn: -1, Shares: []*wire.Share{{Nu: 100}}},
		"elapsed -5":     {ElapsedNs: -5, Shares: []*wire.Share{{Nu: 100}}},
	} {
		if _, err := New(vus, classes, s, meter.New()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", s, err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		play(t, t.Context(), scenario.Vus{{Name: "f", Nu: 4, Load: scenario.Arrival{Stages: at(10, time.Second)}, Fu: func(context.Context, int) {}}}, &wire.Start{}, func(r *Runner, _ *meter.Registry) {
			for _, m := range []*wire.Control{
				{What: "scale", Users: 5, Rate: -1, AllUsers: 9, Executors: 2, Place: 1},
				{What: "scale", Users: 5, Rate: -1, AllUsers: 9, Executors: 2, Place: 2},
				{What: "scale", Users: -1, Rate: 1, AllRate: maxRate + 1, Executors: 2},
			} {
				if err := r.Control(m); err == nil {
					t.Errorf("%v is followed", m)
				}
			}
		})
	})
}

// BenchmarkDividedStarts measures the cost of a start for each of 50 executors that share
// 200,000 starts a second: ns/op divided by 50 is the cost of a start of the whole run.
func BenchmarkDividedStarts(b *testing.B) {
	for name, poisson := range map[string]bool{"even": false, "Poisson": true} {
		b.Run(name, func(b *testing.B) {
			seg, err := segmentOf(&wire.Start{Executors: 50, Place: 17})
			if err != nil {
				b.Fatal(err)
			}
			load := scenario.Arrival{Stages: []scenario.Rate{{To: 200_000, Over: 1000 * time.Hour}}, Poisson: poisson}
			s := newArrivals(load, 1, 3, 0, seg.Round(1000))
			for b.Loop() {
				if _, ok := s.next(); !ok {
					b.Fatal("the schedule has ended")
				}
			}
		})
	}
}

// Random values: a user's are the same on any executor, so that a run can be repeated. The
// draws of each executor's Setup differ, and so do those of a user that replaces a lost one.
func TestRandomSourcesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		setups, users := map[uint64]bool{}, map[int][]uint64{}
		vus := scenario.Vus{{Name: "f", Nu: 6, Setup: func(ctx context.Context) (context.Context, error) {
			mu.Lock()
			defer mu.Unlock()
			n := meter.ScopeOf(ctx).Rand().Uint64()
			if setups[n] {
				t.Error("two executors' Setup draw the same")
			}
			setups[n] = true
			return ctx, nil
		}, Fu: func(ctx context.Context, vui int) {
			mu.Lock()
			defer mu.Unlock()
			users[vui] = append(users[vui], meter.ScopeOf(ctx).Rand().Uint64())
		}}}
		play(t, t.Context(), vus, &wire.Start{Seed: 8}, nil)
		p := planned(t, vus, make([]split.Place, 3), &wire.Start{Seed: 8})
		together(t, vus, p.Starts(), nil)
		p.Gone(1)
		further, err := p.TakeOver(make([]split.Place, 1), time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		play(t, t.Context(), vus, further[0].Start, nil)
		for vui, drawn := range users {
			if drawn[0] != drawn[1] || len(drawn) != map[bool]int{true: 3, false: 2}[vui%3 == 1] || len(drawn) == 3 && drawn[2] == drawn[0] {
				t.Errorf("user %d has drawn %v on one executor, on three, and in a lost one's place", vui, drawn)
			}
		}
		if len(users) != 6 || len(setups) != 5 {
			t.Errorf("%d users, %d setups", len(users), len(setups))
		}
	})
}
