package split

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire"
)

// seed of all random configurations here; a failure also names its own number.
const seed = 20260802

// hello declares a class of each kind of load.
func hello(nu int64, rate float64, iterations int64) *wire.Hello {
	return &wire.Hello{Classes: []*wire.Class{
		{Name: "calls", Nu: nu, Rate: rate, Load: "once a user"},
		{Name: "once", Nu: nu, Rate: rate, Closed: true},
		{Name: "loop", Nu: nu, LoopNs: int64(time.Minute), Closed: true},
		{Name: "times", Nu: nu, Iterations: iterations, Each: true, Closed: true},
		{Name: "shared", Nu: nu, Iterations: iterations, Closed: true},
		{Name: "ramp", Nu: nu, Stages: []*wire.Stage{{To: float64(nu), OverNs: int64(time.Minute)}}, Closed: true},
		{Name: "open", Nu: nu, Stages: []*wire.Stage{{To: rate, OverNs: int64(time.Minute)}}},
	}}
}

func mustNew(t *testing.T, h *wire.Hello, places []Place, base *wire.Start) *Plan {
	t.Helper()
	p, err := New(h, places, base)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// whole fails unless the starts of executors include every user of every class once, and
// the whole rate and number of iterations.
func whole(t *testing.T, h *wire.Hello, executors []Executor) {
	t.Helper()
	for i, c := range h.Classes {
		users := map[int64]bool{}
		var rate, part float64
		var iterations int64
		for _, e := range executors {
			s := e.Start.Shares[i]
			seg, err := segmentOf(e.Start)
			if err != nil {
				t.Fatal(err)
			}
			for n := range s.Nu {
				vui := s.First + seg.Nth(n) - seg.Nth(0)
				if users[vui] || vui < 0 || vui >= c.Nu {
					t.Fatalf("class %s: user %d of executor %d is there twice, or is none of %d", c.Name, vui, e.Start.Executor, c.Nu)
				}
				users[vui] = true
			}
			if s.Nu == 0 && (s.Rate != 0 || s.Part != 0 || s.Iterations != 0 && !c.Each) {
				t.Fatalf("class %s: no user for %v", c.Name, s)
			}
			rate, part, iterations = rate+s.Rate, part+s.Part, iterations+s.Iterations
		}
		if int64(len(users)) != c.Nu || math.Abs(rate-c.Rate) > 1e-9 || math.Abs(part-1) > 1e-9 {
			t.Fatalf("class %s: %d of %d users, rate %v of %v, parts add up to %v", c.Name, len(users), c.Nu, rate, c.Rate, part)
		}
		if !c.Each && iterations != c.Iterations {
			t.Fatalf("class %s: %d of %d iterations", c.Name, iterations, c.Iterations)
		}
	}
}

// I8: shares add up to the whole, for every number of users and agents, even or weighted.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	configurations := 200
	if long.Run {
		configurations = 1000
	}
	for configuration := range configurations {
		var places []Place
		sum := 0.0
		for agent := range 1 + configuration%50 {
			p := Place{Agent: string(rune('a' + agent))}
			if configuration%3 > 0 {
				p.Weight = 1 + r.IntN(16)
			}
			if configuration%3 > 1 {
				p.Processes = 1 + r.IntN(4)
			}
			sum += float64(max(p.Weight, 1))
			places = append(places, p)
		}
		h := hello(1+r.Int64N(150), r.Float64()*1e4, 1+r.Int64N(5000))
		p := mustNew(t, h, places, &wire.Start{Run: "r", Seed: 7, Executor: 3})
		whole(t, h, p.Executors())
		at := 0
		for _, place := range places { // each agent's number of users is exactly that of its weight
			var nu int64
			for range max(place.Processes, 1) {
				e := p.Executors()[at]
				if e.Agent != place.Agent || e.Start.Executor != uint32(3+at) || e.Start.Run != "r" || e.Start.Seed != 7 {
					t.Fatalf("executor %d is %v", at, e)
				}
				nu += e.Start.Shares[0].Nu
				at++
			}
			fair := float64(h.Classes[0].Nu) * float64(max(place.Weight, 1)) / sum
			if off := math.Abs(float64(nu) - fair); configuration%3 == 0 && off >= 1 || off > 4 {
				t.Fatalf("configuration %d: agent %s has %d users, fair are %.2f", configuration, place.Agent, nu, fair)
			}
		}
	}
}

