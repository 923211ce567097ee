package master

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

func (r *rig) transitions(id string) (all []run.Transition, states string) {
	r.t.Helper()
	all, err := r.Transitions(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range all {
		states += string(x.To) + " "
	}
	return all, strings.TrimSpace(states)
}

// I6, F52: runs begin in the order of their numbers, and two are never active at the same
// time.
func TestQueueIsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.of("one").finishes()
		r.of("two").finishes()
		var ids []string
		for range 6 {
			ids = append(ids, r.submit(run.Options{}))
		}
		for i, id := range ids {
			x := r.result(id)
			if x.State != run.Finished || !x.Complete || count(x, "home.http_ok") != 20 {
				t.Fatalf("run %d is %s (%s), complete %v, counts %d, missing %q", i, x.State, x.Cause, x.Complete, count(x, "home.http_ok"), x.Missing)
			}
		}
		var before time.Time
		for i, id := range ids {
			all, states := r.transitions(id)
			if strings.Replace(states, "stopping ", "", 1) != "queued compiling starting running finished" { // that it drained may not be seen
				t.Errorf("run %d went %s", i, states)
			}
			if began := all[1].At; began.Before(before) {
				t.Errorf("run %d began %v, before the one before it had ended at %v", i, began, before)
			}
			before = all[len(all)-1].At
		}
	})
}

// A run uses all agents, even if one becomes free later than the other after the previous
// run.
func TestNextRunIsOfAllAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.running(run.Options{}, "one", "two")
		next := r.submit(run.Options{})
		r.standing("two", agentBusy)
		one, two := r.of("one"), r.of("two")
		one.finishes()
		two.finishes()
		slow := make(chan struct{})
		two.change(func(*fakeAgent) {
			usual := two.answers
			two.answers = func(c *agentpb.Command) *agentpb.Answer {
				if kind(c) == "release" && c.Run != next {
					<-slow
				}
				return usual(c)
			}
		})
		one.batch(1, 0, time.Millisecond)
		two.batch(1, 0, time.Millisecond)
		one.finish()
		two.finish()
		two.change(func(*fakeAgent) { two.run = "that was" })
		r.standing("one", agentReady)
		close(slow)
		two.change(func(*fakeAgent) { two.run = "" })
		if x := r.result(next); x.State != run.Finished || len(x.Hosts) != 2 {
			t.Errorf("the next run is %s (%s) on %d hosts, want 2", x.State, x.Cause, len(x.Hosts))
		}
	})
}

func TestRunsWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "late")
		late := r.of("late")
		late.change(func(a *fakeAgent) { a.hello.Protocol = 99 })
		r.standing("late", agentRefused)
		first := r.submit(run.Options{Agents: []string{"late"}})
		second := r.submit(run.Options{})
		r.until("the first waits for its agent", func() bool { return r.hasEvent(first, "agent late is refused") })
		if f := r.figures(); f.Queued != 2 || f.Active != "" {
			t.Errorf("figures are %+v, want 2 queued", f)
		}
		late.finishes()
		late.change(func(a *fakeAgent) { a.hello.Protocol = agentpb.Protocol })
		if x := r.result(first); x.State != run.Finished {
			t.Errorf("the first is %s (%s)", x.State, x.Cause)
		}
		if x := r.result(second); x.State != run.Finished {
			t.Errorf("the second is %s (%s)", x.State, x.Cause)
		}
		if f := r.figures(); f.Queued != 0 {
			t.Errorf("%d runs are queued, want 0", f.Queued)
		}
	})
}

// The active run is not queued, and one that is submitted while it is active is.
func TestFiguresCountTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		active := r.running(run.Options{}, "one")
		next := r.submit(run.Options{})
		if f := r.figures(); f.Active != active || f.Queued != 1 {
			t.Errorf("figures are %+v, want one queued beside %s", f, active)
		}
		for _, id := range []string{next, active} {
			if err := r.Cancel(context.Background(), id, "somebody"); err != nil {
				t.Fatal(err)
			}
			r.result(id)
		}
		if f := r.figures(); f.Queued != 0 {
			t.Errorf("figures are %+v, want none queued", f)
		}
	})
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		active, queued := r.running(run.Options{}, "one"), r.submit(run.Options{})
		if err := r.Delete(context.Background(), active); !errors.Is(err, run.ErrConflict) {
			t.Errorf("a run that goes on: %v, want a conflict", err)
		}
		if err := r.Delete(context.Background(), queued); err != nil {
			t.Errorf("a run that waits: %v", err)
		}
		ids, err := r.StopAll(context.Background(), true, "somebody")
		if err != nil || len(ids) != 1 || ids[0] != active {
			t.Errorf("stop all: %q, %v; want %s", ids, err, active)
		}
		r.result(active)
		if err := r.Delete(context.Background(), active); err != nil {
			t.Errorf("a run that is over: %v", err)
		}
		for _, id := range []string{active, queued, "../../etc"} {
			if _, err := r.Run(context.Background(), id); !errors.Is(err, run.ErrNotFound) {
				t.Errorf("%s is there: %v", id, err)
			}
		}
	})
}
