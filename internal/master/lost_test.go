package master

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// An agent that sends no more beats, or was restarted, or does not know the run: the others
// continue, and the run has a note and is not VALID.
func TestLostAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		how  func(*fakeAgent)
		why  string
	}{
		{"silent", func(a *fakeAgent) { a.silent = true }, "no beat for"},
		{"restarted", func(a *fakeAgent) { a.boot, a.beats, a.run, a.parts = 2, 0, "", nil }, "it was restarted"},
		{"forgetful", func(a *fakeAgent) { a.run, a.parts = "", nil }, "it knows nothing of the run"},
		{"another protocol", func(a *fakeAgent) { a.hello.Protocol = 7 }, "speaks protocol 7"},
	} {
		for _, policy := range []run.LostPolicy{run.LostContinue, run.LostStop} {
			t.Run(fmt.Sprint(tt.name, ", ", policy), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					r := newRig(t, "one", "two")
					id := r.running(run.Options{Lost: policy}, "one", "two")
					r.of("one").batch(10, 0, time.Millisecond)
					r.of("two").batch(10, 0, time.Millisecond)
					time.Sleep(time.Second)
					r.of("two").change(tt.how)
					r.mu.Lock()
					fault := time.Since(r.active.began).Seconds()
					r.mu.Unlock()
					if policy == run.LostStop {
						x := r.result(id)
						if x.State != run.Failed || x.Failure != run.FailedLost || !strings.Contains(x.Cause, "agent two was lost at") || !strings.Contains(x.Cause, tt.why) {
							t.Errorf("the run is %s (%s), failure %q", x.State, x.Cause, x.Failure)
						}
						return
					}
					r.until("the agent is lost", func() bool { return r.hasEvent(id, "agent two was lost at") })
					r.of("one").batch(10, 0, time.Millisecond)
					r.of("one").finish()
					x := r.result(id)
					if x.State != run.Finished || x.Complete || len(x.Missing) != 1 || !strings.Contains(x.Missing[0], "executor 1 on two") || count(x, "home.http_ok") != 30 {
						t.Errorf("the run is %s (%s), complete %v, missing %q, counts %d", x.State, x.Cause, x.Complete, x.Missing, count(x, "home.http_ok"))
					}
					if x.Verdict == run.Valid || !strings.Contains(fmt.Sprint(x.Notes), tt.why) {
						t.Errorf("the verdict is %s, notes %q", x.Verdict, x.Notes)
					}
					i := slices.IndexFunc(x.Notes, func(s string) bool { return strings.HasPrefix(s, "agent two was lost at ") })
					var at float64
					if _, err := fmt.Sscanf(x.Notes[i], "agent two was lost at %f s", &at); err != nil || math.Abs(at-fault) > 0.5 {
						t.Errorf("it was lost at %.1f s, %v: the note is %q", fault, err, x.Notes[i])
					}
					if lost := x.Hosts[1].Lost; lost != 1 || x.Hosts[0].Lost != 0 {
						t.Errorf("the hosts are %+v: want two counted up to 1 s, and one not lost", x.Hosts)
					}
				})
			})
		}
	}
}

// An executor whose load a signal has ended made less load than it had to: that is noted, and
// --on-lost applies. If there is no other, the run was stopped.
func TestSignalledExecutors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lost    run.LostPolicy
		all     bool
		state   run.State
		failure run.Kind
		cause   string
	}{
		"one":       {run.LostContinue, false, run.Finished, "", ""},
		"all":       {run.LostContinue, true, run.Finished, "", "stopped by a signal to the executors"},
		"--on-lost": {run.LostStop, false, run.Failed, run.FailedExecutor, "executor 1 on two: it received SIGTERM"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one", "two")
				id := r.running(run.Options{Lost: tt.lost}, "one", "two")
				signalled := func(a *fakeAgent) {
					a.end = &agentpb.Ended{Cause: "signal", How: agentpb.BySignal, Error: "it received SIGTERM, which gobench did not send, and ended its load early"}
				}
				r.of("one").batch(10, 0, time.Millisecond)
				r.of("two").batch(10, 0, time.Millisecond)
				r.of("two").change(signalled)
				r.of("two").finish()
				if tt.all {
					r.of("one").change(signalled)
				} else {
					r.until("the note", func() bool { return r.hasEvent(id, "executor 1 on two: it received SIGTERM") })
				}
				if tt.lost != run.LostStop { // which ends it
					r.of("one").finish()
				}
				x := r.result(id)
				if x.State != tt.state || x.Failure != tt.failure || !strings.Contains(x.Cause, tt.cause) || tt.cause == "" && x.Cause != "" || !x.Complete {
					t.Errorf("the run is %s (%s), failure %q, missing %q", x.State, x.Cause, x.Failure, x.Missing)
				}
				if x.Verdict == run.Valid || !strings.Contains(fmt.Sprint(x.Notes), "it received SIGTERM") {
					t.Errorf("the verdict is %s, notes %q", x.Verdict, x.Notes)
				}
			})
		})
	}
}

