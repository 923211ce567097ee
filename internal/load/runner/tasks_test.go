package runner

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/wire"
)

// A chi-square test over a million picks: the shares are those of the weights.
func TestTasksArePickedByWeight(t *testing.T) {
	tasks := []scenario.Task{{Weight: 10}, {Weight: 1}, {Weight: 0}, {Weight: 5}, {Weight: 84}}
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1_000_000
	picked := make([]int, len(tasks))
	for range n {
		picked[pick(r, tasks)]++
	}
	if picked[2] != 0 {
		t.Errorf("a task of weight 0 was picked %d times", picked[2])
	}
	chi := 0.0
	for i, task := range tasks {
		if want := n * float64(task.Weight) / 100; want > 0 {
			chi += math.Pow(float64(picked[i])-want, 2) / want
		}
	}
	if chi > 16.27 { // 3 degrees of freedom, p = 0.001
		t.Errorf("chi-square %.2f; picked %v", chi, picked)
	}
}

func TestUsersOfTasksDoNotGoInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		done := map[int][]byte{}
		task := func(name byte, d time.Duration) scenario.VuFunc {
			return func(_ context.Context, vui int) {
				time.Sleep(d)
				mu.Lock()
				done[vui] = append(done[vui], name)
				mu.Unlock()
			}
		}
		vus := scenario.Vus{{Name: "shop", Nu: 20, Load: scenario.Times(50), Tasks: []scenario.Task{
			{Name: "browse", Weight: 3, Fn: task('b', 10*time.Millisecond)}, {Name: "buy", Weight: 1, Fn: task('$', 30*time.Millisecond)}}}}
		o := play(t, t.Context(), vus, &wire.Start{Seed: 7}, nil)
		same := map[string]int{}
		for _, b := range done {
			same[string(b)]++
		}
		if len(same) < 19 {
			t.Errorf("20 users went %d ways", len(same))
		}
		browsed, bought := o.counts["shop.task.browse"], o.counts["shop.task.buy"]
		if browsed+bought != 1000 || o.counts["shop.iterations"] != 1000 || bought < 190 || bought > 310 {
			t.Errorf("browsed %d, bought %d", browsed, bought)
		}
		if o.max["shop.task.browse"] != int64(10*time.Millisecond) || o.max["shop.task.buy"] != int64(30*time.Millisecond) {
			t.Errorf("times %d, %d", o.max["shop.task.browse"], o.max["shop.task.buy"])
		}
	})
}
