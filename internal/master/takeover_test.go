package master

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// hangs starts a run on agents one and two and loses two. It returns once one is asked to take
// over, and does not answer that command.
func hangs(t *testing.T, what string, o run.Options) (r *rig, id string) {
	t.Helper()
	r = newRig(t, "one", "two")
	o.Lost = run.LostRebalance
	id = r.running(o, "one", "two")
	one, two := r.of("one"), r.of("two")
	one.batch(10, 0, time.Millisecond)
	one.change(func(*fakeAgent) { one.answers = hang(r, one, what) })
	two.change(func(a *fakeAgent) { a.boot, a.beats, a.run, a.parts, a.silent = 2, 0, "", nil, true })
	r.until("one is asked", func() bool { return one.times(what) == 2 })
	one.change(func(a *fakeAgent) {
		prepared, answers := a.epoch == 2, a.answers
		a.epoch, a.parts = 1, a.parts[:1] // of what it will deliver
		a.answers = func(c *agentpb.Command) *agentpb.Answer {
			if kind(c) == "cancel" && prepared {
				a.bus.agents.Go(func() {
					a.change(func(*fakeAgent) { a.run, a.epoch = id, 2 })
					a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
				})
			}
			return answers(c)
		}
	})
	return r, id
}

// Leases are renewed during a takeover, however long that lasts.
func TestLeasesDuringATakeover(t *testing.T) {
	for _, what := range []string{"prepare", "arm"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r, id := hangs(t, what, run.Options{})
				one := r.of("one")
				for end, n := time.Now().Add(4*short.Lease), one.times("renew"); time.Now().Before(end); n = one.times("renew") {
					time.Sleep(short.Lease / 2)
					if one.times("renew") == n {
						t.Fatalf("no lease was renewed for %v", short.Lease/2)
					}
				}
				if err := r.Cancel(context.Background(), id, "somebody"); err != nil {
					t.Fatal(err)
				}
				if x := r.result(id); x.State != run.Cancelled {
					t.Errorf("the run is %s (%s)", x.State, x.Cause)
				}
			})
		})
	}
}

// A cancel, a stop, a guard and a threshold end a takeover.
func TestEndDuringATakeover(t *testing.T) {
	breach := func(r *rig, _ string) error {
		for range 2 {
			r.of("one").batch(0, 100, time.Millisecond)
		}
		return nil
	}
	for _, tt := range []struct {
		name string
		o    run.Options
		how  func(r *rig, id string) error
		want run.State
	}{
		{"cancel", run.Options{}, func(r *rig, id string) error { return r.Cancel(context.Background(), id, "somebody") }, run.Cancelled},
		{"stop", run.Options{}, func(r *rig, id string) error { return r.Stop(context.Background(), id, "somebody") }, run.Finished},
		{"guard", run.Options{Guards: run.Guards{ErrorRate: 0.5}}, breach, run.Failed},
		{"threshold", run.Options{Thresholds: []string{"home.http_other_fail count < 50 abort"}}, breach, run.Finished},
	} {
		for _, what := range []string{"prepare", "arm"} {
			t.Run(tt.name+" "+what, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r, id := hangs(t, what, tt.o)
					one := r.of("one")
					began := time.Now()
					if err := tt.how(r, id); err != nil {
						t.Fatal(err)
					}
					x := r.result(id)
					if took := time.Since(began); took > short.Cancel+short.Lost {
						t.Errorf("the end took %v", took)
					}
					if x.State != tt.want || !strings.Contains(fmt.Sprint(x.Notes), "could not be assigned to other agents: the run was ended") {
						t.Errorf("the run is %s (%s), notes %q", x.State, x.Cause, x.Notes)
					}
					if !one.has("cancel") {
						t.Error("the executors that never begin are not cancelled")
					}
				})
			})
		}
	}
}

// An agent whose own part is over, and that takes over, is renewed again.
func TestTakeoverByAnIdleAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{Lost: run.LostRebalance}, "one", "two")
		one, two := r.of("one"), r.of("two")
		one.finish()
		two.change(func(a *fakeAgent) { a.boot, a.beats, a.run, a.parts, a.silent = 2, 0, "", nil, true })
		r.until("one takes over", func() bool { return one.times("begin") == 2 })
		n := one.times("renew")
		time.Sleep(short.Lease)
		if one.times("renew") == n {
			t.Error("its lease is not renewed")
		}
		one.change(func(a *fakeAgent) {
			for _, c := range a.received {
				for _, s := range c.GetArm().GetStarts() {
					a.parts[0].to = time.Duration(s.ElapsedNs) // of the last one
				}
			}
		})
		one.batch(5, 0, time.Millisecond)
		one.finish()
		if x := r.result(id); x.State != run.Finished || count(x, "home.http_ok") != 5 {
			t.Errorf("the run is %s (%s), counts %d", x.State, x.Cause, count(x, "home.http_ok"))
		}
	})
}

// A stop that an agent never answers does not prevent the end of the run.
func TestStopOfASilentAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{Lost: run.LostRebalance}, "one", "two")
		r.of("two").change(func(a *fakeAgent) { a.silent = true })
		began := time.Now()
		if err := r.Stop(context.Background(), id, "somebody"); err != nil && !errors.Is(err, run.ErrConflict) {
			t.Fatal(err)
		}
		x := r.result(id)
		if took := time.Since(began); x.State != run.Finished || took > short.Flush+short.Lease {
			t.Errorf("the run is %s (%s) after %v", x.State, x.Cause, took)
		}
	})
}