// Slow operations that alone are left in the drain, and time out, are no outage.
func TestDrainIsNoOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.running(run.Options{}, "one")
		a := r.of("one")
		e := a.parts[0]
		a.batch(10, 0, time.Millisecond)
		a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Stopping{Stopping: 1}})
		b := e.next(0, 0, 0)
		b.Counters[1].Add, b.Counters[2].Add = 5, 5
		e.fail += 5
		a.deliverBatch(e, b)
		a.finish()
		if x := r.result(id); x.State != run.Finished || !x.Complete || count(x, "home.http_other_fail") != 5 || strings.Contains(fmt.Sprint(x.Notes), "down") {
			t.Errorf("the run is %s (%s), complete %v, notes %q", x.State, x.Cause, x.Complete, x.Notes)
		}
	})
}

// An agent that refuses renewals is lost only if it does not know the run for some time.
func TestRefusedLease(t *testing.T) {
	t.Parallel()
	for code, always := range map[string]bool{"fenced": true, "unknown": false} {
		t.Run(code, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one")
				id := r.running(run.Options{Lost: run.LostStop}, "one")
				a := r.of("one")
				var refused atomic.Bool
				a.change(func(a *fakeAgent) {
					a.answers = func(c *agentpb.Command) *agentpb.Answer {
						if c.GetRenew() == nil || refused.Swap(true) && !always {
							return nil
						}
						return &agentpb.Answer{Code: code, Error: "refused"}
					}
				})
				r.until("a renewal is refused", refused.Load)
				time.Sleep(3 * short.Suspect)
				a.batch(10, 0, time.Millisecond)
				a.finish()
				if x := r.result(id); x.State != run.Finished {
					t.Errorf("the run is %s (%s)", x.State, x.Cause)
				}
			})
		})
	}
}

// An agent that is lost between the command to begin and the load is reported.
func TestLostBeforeTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		r.end()
		r.times.Lead = 30 * time.Second // much longer than it takes to detect that the agent is lost
		r.begin()
		r.standing("two", agentReady)
		id := r.submit(run.Options{Lost: run.LostStop})
		r.await(id, run.Running)
		r.of("two").change(func(a *fakeAgent) { a.boot, a.beats, a.run, a.parts = 2, 0, "", nil })
		if x := r.result(id); x.State != run.Failed || x.Failure != run.FailedLost || !strings.Contains(x.Cause, "agent two was lost before the load began: it was restarted") {
			t.Errorf("the run is %s (%s), failure %q", x.State, x.Cause, x.Failure)
		}
	})
}

func TestAllLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.running(run.Options{}, "one")
		r.of("one").change(func(a *fakeAgent) { a.silent = true })
		if x := r.result(id); x.State != run.Failed || x.Failure != run.FailedLost || !strings.Contains(x.Cause, "all agents were lost") || !strings.Contains(x.Cause, "agent one had not confirmed its end (lease until ") {
			t.Errorf("the run is %s (%s), failure %q", x.State, x.Cause, x.Failure)
		}
	})
}

