package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// api.md 7: an iteration's error is counted by class and text, and the user continues; a target
// that fails at once is not called without a pause.
func TestIterationErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vus := scenario.Vus{{Name: "f", Nu: 2, Load: scenario.Times(10), Start: func(context.Context, int) (scenario.User, error) {
			n := 0
			return scenario.Iterate(func(context.Context) error {
				if n++; n%2 == 0 {
					return errors.New("no luck")
				}
				return nil
			}), nil
		}}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		o.want(t, map[string]int64{"f.iterations": 20, "f.errors": 10, "f.service": 10, "f.failure": 10})
		if o.failures["iteration no luck"] != 10 {
			t.Errorf("failures = %v", o.failures)
		}
		if o.took < 5*minFailure {
			t.Errorf("five failures in a row took %v, want a pause of %v after each", o.took, minFailure)
		}
	})
}

// user has all the methods that a scenario.User may have.
type user struct {
	vui                int
	log                *sync.Map
	prepared, iterated int
	closed             bool
}

func (u *user) Prepare(context.Context) error {
	time.Sleep(50 * time.Millisecond)
	if u.prepared++; u.prepared == 2 {
		return errors.New("not ready")
	}
	return nil
}
func (u *user) Iterate(context.Context) error {
	time.Sleep(10 * time.Millisecond)
	u.iterated++
	return nil
}
func (u *user) Close() { u.closed = true; u.log.Store(u.vui, u) }

func TestStartPrepareCloseStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var users sync.Map
		var stopped atomic.Bool
		vus := scenario.Vus{{Name: "f", Nu: 3, Load: scenario.Times(4),
			Setup: func(ctx context.Context) (context.Context, error) {
				return context.WithValue(ctx, key{}, "set up"), nil
			},
			Start: func(ctx context.Context, vui int) (scenario.User, error) {
				if ctx.Value(key{}) != "set up" {
					t.Error("Start's ctx does not come from Setup")
				}
				if vui == 2 {
					return nil, errors.New("cannot start")
				}
				return &user{vui: vui, log: &users}, nil
			},
			Stop: func(ctx context.Context) {
				stopped.Store(ctx.Value(key{}) == "set up" && ctx.Err() == nil)
			}}}
		o := play(t, t.Context(), vus, &wire.Start{}, nil)
		// Of four rounds one has no iteration, since its Prepare failed.
		o.want(t, map[string]int64{"f.started": 3, "f.iterations": 6, "f.errors": 0, "f.unprepared": 2, "f.service": 6})
		if !stopped.Load() || o.failures["start cannot start"] != 1 || o.failures["prepare not ready"] != 2 {
			t.Errorf("stopped %v, failures %v", stopped.Load(), o.failures)
		}
		for vui := range 2 {
			u, ok := users.Load(vui)
			if !ok || !u.(*user).closed || u.(*user).prepared != 4 || u.(*user).iterated != 3 {
				t.Errorf("user %d: %+v", vui, u)
			}
		}
		if o.took < 230*time.Millisecond {
			t.Errorf("took %v", o.took)
		}
	})
}

// chain is an Executor and Preparer that checks the contexts it receives (api.md 6).
type chain struct {
	t     *testing.T
	calls atomic.Int64
}
type link string

func (c *chain) Setup(ctx context.Context) (context.Context, error) {
	return context.WithValue(ctx, link("setup"), true), nil
}
func (c *chain) PrepareContext(ctx context.Context) (context.Context, error) {
	time.Sleep(10 * time.Millisecond)
	if ctx.Value(link("setup")) == nil || ctx.Value(link("exec")) != nil {
		c.t.Error("PrepareContext's ctx is not Setup's alone")
	}
	return context.WithValue(ctx, link("prepare"), true), nil
}
func (c *chain) ExecContext(ctx context.Context) (context.Context, error) {
	if ctx.Value(link("prepare")) == nil || ctx.Value(link("exec")) != nil {
		c.t.Error("ExecContext's ctx does not come from PrepareContext")
	}
	if c.calls.Add(1)%3 == 0 {
		return ctx, errors.New("step failed")
	}
	time.Sleep(2 * time.Millisecond)
	return context.WithValue(ctx, link("exec"), true), nil
}

