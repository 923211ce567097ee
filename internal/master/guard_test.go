package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// F57: a harmful run is ended at once, with the cause, and its counts are included.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		guards          run.Guards
		ok, fail        int64
		latency         time.Duration
		cause           string
		harmless        int64 // successful operations that do no harm
		harmlessLatency time.Duration
	}{
		{"error rate", run.Guards{ErrorRate: 0.1}, 50, 50, time.Millisecond, "% of the operations of home failed in 2s, and at most 10.0 % may", 100, time.Millisecond},
		{"p99", run.Guards{P99: 0.1}, 100, 0, time.Second, "guard: the p99 of home was 1,", 100, time.Millisecond},
		{"rate", run.Guards{Rate: 500}, 5000, 0, time.Millisecond, "operations a second were done, and at most 500 may", 100, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, "one", "two")
				id := r.running(run.Options{Guards: tt.guards}, "one", "two")
				r.of("one").batch(tt.harmless, 0, tt.harmlessLatency)
				r.of("two").batch(tt.harmless, 0, tt.harmlessLatency)
				r.until("what is harmless is taken in", func() bool { return r.figures().Batches >= 2 })
				if o, _ := r.Run(context.Background(), id); o.State != run.Running {
					t.Fatalf("the run is %s (%s) after no harm", o.State, o.Cause)
				}
				began := time.Now()
				r.of("two").batch(tt.ok, tt.fail, tt.latency)
				r.until("agents are told", func() bool { return r.of("one").has("cancel") && r.of("two").has("cancel") })
				if took := time.Since(began); took > time.Second {
					t.Errorf("agents were told %v after", took)
				}
				x := r.result(id)
				if x.State != run.Failed || x.Failure != run.FailedGuard || !strings.Contains(strings.ReplaceAll(x.Cause, "1.00", "1,00"), tt.cause) || x.ExitStatus(run.Exit{}) != 1 {
					t.Errorf("the run is %s (%s), failure %q", x.State, x.Cause, x.Failure)
				}
				if want := 2*tt.harmless + tt.ok; !x.Complete || count(x, "home.http_ok") != want {
					t.Errorf("complete %v, counts %d, want %d", x.Complete, count(x, "home.http_ok"), want)
				}
			})
		})
	}
}

// A threshold with abort is judged on all executors' counts together.
func TestThresholdOnTheWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		if _, err := threshold.ParseFor("home.http_ok count <= 50 abort", time.Second); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, "one", "two", "three")
		id := r.running(run.Options{Thresholds: []string{"home.http_ok count <= 50 abort"}}, "one", "two", "three")
		for range 2 { // 30 in a second, 60 in two; 20 of each executor
			for _, name := range []string{"one", "two", "three"} {
				r.of(name).batch(10, 0, time.Millisecond)
			}
		}
		x := r.result(id) // the agents receive a stop
		if x.State != run.Finished || !strings.Contains(x.Cause, "threshold home.http_ok count <= 50 abort crossed") || x.ExitStatus(run.Exit{}) != 4 || len(x.Thresholds) != 1 || x.Thresholds[0].OK {
			t.Errorf("the run is %s (%s), exit %d, thresholds %+v", x.State, x.Cause, x.ExitStatus(run.Exit{}), x.Thresholds)
		}
		if !r.of("one").has("stop") || r.of("one").has("cancel") {
			t.Error("the load was not stopped, or was cancelled")
		}
	})
}

// Live control is split over all executors, and the sums are exact.
func TestControl(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one", "two", "three")
		users := func(n int64) event.Change { return event.Change{What: "scale", Users: &n, By: "somebody"} }
		id := r.running(run.Options{}, "one", "two", "three")
		queued := r.submit(run.Options{})
		if err := r.Control(context.Background(), queued, users(5)); err == nil {
			t.Error("a run that waits was changed")
		}
		if err := r.Cancel(context.Background(), queued, "somebody"); err != nil {
			t.Fatal(err)
		}
		names := []string{"one", "two", "three"}
		for _, n := range []int64{100, 7, 2, 0, 31} {
			if err := r.Control(context.Background(), id, users(n)); err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, name := range names {
				a := r.of(name)
				a.mu.Lock()
				last := a.received[slices.IndexFunc(a.received, func(c *agentpb.Command) bool { return c.GetControl() != nil })]
				for _, c := range a.received {
					if c.GetControl() != nil {
						last = c
					}
				}
				a.mu.Unlock()
				if last.GetControl().AllUsers != n {
					t.Errorf("%s was told of %d users in all, want %d", name, last.GetControl().AllUsers, n)
				}
				sum += last.GetControl().Users
			}
			if sum != n {
				t.Errorf("users add up to %d, want %d", sum, n)
			}
		}
		rate := 5.0
		if err := r.Control(context.Background(), id, event.Change{What: "scale", Rate: &rate}); err == nil {
			t.Error("a closed class was given a rate")
		}
		if err := r.Control(context.Background(), id, event.Change{What: "explode"}); err == nil {
			t.Error("it did what there is not")
		}
		for _, what := range []string{"pause", "resume"} {
			if err := r.Control(context.Background(), id, event.Change{What: what}); err != nil {
				t.Error(err)
			}
		}
		for _, name := range names {
			r.of(name).batch(1, 0, time.Millisecond)
			r.of(name).finish()
		}
		notes := strings.Join(r.result(id).Notes, "\n")
		for _, want := range []string{"s: class ask set to 100 users\n", "s: class ask set to 0 users\n", "s: paused\n", "s: resumed\n"} {
			if strings.Count(notes, want) != 1 {
				t.Errorf("%q is %d times in the notes %q", want, strings.Count(notes, want), notes)
			}
		}
	})
}

