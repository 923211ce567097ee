package runner

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
)

// tasker is a user that does one of its class's tasks per iteration, picked by weight with its
// own random source, so that users differ.
type tasker struct {
	class *class
	vui   int
	rand  *rand.Rand
	done  int // number of tasks done, of a class that does them in turn
}

// Iterate does one task and records its time. It returns ctx's error if ctx has ended, and
// then records nothing. It does not recover from a panic, which ends this user only.
func (u *tasker) Iterate(ctx context.Context) error {
	i := u.next()
	scope, began := meter.ScopeOf(ctx), clock()
	before := scope.Own(began)
	u.class.vu.Tasks[i].Fn(ctx, u.vui)
	if ctx.Err() == nil { // otherwise the end of the run may have cut it short
		end := clock()
		own := scope.Own(end)
		own.Delay -= before.Delay
		e := scope.Entry()
		e.RecordTime(u.class.counts.tasks[i], end-began, own)
		e.Close()
	}
	return ctx.Err()
}

// next returns the index of the next task: picked by weight, or in turn, without those of
// weight 0; in turn it may be called only once for each of the others.
func (u *tasker) next() int {
	tasks := u.class.vu.Tasks
	if !u.class.inTurn {
		return pick(u.rand, tasks)
	}
	for u.done < len(tasks)-1 && tasks[u.done].Weight == 0 {
		u.done++
	}
	u.done++
	return u.done - 1
}

// pick returns the index of a task, chosen with a probability proportional to its weight. At
// least one weight must be above 0.
func pick(r *rand.Rand, tasks []scenario.Task) int {
	sum := 0
	for _, t := range tasks {
		sum += t.Weight
	}
	n := r.IntN(sum)
	for i, t := range tasks {
		if n -= t.Weight; n < 0 {
			return i
		}
	}
	return len(tasks) - 1 // not reached: n is below the sum
}

// taskNames returns the names for reports, in the order of the tasks: Name, or that of Fn.
func taskNames(tasks []scenario.Task) (names []string) {
	for _, t := range tasks {
		name := t.Name
		if name == "" {
			name = funcName(t.Fn)
		}
		names = append(names, name)
	}
	return names
}

const maxWeight = 1_000_000

// checkTasks returns an error if a task has no Fn or an invalid weight or name, if two have
// the same name, or if no weight is above 0. No tasks are valid.
func checkTasks(tasks []scenario.Task) error {
	sum, known := 0, map[string]bool{}
	for i, t := range tasks {
		switch {
		case t.Fn == nil:
			return fmt.Errorf("field Tasks: task %d (%q) has no Fn", i+1, t.Name)
		case t.Weight < 0 || t.Weight > maxWeight:
			return fmt.Errorf("field Tasks: task %d (%q) has Weight %d: want 0 to %d", i+1, t.Name, t.Weight, maxWeight)
		case len(t.Name) > maxName/2:
			return fmt.Errorf("field Tasks: the name of task %d is longer than %d bytes", i+1, maxName/2)
		}
		if name := taskNames(tasks)[i]; known[name] {
			return fmt.Errorf("field Tasks: two tasks are called %q: each needs a Name of its own", name)
		} else {
			known[name] = true
		}
		sum += t.Weight
	}
	if len(tasks) > 0 && sum == 0 {
		return fmt.Errorf("field Tasks: no task has a Weight above 0")
	}
	return nil
}
