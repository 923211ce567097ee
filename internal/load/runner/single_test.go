package runner

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/wire"
)

// With --once a class has one user and one iteration, or each of its tasks once and in order,
// whatever its load.
func TestOnceIsOneOfEach(t *testing.T) {
	var mu sync.Mutex
	done := map[string]string{}
	does := func(class, what string) scenario.VuFunc {
		return func(context.Context, int) {
			mu.Lock()
			defer mu.Unlock()
			done[class] += what
		}
	}
	fu := func(class string, load scenario.Load) scenario.Vu {
		return scenario.Vu{Name: class, Nu: 9, Rate: 5, Load: load, Fu: does(class, "i")}
	}
	ramp := fu("ramp", scenario.Ramp{{To: 0, Over: time.Hour}, {To: 9, Over: time.Hour}})
	ramp.Rate = 0
	tasks := scenario.Vu{Name: "tasks", Nu: 9, Load: scenario.Loop(time.Hour), Tasks: []scenario.Task{
		{Name: "z", Fn: does("tasks", "z")}, {Name: "a", Weight: 1, Fn: does("tasks", "a")}, {Name: "y", Fn: does("tasks", "y")},
		{Name: "b", Weight: 99, Fn: does("tasks", "b")}, {Name: "x", Fn: does("tasks", "x")}}}
	vus := scenario.Vus{fu("plain", nil), fu("loop", scenario.Loop(time.Hour)), fu("times", scenario.Times(7)), fu("shared", scenario.Shared(7)), ramp,
		fu("arrival", scenario.Arrival{Stages: []scenario.Rate{{To: 0.001, Over: time.Hour}}}), tasks}
	synctest.Test(t, func(t *testing.T) {
		shares := make([]*wire.Share, len(vus))
		for i := range shares {
			shares[i] = &wire.Share{Nu: 1}
		}
		shares[3].Iterations = 3 // as a built-in with three targets requests
		o := play(t, t.Context(), vus, &wire.Start{Once: true, Shares: shares}, nil)
		for class, want := range map[string]string{"plain": "i", "loop": "i", "times": "i", "shared": "iii", "ramp": "i", "arrival": "i", "tasks": "ab"} {
			if done[class] != want {
				t.Errorf("class %s did %q, want %q", class, done[class], want)
			}
		}
		if o.took > time.Minute {
			t.Errorf("it took %v", o.took)
		}
		o.want(t, map[string]int64{"plain.started": 1, "loop.started": 1, "loop.iterations": 1, "tasks.iterations": 2, "arrival.iterations": 1})
	})
}

// A user's own failures are stored as samples.
func TestFailuresAreSamples(t *testing.T) {
	vus := scenario.Vus{
		{Name: "failing", Nu: 2, Load: scenario.Times(5), Start: func(context.Context, int) (scenario.User, error) {
			return scenario.Iterate(func(context.Context) error { time.Sleep(time.Second); return told("out of luck\nand more") }), nil
		}},
		{Name: "lost", Nu: 1, Load: scenario.Times(1), Start: func(context.Context, int) (scenario.User, error) { return nil, told("no way") }},
		{Name: "mad", Nu: 1, Fu: func(context.Context, int) { panic("oh no") }},
	}
	synctest.Test(t, func(t *testing.T) {
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		texts := map[string][]string{}
		for _, s := range o.samples {
			texts[s.Source+" "+s.Class] = append(texts[s.Source+" "+s.Class], s.Text)
		}
		if got := texts["vu.failing iteration"]; len(got) != 3 || !strings.HasPrefix(got[0], "iteration failed  (user ") || !strings.HasSuffix(got[0], " of failing)\n  after 1.00 s\n  out of luck\n  and more") {
			t.Errorf("of iterations: %q", got)
		}
		if got := texts["vu.lost start"]; len(got) != 1 || got[0] != "start failed  (user 0 of lost)\n  after 0\n  no way" {
			t.Errorf("of starts: %q", got)
		}
		if got := texts["vu.mad panic"]; len(got) != 1 || !strings.HasPrefix(got[0], "panic: oh no  (user 0 of mad)\n  goroutine ") || !strings.Contains(got[0], "single_test.go:") {
			t.Errorf("of panics: %q", got)
		}
	})
}

type told string

func (t told) Error() string { return string(t) }
