package runner

import (
	"context"
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

// seen records what the users of a test did, and when.
type seen struct {
	mu    sync.Mutex
	began time.Time
	at    []time.Duration
	users map[int]time.Duration // when each first began
	by    map[int]int           // iterations of each user
	twice int                   // users that started twice
}

func newSeen() *seen {
	return &seen{began: time.Now(), users: map[int]time.Duration{}, by: map[int]int{}}
}

// start is a Start function whose users record every iteration. Starting takes a moment, so
// that each executor that waits for its users before it begins waits 1 ms.
func (s *seen) start(takes time.Duration) func(context.Context, int) (scenario.User, error) {
	return func(_ context.Context, vui int) (scenario.User, error) {
		s.mu.Lock()
		if _, ok := s.users[vui]; ok {
			s.twice++
		}
		s.users[vui] = time.Since(s.began)
		s.mu.Unlock()
		time.Sleep(500 * time.Microsecond)
		return scenario.Iterate(func(ctx context.Context) error {
			s.mu.Lock()
			s.at = append(s.at, time.Since(s.began))
			s.by[vui]++
			s.mu.Unlock()
			if takes > 0 {
				time.Sleep(takes)
			}
			return nil
		}), nil
	}
}

// planned divides vus among places.
func planned(t *testing.T, vus scenario.Vus, places []split.Place, base *wire.Start, once ...string) *split.Plan {
	t.Helper()
	classes, err := Check(vus)
	if err != nil {
		t.Fatal(err)
	}
	p, err := split.New(&wire.Hello{Classes: classes, Once: once}, places, base)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// together runs vus on several executors at once, in a bubble, and adds up what they counted.
// during receives the runners, in the order of starts.
func together(t *testing.T, vus scenario.Vus, starts []*wire.Start, during func([]*Runner)) outcome {
	t.Helper()
	outcomes := make([]outcome, len(starts))
	runners := make([]*Runner, len(starts))
	var all, ready sync.WaitGroup
	ready.Add(len(starts))
	for i, s := range starts {
		all.Go(func() {
			outcomes[i] = play(t, t.Context(), vus, s, func(r *Runner, _ *meter.Registry) {
				runners[i] = r
				ready.Done()
			})
		})
	}
	ready.Wait()
	if during != nil {
		during(runners)
	}
	all.Wait()
	sum := outcome{counts: map[string]int64{}}
	for _, o := range outcomes {
		for title, n := range o.counts {
			sum.counts[title] += n
		}
		sum.took = max(sum.took, o.took)
		sum.notes = append(sum.notes, o.notes...)
	}
	return sum
}

// divisions are ways to divide a run.
var divisions = map[string][]split.Place{
	"three agents":      {{}, {}, {}},
	"three by weight":   {{Weight: 5}, {Weight: 1}, {Weight: 2}},
	"two and processes": {{Processes: 3}, {Weight: 2}},
	"more than users":   make([]split.Place, 50),
}

// The runs of several executors merge to that of one: each user starts at the same time, and
// starts, iterations and active users are those of the whole.
func TestSeveralExecutorsMakeOneLoad(t *testing.T) {
	second := time.Second
	stages := []scenario.Rate{{To: 20, Over: second}, {To: 333.3, Over: 3 * second}, {To: 100}, {To: 100, Over: second}, {To: 0, Over: second}}
	for name, vu := range map[string]scenario.Vu{
		"once":          {Nu: 40, Rate: 33.3},
		"once at once":  {Nu: 40},
		"loop":          {Nu: 40, Rate: 33.3, Load: scenario.Loop(3 * second)},
		"times":         {Nu: 40, Rate: 100, Load: scenario.Times(7)},
		"shared":        {Nu: 40, Load: scenario.Shared(1003)},
		"ramp":          {Nu: 40, Load: scenario.Ramp{{To: 40, Over: 4 * second}, {To: 13, Over: second}, {To: 30, Over: 2 * second}}},
		"even":          {Nu: 40, Load: scenario.Arrival{Stages: stages}},
		"Poisson":       {Nu: 40, Load: scenario.Arrival{Stages: stages, Poisson: true}},
		"even, at rate": {Nu: 40, Rate: 100, Load: scenario.Arrival{Stages: stages}},
	} {
		for how, places := range divisions {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					takes := 10 * time.Millisecond
					if _, open := vu.Load.(scenario.Arrival); open || name == "ramp" {
						takes = 0 // so that a user is always free
					}
					if name == "ramp" {
						takes = 100 * time.Millisecond
					}
					vus := func(s *seen) scenario.Vus {
						vu := vu
						vu.Name, vu.Start = "f", s.start(takes)
						return scenario.Vus{vu}
					}
					one := newSeen()
					want := play(t, t.Context(), vus(one), &wire.Start{Seed: 11}, nil)
					many := newSeen()
					got := together(t, vus(many), planned(t, vus(many), places, &wire.Start{Seed: 11}).Starts(), nil)
					if many.twice > 0 || len(many.users) != len(one.users) || len(one.users) != 40 {
						t.Fatalf("%d users, %d twice; %d of one executor", len(many.users), many.twice, len(one.users))
					}
					for vui, at := range one.users {
						if many.users[vui] != at {
							t.Errorf("user %d begins at %v, of one executor at %v", vui, many.users[vui], at)
						}
					}
					if name == "shared" { // which user has how many may differ
						if len(many.at) != 1003 {
							t.Errorf("%d iterations", len(many.at))
						}
						return
					}
					slices.Sort(one.at)
					slices.Sort(many.at)
					if !slices.Equal(one.at, many.at) {
						t.Errorf("%d iterations, of one executor %d, or at other times", len(many.at), len(one.at))
					}
					for _, title := range []string{"started", "finished", "iterations", "planned", "begun", "late", "dropped", "active"} {
						if got.counts["f."+title] != want.counts["f."+title] {
							t.Errorf("%s: %d, of one executor %d", title, got.counts["f."+title], want.counts["f."+title])
						}
					}
					if got.took > max(want.took+takes, 6*second)+drainPoll {
						t.Errorf("took %v, one executor %v", got.took, want.took)
					}
				})
			})
		}
	}
}

