package master

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
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

// F50: a cancel in any state, and a stop, which before the load is a cancel.
func TestEndInEveryState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		state run.State
		how   func(*rig, *fakeAgent)
		stop  run.State // the state that a stop leads to
	}{
		{"queued", run.Queued, func(r *rig, _ *fakeAgent) {
			r.bus.agent("aone").change(func(a *fakeAgent) { a.hello.Protocol = 99 })
			r.standing("one", agentRefused)
		}, run.Cancelled},
		{"compiling", run.Compiling, func(r *rig, _ *fakeAgent) { r.compiler.set(nil, make(chan struct{})) }, run.Cancelled},
		{"preparing", run.Starting, func(r *rig, a *fakeAgent) { a.change(func(*fakeAgent) { a.answers = hang(r, a, "prepare") }) }, run.Cancelled},
		{"arming", run.Starting, func(r *rig, a *fakeAgent) { a.change(func(*fakeAgent) { a.answers = hang(r, a, "arm") }) }, run.Cancelled},
		{"running", run.Running, func(*rig, *fakeAgent) {}, run.Finished},
		{"stopping", run.Stopping, func(_ *rig, a *fakeAgent) {
			a.change(func(*fakeAgent) {
				a.answers = func(c *agentpb.Command) *agentpb.Answer {
					if kind(c) == "begin" {
						a.bus.agents.Go(func() { a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: true}}) })
					}
					return nil
				}
			})
		}, run.Finished},
	} {
		for _, cancel := range []bool{true, false} {
			name, want := tt.name+" cancel", run.Cancelled
			if !cancel {
				name, want = tt.name+" stop", tt.stop
			}
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t, "one")
					tt.how(r, r.of("one"))
					id := r.submit(run.Options{})
					r.await(id, tt.state)
					if tt.name == "preparing" || tt.name == "arming" {
						r.until("the agent is told", func() bool {
							return r.of("one").has(strings.TrimSuffix(strings.Replace(tt.name, "preparing", "prepare", 1), "ing"))
						})
					}
					began := time.Now()
					end := r.Stop
					if cancel {
						end = r.Cancel
					}
					if err := end(context.Background(), id, "somebody"); err != nil {
						t.Fatal(err)
					}
					x := r.result(id)
					if took := time.Since(began); took > short.Cancel+time.Second {
						t.Errorf("it took %v", took)
					}
					by := "cancelled by somebody"
					if want == run.Finished {
						by = "stopped by somebody"
					}
					if o, _ := r.Run(context.Background(), id); x.State != want || o.State != want || !strings.HasPrefix(x.Cause, by) || o.Cause != x.Cause {
						t.Errorf("the run is %s (%s), its order %s (%s), want %s (%s)", x.State, x.Cause, o.State, o.Cause, want, by)
					}
					if err := r.Cancel(context.Background(), id, "somebody"); !errors.Is(err, run.ErrConflict) {
						t.Errorf("a second end: %v, want a conflict", err)
					}
				})
			})
		}
	}
}

// hang makes an agent not answer a command until it receives a cancel.
func hang(r *rig, a *fakeAgent, what string) func(*agentpb.Command) *agentpb.Answer {
	over := make(chan struct{})
	once := func() {
		select {
		case <-over:
		default:
			close(over)
		}
	}
	return func(c *agentpb.Command) *agentpb.Answer {
		switch kind(c) {
		case what:
			select {
			case <-over:
			case <-a.bus.stop:
			}
			return refused("unknown", "it was cancelled")
		case "cancel":
			once()
		}
		return nil
	}
}

// A failure before the load fails the run, with its reason and exit status.
func TestNoLoad(t *testing.T) {
	t.Parallel()
	answer := func(what, code, text string) func(*rig, *fakeAgent) {
		return func(_ *rig, a *fakeAgent) {
			a.change(func(*fakeAgent) {
				a.answers = func(c *agentpb.Command) *agentpb.Answer {
					if kind(c) == what {
						return refused(code, text)
					}
					return nil
				}
			})
		}
	}
	classes := func(change func(*wire.Class)) func(*rig, *fakeAgent) {
		return func(_ *rig, a *fakeAgent) {
			a.change(func(*fakeAgent) { a.classes = oneClass(); change(a.classes[0]) })
		}
	}
	for _, tt := range []struct {
		name    string
		how     func(*rig, *fakeAgent)
		options run.Options
		failure run.Kind
		exit    int
		cause   string
	}{
		{"no scenario", func(r *rig, _ *fakeAgent) { r.compiler.set(&CompileError{Text: "no export()", Input: true}, nil) }, run.Options{}, run.FailedInput, 2, "no export()"},
		{"compile", func(r *rig, _ *fakeAgent) { r.compiler.set(&CompileError{Text: "line 7: no"}, nil) }, run.Options{}, run.FailedCompile, 3, "line 7: no"},
		{"no compiler", func(r *rig, _ *fakeAgent) { r.compiler.set(errTest, nil) }, run.Options{}, "", 1, "as the test says"},
		{"busy", answer("prepare", "busy", "busy with another"), run.Options{}, "", 1, "agent two: busy with another"},
		{"platform", answer("prepare", "platform", "for other machines"), run.Options{}, "", 1, "for other machines"},
		{"digest", answer("prepare", "digest", "not what it should be"), run.Options{}, "", 1, "not what it should be"},
		{"space", answer("prepare", "space", "no room"), run.Options{}, "", 1, "no room"},
		{"dead", answer("prepare", "dead", "killed by signal 9"), run.Options{}, "", 1, "killed by signal 9"},
		{"scenario, prepare", answer("prepare", "scenario", "export() panicked"), run.Options{}, run.FailedScenario, 1, "export() panicked"},
		{"scenario, arm", answer("arm", "scenario", "Setup: no"), run.Options{}, run.FailedScenario, 1, "Setup: no"},
		{"fenced", answer("arm", "fenced", "an epoch that is past"), run.Options{}, "", 1, "past"},
		{"begin", answer("begin", "dead", "it has ended"), run.Options{}, "", 1, "it has ended"},
		{"other classes", classes(func(c *wire.Class) { c.Nu = 13 }), run.Options{}, "", 1, "export() must return the same"},
		{"parameter", nil, run.Options{Parameters: map[string]string{"x": "1"}}, run.FailedInput, 2, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one", "two")
				if tt.how != nil {
					tt.how(r, r.of("two"))
				}
				id := r.submit(tt.options)
				x := r.result(id)
				if x.State != run.Failed || x.Failure != tt.failure || !strings.Contains(x.Cause, tt.cause) || exitStatus(x) != tt.exit {
					t.Errorf("the run is %s (%s), failure %q, exit %d; want failed (%s), %q, %d", x.State, x.Cause, x.Failure, exitStatus(x), tt.cause, tt.failure, tt.exit)
				}
				for _, name := range []string{"one", "two"} { // nothing of the run is left there
					if a := r.of(name); a.has("prepare") && tt.name != "busy" {
						r.until("agent "+name+" is released", func() bool { return a.has("release") })
					}
				}
				r.of("two").change(func(a *fakeAgent) { a.answers, a.classes = nil, oneClass() })
				r.compiler.set(nil, nil)
				r.of("one").finishes()
				r.of("two").finishes()
				if x := r.result(r.submit(run.Options{})); x.State != run.Finished {
					t.Errorf("the next run is %s (%s)", x.State, x.Cause)
				}
			})
		})
	}
}

func TestRunLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.submit(run.Options{Limit: 1})
		r.await(id, run.Running)
		r.of("one").batch(5, 0, time.Millisecond)
		x := r.result(id)
		if x.State != run.Failed || !strings.Contains(x.Cause, "longer than its limit of 1s") || count(x, "home.http_ok") != 5 || !x.Complete {
			t.Errorf("the run is %s (%s), complete %v, counts %d", x.State, x.Cause, x.Complete, count(x, "home.http_ok"))
		}
		if !r.of("one").has("cancel") {
			t.Error("the agent was not told")
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

// Invalid options are refused with an error that names them.
func TestBadOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		for field, o := range map[string]run.Options{
			"options.duration_seconds":      {Duration: -1},
			"options.interval_seconds":      {Interval: 0.01},
			"options.limit_seconds":         {Limit: 1e9},
			"options.guards.error_rate":     {Guards: run.Guards{ErrorRate: 1.1}},
			"options.guards.p99_seconds":    {Guards: run.Guards{P99: -1}},
			"options.guards.window_seconds": {Guards: run.Guards{Window: 0.1}},
			"options.guards.max_rate":       {Guards: run.Guards{Rate: -1}},
			"options.guards.targets.1":      {Guards: run.Guards{Targets: []string{"a.example", "http://b.example"}}},
			"options.interval_seconds ":     {Interval: 2, Guards: run.Guards{P99: 1}},
			"options.on_lost":               {Lost: "panic"},
			"options.weights.one":           {Weights: map[string]int{"one": -1}},
			"options.seed":                  {Seed: 1 << 60},
			"options.thresholds.0":          {Thresholds: []string{"what"}},
		} {
			_, err := r.Submit(context.Background(), run.Submission{Name: "x", Source: run.Source{Scenario: "package main"}, Options: o})
			var wrong *run.InputError
			if !errors.As(err, &wrong) || wrong.Field != strings.TrimSpace(field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}

// A run that is queued again has the source, the name and the options of the first, though its
// application has changed.
func TestRerun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t)
		ctx := t.Context()
		options := run.Options{Duration: 3, Seed: 7, Parameters: map[string]string{"a": "b"}}
		id := r.submit(options)
		o, err := r.Run(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		app, err := r.Application(ctx, o.Application)
		if err != nil {
			t.Fatal(err)
		}
		before := app.Source.Scenario
		app.Name, app.Source.Scenario = "another", "package main // changed"
		if err := r.PutApplication(ctx, app); err != nil {
			t.Fatal(err)
		}
		again, err := r.Rerun(ctx, id, "somebody")
		if err != nil {
			t.Fatal(err)
		}
		source, err := r.store.RunSource(ctx, again.ID)
		if err != nil || source.Scenario != before {
			t.Errorf("its source is %q, %v, want %q", source.Scenario, err, before)
		}
		if again.ID == id || again.Name != o.Name || again.Application != o.Application || again.Owner != "somebody" || again.State != run.Queued || !reflect.DeepEqual(again.Options, o.Options) {
			t.Errorf("it is %+v, want as %+v", again, o)
		}
		if _, err := r.Rerun(ctx, "20261121-191932-85hmfb", "somebody"); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("of no run: %v", err)
		}
	})
}

func TestRerunOfImported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		from, to := newRig(t, "one", "two"), newRig(t)
		id, archive := exported(t, from)
		if _, err := to.Import(t.Context(), bytes.NewReader(archive), "somebody"); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Rerun(t.Context(), id, "somebody"); !errors.Is(err, run.ErrConflict) {
			t.Errorf("it has no source: %v", err)
		}
	})
}
