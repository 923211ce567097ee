package master

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

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
						a.bus.agents.Go(func() { a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: 1}}) })
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
				if x.State != run.Failed || x.Failure != tt.failure || !strings.Contains(x.Cause, tt.cause) || x.ExitStatus(run.Exit{}) != tt.exit {
					t.Errorf("the run is %s (%s), failure %q, exit %d; want failed (%s), %q, %d", x.State, x.Cause, x.Failure, x.ExitStatus(run.Exit{}), tt.cause, tt.failure, tt.exit)
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
