package split

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run/segment"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire"
)

// Lost executors are taken over, repeatedly: at every time each user belongs to exactly one
// executor.
func TestTakeOverIsWhole(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	configurations := 50
	if long.Run {
		configurations = 200
	}
	for configuration := range configurations {
		var places []Place
		for range 2 + r.IntN(12) {
			places = append(places, Place{Weight: 1 + r.IntN(1+configuration%4)})
		}
		h := hello(1+r.Int64N(300), 10, 1+r.Int64N(1000))
		p := mustNew(t, h, places, &wire.Start{DurationNs: int64(time.Minute)})
		for round := range 3 {
			var gone []uint32
			for _, e := range p.Executors()[1:] {
				if r.IntN(3) == 0 {
					gone = append(gone, e.Start.Executor)
				}
			}
			before := len(p.all)
			p.Gone(gone...)
			further, err := p.TakeOver(places[:1+r.IntN(len(places))], time.Second*time.Duration(round+1), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range further {
				if e.Start.Executor != uint32(before+i) || e.Start.ElapsedNs != int64(time.Second)*int64(round+1) || e.Start.DurationNs != int64(time.Minute) {
					t.Fatalf("configuration %d: %v", configuration, e)
				}
			}
		}
		for i, c := range h.Classes {
			users := map[int64]bool{}
			var iterations int64
			for _, e := range p.Executors() {
				seg, err := segmentOf(e.Start)
				if err != nil {
					t.Fatal(err)
				}
				s := e.Start.Shares[i]
				if s.Nu != seg.Below(c.Nu) {
					t.Fatalf("configuration %d: %d users in a place of %d", configuration, s.Nu, seg.Below(c.Nu))
				}
				for n := range s.Nu {
					vui := s.First + seg.Nth(n) - seg.Nth(0)
					if users[vui] {
						t.Fatalf("configuration %d: user %d twice", configuration, vui)
					}
					users[vui] = true
				}
				if c.Each && e.Start.ElapsedNs == 0 {
					iterations += s.Iterations * s.Nu
				} else {
					iterations += s.Iterations
				}
			}
			if want := c.Iterations * map[bool]int64{false: 1, true: c.Nu}[c.Each]; int64(len(users)) != c.Nu || iterations != want {
				t.Fatalf("configuration %d, class %s: %d of %d users, %d of %d iterations", configuration, c.Name, len(users), c.Nu, iterations, want)
			}
		}
		unique(t, p)
	}
}

// unique fails if two executors of a plan, lost ones included, would send the same {{seq}}
// or use the same row.
func unique(t *testing.T, p *Plan) {
	t.Helper()
	of := map[int64]uint32{}
	for _, e := range p.all {
		seg, err := segmentOf(e.Start)
		if err != nil {
			t.Fatal(err)
		}
		numbers := segment.Numbers{Segment: seg, Turn: e.Start.Turn}
		window := int64(window) / int64(max(e.Start.Parts, 1))
		for _, i := range []int64{0, 1, 2, window / 2, window - 1} {
			n := numbers.Nth(i)
			if other, ok := of[n]; ok && other != e.Start.Executor {
				t.Fatalf("block %d is of executors %d and %d", n, other, e.Start.Executor)
			}
			if of[n] = e.Start.Executor; n*segment.Block >= segment.MaxSeq {
				t.Fatalf("block %d is too great", n)
			}
		}
	}
}

// The rest of loads that have a number of iterations or users.
func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{1, 2, 5} { // that take over
		p := mustNew(t, hello(100, 33.3, 1000), []Place{{Agent: "a"}, {Agent: "b"}, {Agent: "c"}}, &wire.Start{})
		p.Gone(1) // 33 users
		d := Done{Finished: 20, Iterations: 107}
		further, err := p.TakeOver([]Place{{Agent: "a"}, {Agent: "c"}, {Agent: "d"}, {Agent: "e"}, {Agent: "f"}}[:agents], 10*time.Second, map[uint32][]Done{1: {d, d, d, d, d, d, d}})
		if err != nil || len(further) != agents {
			t.Fatalf("%d executors, error %v", len(further), err)
		}
		var calls, times, shared int64
		for i, e := range further {
			s := e.Start.Shares
			calls += s[0].Nu - s[0].Begun
			times += s[3].Iterations
			shared += s[4].Iterations
			if s[2].Begun != 0 || e.Agent != string("acdef"[i]) {
				t.Errorf("%v on %s", s[2], e.Agent)
			}
		}
		if calls != 13 || times != 33*1000-107 || shared != 330-107 {
			t.Errorf("%d agents: %d users, %d and %d iterations are left", agents, calls, times, shared)
		}
		unique(t, p)
	}
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	h := &wire.Hello{Classes: hello(10, 1, 10).Classes[3:5]}
	p := mustNew(t, h, []Place{{}, {}}, &wire.Start{})
	p.Gone(1)
	if further, err := p.TakeOver([]Place{{}}, time.Second, map[uint32][]Done{1: {{Iterations: 50}, {Iterations: 5}}}); err != nil || len(further) > 0 {
		t.Errorf("%v, %v", further, err)
	}
	h.Classes = hello(10, 1, 10).Classes[5:]
	p = mustNew(t, h, []Place{{}, {}}, &wire.Start{})
	p.Gone(0)
	if further, err := p.TakeOver([]Place{{}}, time.Minute, nil); err != nil || len(further) > 0 {
		t.Errorf("after the end: %v, %v", further, err)
	}
}

func TestRowsCannotBeTakenOver(t *testing.T) {
	t.Parallel()
	h := hello(10, 1, 10)
	h.Once = []string{"users.csv"}
	p := mustNew(t, h, []Place{{}, {}}, &wire.Start{})
	p.Gone(1)
	if _, err := p.TakeOver([]Place{{}}, time.Second, nil); err == nil || !strings.Contains(err.Error(), "users.csv") || p.Movable() == nil {
		t.Errorf("error %v", err)
	}
	p.rows = nil
	if _, err := p.TakeOver(nil, time.Second, nil); err == nil {
		t.Error("nobody takes over, and that is no error")
	}
	if further, err := p.TakeOver([]Place{{}}, time.Second, nil); err != nil || len(further) != 1 || further[0].Start.Place != 1 {
		t.Errorf("an error has left nothing to take over: %v, %v", further, err)
	}
}

// A rate that is set after an agent is lost is that of the whole run; executors that take
// over later receive all changes.
func TestWishesAfterALoss(t *testing.T) {
	t.Parallel()
	p := mustNew(t, hello(90, 10, 10), []Place{{}, {}, {}}, &wire.Start{})
	p.Gone(2)
	all, err := p.Control(&wire.Control{What: "scale", Class: "open", Users: -1, Rate: 300})
	if err != nil || len(all) != 2 || all[0].Control.AllUsers != 60 || all[0].Control.Users != 30 || all[0].Control.Rate != 150 {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := p.Control(&wire.Control{What: "pause"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.TakeOver([]Place{{}, {}}, time.Second, nil); err != nil {
		t.Fatal(err)
	}
	all, err = p.Again()
	if err != nil || len(all) != 8 { // four executors, two changes
		t.Fatalf("%v, %v", all, err)
	}
	var users int64
	for i, m := range all[:4] {
		users += m.Control.Users
		if want := []int64{30, 30, 15, 15}[i]; m.Control.AllRate != 300 || m.Control.Users != want {
			t.Errorf("%v, want %d users", m.Control, want)
		}
	}
	if users != 90 || all[4].Control.What != "pause" {
		t.Errorf("%d users, %v", users, all[4].Control)
	}
}