// Agents are not lost while the bus has no leader, and that time does not count.
func TestNoLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		id := r.running(run.Options{}, "one")
		r.standing("one", agentBusy)
		leader := func(there bool) { r.bus.mu.Lock(); r.bus.leader = there; r.bus.mu.Unlock() }
		leader(false)
		for end := time.Now().Add(2 * short.Lost); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if w, _ := r.fleet.get("aone"); w.state != agentBusy && w.state != agentSuspect {
				t.Fatalf("the agent is %s: %s", w.state, w.why)
			}
		}
		if r.Ready(context.Background()) == nil {
			t.Error("the master is ready, without a bus")
		}
		leader(true)
		r.standing("one", agentBusy)
		r.of("one").batch(1, 0, time.Millisecond)
		r.of("one").finish()
		if x := r.result(id); x.State != run.Finished || x.Verdict == run.Invalid || strings.Contains(fmt.Sprint(x.Notes), "lost") {
			t.Errorf("the run is %s (%s), notes %q", x.State, x.Cause, x.Notes)
		}
	})
}

// When an executor dies, the run continues with the others; when the last one has died, it
// has failed.
func TestDeadExecutors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{}, "one", "two")
		for i, name := range []string{"one", "two"} {
			a := r.of(name)
			a.batch(10, 0, time.Millisecond)
			a.change(func(*fakeAgent) { a.parts[0].over = true })
			if o, err := r.Run(context.Background(), id); err != nil || o.State.Final() {
				t.Fatalf("the run is %s, %v", o.State, err)
			}
			a.deliver(&agentpb.Delivery{Executor: uint32(i), What: &agentpb.Delivery_Ended{Ended: &agentpb.Ended{Error: "the executor was killed", Cause: "oom"}}})
			a.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
		}
		x := r.result(id)
		if x.State != run.Failed || x.Failure != run.FailedExecutor || !strings.Contains(x.Cause, ": the executor was killed") || count(x, "home.http_ok") != 20 || len(x.Missing) != 2 {
			t.Errorf("the run is %s (%s), failure %q, counts %d, missing %q", x.State, x.Cause, x.Failure, count(x, "home.http_ok"), x.Missing)
		}
	})
}

// F14: a new master on the same store cancels the run that was active, and merges its late
// deliveries, each batch once; queued runs run.
func TestMasterRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{}, "one", "two")
		next := r.submit(run.Options{})
		for _, name := range []string{"one", "two"} {
			r.of(name).batch(10, 1, time.Millisecond)
		}
		r.until("what was counted is kept", func() bool { return len(r.of("one").unsaved())+len(r.of("two").unsaved()) == 0 })
		r.end()
		for _, name := range []string{"one", "two"} { // that no master takes
			r.of(name).batch(20, 2, time.Millisecond)
			r.of(name).change(func(a *fakeAgent) { a.stuck = true })
			r.of(name).finishes() // the run that waits, which may begin as soon as the agents are ready
		}
		r.begin()
		o, err := r.Run(context.Background(), id)
		if err != nil || o.State != run.Cancelled || o.Cause != causeRestart {
			t.Fatalf("the run is %s (%s), %v", o.State, o.Cause, err)
		}
		if x, err := r.store.Result(context.Background(), id); err != nil || !strings.Contains(fmt.Sprint(x.Notes), "these figures are provisional: agents may have load until ") {
			t.Errorf("what agents may still deliver is not noted: %q, %v", x.Notes, err)
		}
		r.until("agents are told to end it", func() bool { return r.of("one").has("cancel") && r.of("two").has("cancel") })
		for _, name := range []string{"one", "two"} {
			a := r.of(name)
			a.mu.Lock()
			parts := a.parts
			a.mu.Unlock()
			if len(parts) == 0 { // it was released before: the rest arrives
				continue
			}
			a.finish()
		}
		r.until("all that was counted is there", func() bool {
			x, err := r.Result(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			return count(x, "home.http_ok") == 60 && count(x, "home.http_other_fail") == 6 && x.Complete
		})
		if x := r.result(id); x.Verdict != run.Suspect || strings.Contains(fmt.Sprint(x.Reasons), "missing") || strings.Contains(fmt.Sprint(x.Notes), "shorter") || strings.Contains(fmt.Sprint(x.Notes), provisional) {
			t.Errorf("complete since: verdict %s, %+v, notes %q", x.Verdict, x.Reasons, x.Notes)
		}
		for _, name := range []string{"one", "two"} {
			r.of(name).change(func(a *fakeAgent) { a.stuck = false })
		}
		if x := r.result(next); x.State != run.Finished || count(x, "home.http_ok") != 20 {
			t.Errorf("the run that waited is %s (%s), counts %d", x.State, x.Cause, count(x, "home.http_ok"))
		}
	})
}