// The targets that executors receive: the run's, those that no run may connect to, and the
// master's own.
func TestTargets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, "one")
		r.of("one").finishes()
		r.result(r.submit(run.Options{Guards: run.Guards{Targets: []string{"10.0.0.0/8", "a.example:443"}}}))
		found := false
		for _, c := range r.of("one").received {
			for _, e := range c.GetPrepare().GetEnv() {
				text, ok := strings.CutPrefix(e, allowlist.Env+"=")
				if !ok {
					continue
				}
				found = true
				want := `{"allow":["10.0.0.0/8","a.example:443"],"deny":["169.254.0.0/16","fe80::/10","unix:","192.0.2.1:8080"]}`
				if text != want {
					t.Errorf("executors are told %s, want %s", text, want)
				}
				if _, err := allowlist.Parse(text); err != nil {
					t.Error(err)
				}
			}
		}
		if !found {
			t.Error("executors are told nothing")
		}
	})
}

// Late batches, as after an agent was disconnected, are judged by the time of the run;
// counts of several executors are judged together.
func TestGuardByTheRunsTime(t *testing.T) {
	t.Parallel()
	batch := func(e *fakeExecutor, ok, fail int64) *wire.Batch { return e.next(ok, fail, time.Millisecond) }
	g := newGuard(run.Guards{Rate: 150, ErrorRate: 0.5})
	one, two := &fakeExecutor{}, &fakeExecutor{number: 1}
	for range 10 {
		if harm := g.add(0, batch(one, 60, 0)); harm != "" {
			t.Fatal(harm)
		}
	}
	for i := range 10 { // ten seconds at once
		if harm := g.add(1, batch(two, 60, 0)); harm != "" {
			t.Fatalf("second %d that came late: %s", i, harm)
		}
	}
	if harm := g.add(0, batch(one, 100, 0)); harm != "" {
		t.Fatal(harm)
	}
	harm := g.add(1, batch(two, 60, 100)) // 120 before, 260 now
	if harm != "guard: 190 operations a second were done, and at most 150 may" {
		t.Errorf("harm: %q", harm)
	}
	if len(g.recent) != 11 {
		t.Errorf("%d seconds are kept, want 11", len(g.recent))
	}
	for range 200 {
		g.add(0, batch(one, 1, 0))
	}
	if len(g.recent) > usualWindow+late+1 {
		t.Errorf("%d seconds are kept", len(g.recent))
	}
	g = newGuard(run.Guards{ErrorRate: 0.5})
	if harm := g.add(0, batch(&fakeExecutor{}, 0, enough-1)); harm != "" {
		t.Errorf("too few to judge by: %s", harm)
	}
	if harm := g.add(1, batch(&fakeExecutor{}, 0, 1)); !strings.Contains(harm, "100.0 % of the operations of home failed in 1s") {
		t.Errorf("harm: %q", harm)
	}
}

// A guard counts each operation once: parts, as requests by URL, are not added to the whole.
func TestGuardCountsWholes(t *testing.T) {
	t.Parallel()
	url := func(r run.Role) run.Counts { return run.Counts{Role: r, Of: "home", By: "url", Part: "orders"} }
	whole := func(r run.Role) run.Counts { return run.Counts{Role: r, Of: "home"} }
	b := &wire.Batch{Seq: 1, ToNs: 1e9}
	for i, m := range []struct {
		counts run.Counts
		n      int64
	}{{whole(run.OpOK), 70}, {whole(run.OpUnanswered), 10}, {url(run.OpOK), 20}, {url(run.OpUnanswered), 10}, {run.Counts{Role: run.OpUnanswered, Of: "home", By: "error", Part: "timeout"}, 10}} {
		b.Declared = append(b.Declared, wire.MetricOf(run.Metric{Title: fmt.Sprint(i), Type: run.Counter, Counts: m.counts}))
		b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(i), Add: m.n})
	}
	for _, tt := range []struct {
		guards run.Guards
		breach bool
	}{
		{run.Guards{Rate: 79}, true}, {run.Guards{Rate: 80}, false},
		{run.Guards{ErrorRate: 0.12}, true}, {run.Guards{ErrorRate: 0.125}, false},
	} {
		if cause := newGuard(tt.guards).add(0, b); (cause != "") != tt.breach {
			t.Errorf("%+v: %q", tt.guards, cause)
		}
	}
}