// Control messages for the whole run, while three executors generate the load.
func TestSteeringSeveralExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeen()
		vus := scenario.Vus{{Name: "f", Nu: 2, Start: s.start(0), Load: scenario.Arrival{Stages: at(60, 10*time.Second)}}}
		p := planned(t, vus, make([]split.Place, 3), &wire.Start{})
		o := together(t, vus, p.Starts(), func(runners []*Runner) {
			say := func(wish *wire.Control) {
				all, err := p.Control(wish)
				if err != nil {
					t.Error(err)
				}
				for _, m := range all {
					if err := runners[m.Executor.Start.Executor].Control(m.Control); err != nil {
						t.Error(err)
					}
				}
			}
			time.Sleep(2*time.Second + time.Millisecond)
			say(&wire.Control{What: "scale", Users: 10, Rate: -1}) // the third executor has users from here on
			time.Sleep(2 * time.Second)
			say(&wire.Control{What: "scale", Users: -1, Rate: 300})
			time.Sleep(2 * time.Second)
			say(&wire.Control{What: "pause"})
			time.Sleep(time.Second)
			say(&wire.Control{What: "resume"})
			time.Sleep(time.Second)
			say(&wire.Control{What: "scale", Users: 2, Rate: 30})
		})
		// 60/s for 4 s, 300/s for 2 + 1 s, 30/s for the last 3 s of the stages' 10: a start
		// more or less at each change.
		if n := len(s.at); n < 240+900+90-4 || n > 240+900+90+4 {
			t.Errorf("%d starts", n)
		}
		if len(s.users) != 10 || s.twice > 0 || o.counts["f.dropped"] != 0 || o.counts["f.late"] != 0 {
			t.Errorf("users %v, %v", s.users, o.counts)
		}
		for vui := range 10 {
			if _, ok := s.users[vui]; !ok {
				t.Errorf("no user %d in %v", vui, s.users)
			}
		}
		// Three of ten users are the third executor's, and it makes three tenths of what was
		// due while there were ten: 120 + 900.
		third := 0
		for vui, n := range s.by {
			if vui%3 == 2 {
				third += n
			}
		}
		if third < 300 || third > 312 {
			t.Errorf("the third executor has made %d starts", third)
		}
		slices.Sort(s.at)
		// Evenly spaced as before, also after the users changed: the third executor, which had
		// no users to wait for, began 1 ms before the others.
		for i := 1; i < 240; i++ {
			if gap := s.at[i] - s.at[i-1]; gap < 15*time.Millisecond || gap > 18*time.Millisecond {
				t.Errorf("start %d comes %v after the one before", i, gap)
			}
		}
		if len(o.notes) > 0 {
			t.Errorf("executors note what they share: %q", o.notes)
		}
	})
}

// An executor without users runs as long as the class's load, because users may be added.
func TestNoUsers(t *testing.T) {
	for name, tt := range map[string]struct {
		load scenario.Load
		took time.Duration // of 3 s, of which one has passed
	}{
		"once":    {nil, 0},
		"loop":    {scenario.Loop(3 * time.Second), 2 * time.Second},
		"times":   {scenario.Times(3), 0},
		"shared":  {scenario.Shared(30), 0},
		"ramp":    {scenario.Ramp{{To: 1, Over: 3 * time.Second}}, 2 * time.Second},
		"arrival": {scenario.Arrival{Stages: at(100, 3*time.Second)}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeen()
				vus := scenario.Vus{{Name: "f", Nu: 1, Load: tt.load, Start: s.start(0)}}
				o := play(t, t.Context(), vus, planned(t, vus, make([]split.Place, 2), &wire.Start{ElapsedNs: int64(time.Second)}).Starts()[1], nil)
				if len(s.users) != 0 || o.took != tt.took || o.counts["f.started"] != 0 || o.counts["f.planned"] != 0 {
					t.Errorf("users %v, took %v, %v", s.users, o.took, o.counts)
				}
			})
		})
	}
}