// S0-11: Nu 100 and Rate 33.3 on three agents.
func TestHundredUsersOnThreeAgents(t *testing.T) {
	t.Parallel()
	h := hello(100, 33.3, 1000)
	p := mustNew(t, h, []Place{{Agent: "a"}, {Agent: "b"}, {Agent: "c"}}, &wire.Start{})
	whole(t, h, p.Executors())
	var rate float64
	for i, s := range p.Starts() {
		if want := []int64{34, 33, 33}[i]; s.Shares[0].Nu != want || s.Shares[0].First != int64(i) || s.Executors != 3 || s.Place != uint32(i) || len(s.Weights) != 0 {
			t.Errorf("executor %d: %v", i, s)
		}
		rate += s.Shares[0].Rate
	}
	if rate != 33.3 {
		t.Errorf("rates add up to %v", rate)
	}
}

func TestFewerUsersThanAgents(t *testing.T) {
	t.Parallel()
	h := hello(2, 5, 3)
	p := mustNew(t, h, []Place{{Agent: "a"}, {Agent: "b"}, {Agent: "c"}}, &wire.Start{})
	whole(t, h, p.Executors())
	for i, s := range p.Starts()[2].Shares {
		if s.Nu != 0 || s.Part != 0 || s.Rate != 0 || s.Iterations != 0 && !h.Classes[i].Each {
			t.Errorf("class %d: %v, want nothing", i, s)
		}
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	t.Parallel()
	three := []Place{{Agent: "a"}, {Agent: "b"}, {Agent: "c"}}
	for name, tt := range map[string]struct {
		places []Place
		base   *wire.Start
		want   string
	}{
		"no agent":        {nil, &wire.Start{}, "no agent"},
		"negative weight": {[]Place{{Agent: "a", Weight: -1}}, &wire.Start{}, "weight -1"},
		"heavy":           {[]Place{{Agent: "a", Weight: maxWeight + 1}}, &wire.Start{}, "want up to"},
		"processes":       {[]Place{{Agent: "a", Processes: -4}}, &wire.Start{}, "-4 processes"},
		"primes":          {[]Place{{Processes: 997}, {Processes: 991}, {Processes: 983}, {Processes: 977}}, &wire.Start{}, "too different"},
		"weights":         {[]Place{{Weight: 999_983, Processes: 2}, {Weight: 999_979, Processes: 3}, {Weight: 7, Processes: 101}}, &wire.Start{}, "too different"},
		"once":            {three, &wire.Start{Once: true}, "one iteration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := New(hello(10, 1, 10), tt.places, tt.base); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// The users and rates of all executors add up to those of a change; starts are divided
// among executors with users.
func TestControlsAddUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(seed, 2))
	for configuration := range 300 {
		var places []Place
		for range 1 + r.IntN(20) {
			places = append(places, Place{Weight: 1 + r.IntN(1+configuration%5)})
		}
		p := mustNew(t, hello(50, 10, 10), places, &wire.Start{})
		if configuration%2 == 1 && len(places) > 1 {
			p.Gone(uint32(r.IntN(len(places))))
		}
		users, rate := r.Int64N(300), r.Float64()*1000
		all, err := p.Control(&wire.Control{Id: 5, What: "scale", Class: "open", Users: users, Rate: rate})
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		var sum float64
		for i, m := range all {
			seg, err := segment.New(m.Control.Weights, int(m.Control.Executors), int(m.Control.Place))
			if err != nil {
				t.Fatal(err)
			}
			if own := seg.Below(users); own != m.Control.Users || m.Control.AllUsers != users || m.Control.AllRate != rate || m.Control.Id != 5 || m.Control.Place != uint32(i) || int(m.Control.Executors) != len(all) {
				t.Fatalf("configuration %d: %v, of which %d are this executor's", configuration, m.Control, own)
			}
			n, sum = n+m.Control.Users, sum+m.Control.Rate
		}
		if n != users || users > 0 && math.Abs(sum-rate) > 1e-9*max(1, rate) || len(all) != len(p.Executors()) {
			t.Fatalf("configuration %d: %d of %d users, %v of %v a second", configuration, n, users, sum, rate)
		}
	}
}

func TestWishesThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, wish := range map[string]*wire.Control{
		"unknown control":     {What: "explode"},
		"name one of":         {What: "scale", Users: 5, Rate: -1},
		"no class is called":  {What: "scale", Class: "nobody", Users: 5, Rate: -1},
		"has no rate":         {What: "scale", Class: "loop", Users: -1, Rate: 5},
		"one call of Fu":      {What: "scale", Class: "calls", Users: 5, Rate: -1},
		"a rate can't be NaN": {What: "scale", Class: "open", Users: -1, Rate: math.NaN()},
	} {
		p := mustNew(t, hello(10, 1, 10), []Place{{}, {}}, &wire.Start{})
		if all, err := p.Control(wish); err == nil || len(all) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", wish, err, want)
		}
	}
	p := mustNew(t, hello(10, 1, 10), []Place{{}}, &wire.Start{})
	p.Gone(0)
	if _, err := p.Control(&wire.Control{What: "scale", Class: "open", Users: 5, Rate: -1}); err == nil {
		t.Error("a run without executors is scaled")
	}
}