func (a *fakeAgent) unsaved() []*agentpb.Delivery {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*agentpb.Delivery(nil), a.pending...)
}

// The part of an executor that died is done by another one, once, even if that one's agent
// is lost later, too.
func TestRebalanceOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two", "three")
		id := r.running(run.Options{Lost: run.LostRebalance}, "one", "two", "three")
		one, two := r.of("one"), r.of("two")
		for _, name := range []string{"one", "two", "three"} {
			r.of(name).batch(10, 0, time.Millisecond)
		}
		two.parts[0].over = true
		two.deliver(&agentpb.Delivery{Executor: uint32(two.parts[0].number), What: &agentpb.Delivery_Ended{Ended: &agentpb.Ended{Error: "the executor was killed"}}})
		two.deliver(&agentpb.Delivery{What: &agentpb.Delivery_Over{Over: true}})
		more := func() (starts []*wire.Start) {
			for _, name := range []string{"one", "two", "three"} {
				a := r.of(name)
				a.mu.Lock()
				for _, c := range a.received {
					if c.Epoch > 1 {
						starts = append(starts, c.GetArm().GetStarts()...)
					}
				}
				a.mu.Unlock()
			}
			return starts
		}
		r.until("others take over", func() bool { return len(more()) > 0 })
		two.change(func(a *fakeAgent) { a.silent = true })
		r.standing("two", agentLost)
		r.until("the load of those that took over is on", func() bool { return one.times("begin")+r.of("three").times("begin") >= 3 })
		users := int64(0)
		for _, s := range more() {
			if s.Parts == 0 || s.ElapsedNs == 0 {
				t.Errorf("a start that takes over is %v", s)
			}
			if s.Parts == 1 || s.Part == 0 {
				users++
			}
		}
		if users != 1 {
			t.Errorf("%d executors' parts were taken over, want 1: %v", users, more())
		}
		if err := r.Cancel(context.Background(), id, "somebody"); err != nil {
			t.Fatal(err)
		}
		x := r.result(id)
		if x.State != run.Cancelled || count(x, "home.http_ok") != 30 {
			t.Errorf("the run is %s (%s), counts %d", x.State, x.Cause, count(x, "home.http_ok"))
		}
	})
}

// Agents that can't take over the load of lost ones do their own part: the run does not
// wait for executors that did not begin.
func TestNobodyTakesOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two")
		id := r.running(run.Options{Lost: run.LostRebalance}, "one", "two")
		one, two := r.of("one"), r.of("two")
		one.batch(10, 0, time.Millisecond)
		one.change(func(*fakeAgent) {
			one.answers = func(c *agentpb.Command) *agentpb.Answer {
				if kind(c) == "prepare" {
					return refused(agentpb.CodeScenario, "the disk has no room")
				}
				return nil
			}
		})
		two.change(func(a *fakeAgent) { a.boot, a.beats, a.run, a.parts, a.silent = 2, 0, "", nil, true })
		r.until("it is tried", func() bool { return one.times("prepare") == 2 })
		r.until("the run says so", func() bool {
			x, err := r.Result(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(fmt.Sprint(x.Notes), "could not be assigned to other agents: agent one: the disk has no room")
		})
		one.batch(10, 0, time.Millisecond)
		one.change(func(a *fakeAgent) { a.epoch = 1 }) // the deliveries of the executor that continues
		one.finish()
		over := time.Now()
		x := r.result(id)
		if took := time.Since(over); took > short.Flush {
			t.Errorf("the end was waited for %v", took)
		}
		if x.State != run.Finished || x.Failure != "" || count(x, "home.http_ok") != 20 || x.Verdict == run.Valid {
			t.Errorf("the run is %s (%s), failure %q, %s, counts %d", x.State, x.Cause, x.Failure, x.Verdict, count(x, "home.http_ok"))
		}
	})
}