func TestExecutorAndPreparer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := play(t, t.Context(), scenario.Vus{{Nu: 3, Exec: &chain{t: t}, Load: scenario.Times(5)}}, &wire.Start{}, nil)
		o.want(t, map[string]int64{"chain.iterations": 15, "chain.errors": 5, "chain.service": 10})
		if o.max["chain.service"] != int64(2*time.Millisecond) {
			t.Errorf("greatest service time %d ns: the 10 ms of PrepareContext are not measured", o.max["chain.service"])
		}
	})
}

// part is a step that appends its name to what its ctx carries, and notes what it received.
type part struct {
	name     string
	prepares time.Duration
	takes    time.Duration
	fails    func(n int64) bool
	calls    atomic.Int64
	got      sync.Map // what ExecContext received
}

func (p *part) Setup(ctx context.Context) (context.Context, error) {
	return context.WithValue(ctx, link("path"), path(ctx)+" setup-"+p.name), nil
}

func (p *part) PrepareContext(ctx context.Context) (context.Context, error) {
	if p.prepares == 0 {
		return nil, nil
	}
	time.Sleep(p.prepares)
	return context.WithValue(ctx, link("path"), path(ctx)+" prepare-"+p.name), nil
}

func (p *part) ExecContext(ctx context.Context) (context.Context, error) {
	p.got.Store(path(ctx), true)
	time.Sleep(p.takes)
	if n := p.calls.Add(1); p.fails != nil && p.fails(n) {
		return nil, errors.New(p.name + " failed")
	}
	return context.WithValue(ctx, link("path"), path(ctx)+" "+p.name), nil
}

func path(ctx context.Context) string {
	s, _ := ctx.Value(link("path")).(string)
	return s
}

// Steps are taken in order, each with the context of the one before it (S1-4), and timed one by
// one; the first that fails ends the iteration.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		login := &part{name: "login", prepares: 20 * time.Millisecond, takes: 3 * time.Millisecond}
		search := &part{name: "search", takes: 5 * time.Millisecond, fails: func(n int64) bool { return n%5 == 0 }}
		order := &part{name: "order", prepares: 40 * time.Millisecond, takes: 7 * time.Millisecond}
		o := play(t, t.Context(), scenario.Vus{{Name: "shop", Nu: 2, Load: scenario.Times(5),
			Steps: []scenario.Step{{Name: "login", Exec: login}, {Name: "search", Exec: search}, {Name: "order", Exec: order}}}}, &wire.Start{}, nil)
		o.want(t, map[string]int64{"shop.iterations": 10, "shop.errors": 2, "shop.service": 8,
			"step.login.time": 10, "step.search.time": 8, "step.search.failed": 2, "step.order.time": 8})
		for title, want := range map[string]time.Duration{"step.login.time": 3 * time.Millisecond, "step.order.time": 7 * time.Millisecond, "shop.service": 55 * time.Millisecond} {
			if got := time.Duration(o.max[title]); got != want {
				t.Errorf("%s is %v, want %v", title, got, want)
			}
		}
		setups := " setup-login setup-search setup-order"
		for p, want := range map[*part]string{login: setups + " prepare-login", search: setups + " prepare-login login", order: setups + " prepare-login login search prepare-order"} {
			p.got.Range(func(got, _ any) bool {
				if got != want {
					t.Errorf("%s received the context of %q, want %q", p.name, got, want)
				}
				return true
			})
		}
		if n := order.calls.Load(); n != 8 {
			t.Errorf("%d orders, want 8: none after a search that failed", n)
		}
	})
}

func TestSetupThatFails(t *testing.T) {
	for name, setup := range map[string]func(context.Context) (context.Context, error){
		"error": func(context.Context) (context.Context, error) { return nil, errors.New("no database") },
		"panic": func(context.Context) (context.Context, error) { panic("no database") },
	} {
		t.Run(name, func(t *testing.T) {
			vus := scenario.Vus{{Name: "f", Nu: 1, Setup: setup, Fu: func(context.Context, int) {}}}
			classes, err := Check(vus)
			if err != nil {
				t.Fatal(err)
			}
			r, err := New(vus, classes, &wire.Start{Shares: []*wire.Share{{Nu: 1}}}, meter.New())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "no database") || !strings.Contains(err.Error(), "class f") {
				t.Errorf("Prepare = %v", err)
			}
		})
	}
}
