package master

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobench-io/gobench/internal/master/store"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// short are Times for tests.
var short = Times{Suspect: 400 * time.Millisecond, Lost: 1200 * time.Millisecond, Lease: 2 * time.Second, Renew: 100 * time.Millisecond,
	Commit: 10 * time.Millisecond, Prepare: 10 * time.Second, Cancel: 2 * time.Second, Flush: 3 * time.Second, Lead: 20 * time.Millisecond}

// bubble runs f in parallel with other tests, with a fake clock that advances only while
// all goroutines of f wait: neither a busy host nor a long timeout matters.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// rig is a master on a new store, with agents controlled by the test.
type rig struct {
	*Master
	t        *testing.T
	dir      string
	store    *store.Store
	with     Store // of the next master; nil: store
	bus      *fakeBus
	compiler *fakeCompiler
	times    Times
	end      func() // stops the master
}

// emptyStore returns the file of a store with its schema and no rows.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gobench-master-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "gobench.db")
	s, err := store.Open(context.Background(), store.Options{Path: path, Fold: merge.Fold})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func newRig(t *testing.T, agents ...string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), bus: newFakeBus(t), times: short}
	r.compiler = &fakeCompiler{dir: t.TempDir(), compiled: map[string]bool{}}
	path := filepath.Join(r.dir, "gobench.db")
	empty, err := emptyStore()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.store, err = store.Open(t.Context(), store.Options{Path: path, Fold: merge.Fold, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close() })
	for _, name := range agents {
		r.agent(name)
	}
	r.begin()
	t.Cleanup(func() { r.end() })
	t.Cleanup(r.bus.end)
	for _, name := range agents {
		r.standing(name, agentReady)
	}
	return r
}

// begin starts a master, again after it was stopped.
func (r *rig) begin() {
	r.t.Helper()
	var data Store = r.store
	if r.with != nil {
		data = r.with
	}
	m, err := New(Options{Store: data, Bus: r.bus, Compiler: r.compiler, Dir: r.dir, Times: r.times, Key: "master's key", Cluster: "c",
		Logger: slog.New(slog.NewTextHandler(writer{r.t}, nil)), Protected: []string{"192.0.2.1:8080"},
		Token: func(id, secret string) (string, error) { return id + " " + secret, nil }})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Master = m
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := m.Serve(ctx); err != nil {
			r.t.Errorf("the master ended: %v", err)
		}
	}()
	r.end = sync.OnceFunc(func() { cancel(); <-done })
	r.until("the master is ready", func() bool { return m.Ready(context.Background()) == nil && r.bus.joined() })
}

// writer writes to the test's log until the test ends.
type writer struct{ t *testing.T }

func (w writer) Write(b []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSuffix(string(b), "\n"))
	}
	return len(b), nil
}

// until waits until f returns true.
func (r *rig) until(what string, f func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("it never holds that %s", what)
		}
	}
}

// hasEvent reports whether a text is in an event of a run.
func (r *rig) hasEvent(id, text string) bool {
	r.t.Helper()
	all, err := r.Events(r.t.Context(), id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for len(all) > 0 {
		if e := <-all; strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// agent adds an agent that has joined, and beats.
func (r *rig) agent(name string) *fakeAgent {
	r.t.Helper()
	a := run.Agent{ID: "a" + name, Name: name, Key: ("U" + strings.ToUpper(name) + strings.Repeat("A", 55))[:56], Joined: time.Now()}
	if err := r.store.PutAgent(context.Background(), &a); err != nil {
		r.t.Fatal(err)
	}
	if r.Master != nil {
		r.enroll(a)
	}
	return r.bus.add(a.ID, name)
}

func (r *rig) of(name string) *fakeAgent { return r.bus.agent("a" + name) }

func (r *rig) standing(name string, want standing) {
	r.t.Helper()
	r.until("agent "+name+" is "+string(want), func() bool {
		w, _ := r.fleet.get("a" + name)
		return w.state == want
	})
}

func (r *rig) submit(o run.Options) string {
	r.t.Helper()
	order, err := r.Submit(context.Background(), run.Submission{Name: "test", Source: run.Source{Scenario: "package main"}, Options: o, Owner: "tester"})
	if err != nil {
		r.t.Fatal(err)
	}
	return order.ID
}

// await waits until a run is in a state.
func (r *rig) await(id string, state run.State) *run.Order {
	r.t.Helper()
	var o *run.Order
	r.until("run "+id+" is "+string(state), func() bool {
		var err error
		if o, err = r.Run(context.Background(), id); err != nil {
			r.t.Fatal(err)
		}
		if o.State.Final() && o.State != state {
			r.t.Fatalf("run %s is %s (%s), want %s", id, o.State, o.Cause, state)
		}
		return o.State == state
	})
	return o
}

// running submits a run and waits until its load has begun, on these agents.
func (r *rig) running(o run.Options, agents ...string) string {
	r.t.Helper()
	id := r.submit(o)
	r.await(id, run.Running)
	for _, name := range agents {
		r.until(name+" has begun", func() bool { return r.of(name).has("begin") })
	}
	r.until("the load has begun", func() bool { // that is a moment after the command to begin
		x, err := r.Result(context.Background(), id)
		return err == nil && !x.Start.IsZero() && time.Now().After(x.Start)
	})
	return id
}

// figures returns the master's figures.
func (r *rig) figures() run.Figures {
	r.t.Helper()
	f, err := r.Figures(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// result is the run's result once it is over.
func (r *rig) result(id string) *run.Result {
	r.t.Helper()
	r.until("run "+id+" is over", func() bool {
		o, err := r.Run(context.Background(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		return o.State.Final() && !r.atWork(id)
	})
	x, err := r.Result(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// printed is the output of executors as text.
func (r *rig) printed(q run.LogQuery) string {
	r.t.Helper()
	var b strings.Builder
	last := ""
	err := r.Log(context.Background(), q, func(p *run.LogPiece) error {
		b.WriteString(p.Head(last))
		b.Write(p.Data)
		last = p.Executor
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b.String()
}

// count returns a metric's count; -1 if there is no such metric.
func count(x *run.Result, title string) int64 {
	for _, m := range x.Metrics {
		if m.Title == title && m.Count != nil {
			return *m.Count
		}
	}
	return -1
}

// fakeCompiler compiles nothing.
type fakeCompiler struct {
	dir string

	mu       sync.Mutex
	err      error
	hold     chan struct{} // a compile waits until it is closed
	compiled map[string]bool
}

func (c *fakeCompiler) Compile(ctx context.Context, _ run.Source, goos, goarch string, _ func(string)) (Built, error) {
	c.mu.Lock()
	hold, err := c.hold, c.err
	c.compiled[goos+"/"+goarch] = true
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return Built{}, context.Cause(ctx)
		}
	}
	if err != nil {
		return Built{}, err
	}
	path := filepath.Join(c.dir, goos+goarch)
	return Built{Path: path, SHA256: "sum of " + goos + goarch}, os.WriteFile(path, []byte("x"), 0o600)
}

func (c *fakeCompiler) set(err error, hold chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.hold = err, hold
}

// refused returns an answer that refuses a command.
func refused(code, text string) *agentpb.Answer { return &agentpb.Answer{Code: code, Error: text} }

// oneClass is the class of the fakes' scenario.
func oneClass() []*wire.Class {
	return []*wire.Class{{Name: "ask", Nu: 12, Load: "loop 1h", LoopNs: int64(time.Hour), Closed: true}}
}

var errTest = errors.New("as the test says")
