package local_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gbhttp "github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

const (
	scenarioEnv = "GOBENCH_TEST_SCENARIO" // makes this test binary an executor of that scenario
	urlEnv      = "GOBENCH_TEST_URL"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(scenarioEnv); name != "" {
		executor.Main(scenarios[name](), map[string][]string{"threshold": {"home.http_ok count > 1000"}}[name]...)
	}
	os.Exit(m.Run())
}

// scenarios are what this test binary runs as an executor, by name.
var scenarios = map[string]func() scenario.Vus{
	"requests":  func() scenario.Vus { return get(4, scenario.Times(25)) },
	"threshold": func() scenario.Vus { return get(1, scenario.Times(3)) },
	"long": func() scenario.Vus {
		return get(2, scenario.Arrival{Stages: []scenario.Rate{{To: 50, Over: time.Hour}}})
	},
	"params": func() scenario.Vus {
		scenario.Param("users", "1", "how many users")
		fmt.Println("hello from the scenario")
		return get(1, scenario.Times(1))
	},
	"every user panics": func() scenario.Vus {
		return scenario.Vus{{Name: "home", Nu: 2, Fu: func(context.Context, int) { panic("no basket") }}}
	},
	"a goroutine panics": func() scenario.Vus {
		return scenario.Vus{{Name: "home", Nu: 1, Fu: func(context.Context, int) { go panic("lost"); select {} }}}
	},
	"export panics": func() scenario.Vus { panic("no file") },
	"exits":         func() scenario.Vus { fmt.Println("bye"); os.Exit(3); return nil },
}

// get is a load of requests of the test's server.
func get(users int, load scenario.Load) scenario.Vus {
	var client gbhttp.HttpClient
	return scenario.Vus{{Name: "home", Nu: users, Load: load,
		Setup: func(ctx context.Context) (_ context.Context, err error) {
			client, err = gbhttp.NewHttpClient(ctx, "home")
			return ctx, err
		},
		Fu: func(ctx context.Context, _ int) { _, _ = client.Get(ctx, os.Getenv(urlEnv), nil) },
	}}
}

// fixture is a run of a scenario against a server that counts.
type fixture struct {
	local.Options
	served atomic.Int64

	mu     sync.Mutex
	events []event.Event
}

func load(t *testing.T, name string) *fixture {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := new(fixture)
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f.served.Add(1) }))
	t.Cleanup(srv.Close)
	f.Options = local.Options{History: history.Open(t.TempDir()), Name: name, Interval: 100 * time.Millisecond, Graceful: 10 * time.Second, Seed: 1,
		Env:      []string{scenarioEnv + "=" + name, urlEnv + "=" + srv.URL},
		Controls: new(local.Controls),
		Prepare:  func(context.Context) (local.Program, error) { return local.Program{Path: self, SHA256: "abc"}, nil },
		Event: func(e event.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.events = append(f.events, e)
		},
	}
	return f
}

// on calls do once, when an event of this kind comes.
func (f *fixture) on(kind event.Kind, do func()) {
	var once sync.Once
	next := f.Event
	f.Event = func(e event.Event) {
		next(e)
		if e.Kind == kind {
			once.Do(do)
		}
	}
}

// id is the run's, once it has begun.
func (f *fixture) id() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[0].Run
}

// states are those that the run went through.
func (f *fixture) states() (all []run.State) {
	for _, e := range f.events {
		if e.Kind == event.State {
			all = append(all, e.State)
		}
	}
	return all
}

func count(t *testing.T, r *run.Result, title string) int64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Title == title && m.Count != nil {
			return *m.Count
		}
	}
	t.Errorf("the result has no count of %s", title)
	return 0
}

func TestRunCountsEveryRequest(t *testing.T) {
	t.Parallel()
	f := load(t, "requests")
	r, err := local.Run(t.Context(), f.Options)
	if err != nil || r.State != run.Finished || r.Cause != "" || !r.Complete {
		t.Fatalf("%s %q, complete %v, %v: %v", r.State, r.Cause, r.Complete, r.Missing, err)
	}
	if n, ok := f.served.Load(), count(t, r, "home.http_ok"); n != 100 || ok != 100 {
		t.Errorf("the server answered %d and the result has %d, want 100", n, ok)
	}
	if got := f.states(); !slices.Equal(got, []run.State{run.Starting, run.Running, run.Stopping}) {
		t.Errorf("the states were %v", got)
	}
	if r.Config.Executor != "abc" || r.Config.Seed != 1 || len(r.Config.Classes) != 1 || r.Config.Classes[0].Users != 4 || r.Environment.CPUs == 0 {
		t.Errorf("the result has %+v of %+v", r.Config, r.Environment)
	}
	stored, err := f.History.LoadFigures(r.ID)
	if err != nil || stored.State != run.Finished || count(t, stored, "home.http_ok") != 100 {
		t.Errorf("the history has %+v: %v", stored, err)
	}
	seconds := 0.0
	if err := f.History.Series(r, func(i run.Interval) error { seconds += i.Seconds; return nil }); err != nil || seconds == 0 {
		t.Errorf("the series has %v s: %v", seconds, err)
	}
}

func TestStopAndCancel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		end   func(*local.Controls)
		state run.State
		cause string
	}{
		{"stop", func(c *local.Controls) { c.Stop("a test"); c.Stop("another") }, run.Finished, "stopped by a test"},
		{"cancel", func(c *local.Controls) { c.Cancel("a test") }, run.Cancelled, "cancelled by a test"},
		{"stop, then cancel", func(c *local.Controls) { c.Stop("a test"); c.Cancel("a second one") }, run.Cancelled, "cancelled by a second one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := load(t, "long")
			f.on(event.Interval, func() { go tt.end(f.Controls) })
			r, _ := local.Run(t.Context(), f.Options)
			if r.State != tt.state || r.Cause != tt.cause {
				t.Errorf("%s %q, want %s %q", r.State, r.Cause, tt.state, tt.cause)
			}
			if stored, err := f.History.Load(r.ID); err != nil || stored.State != tt.state {
				t.Errorf("the history has %+v: %v", stored, err)
			}
		})
	}
}

// A run that is ended before its executor is started is abandoned, whatever prepares it.
func TestStopWhilePreparing(t *testing.T) {
	t.Parallel()
	f := load(t, "long")
	f.Prepare = func(ctx context.Context) (local.Program, error) {
		f.Controls.Stop("a test")
		<-ctx.Done()
		return local.Program{}, fmt.Errorf("compile: %w", ctx.Err())
	}
	r, err := local.Run(t.Context(), f.Options)
	if !errors.Is(err, context.Canceled) || r.State.Final() {
		t.Errorf("%s: %v", r.State, err)
	}
	early := load(t, "long")
	early.Controls.Cancel("a test")
	if r, _ := local.Run(t.Context(), early.Options); r.State != run.Cancelled || r.Cause != "cancelled by a test" {
		t.Errorf("ended before Run: %s %q", r.State, r.Cause)
	}
}

func TestContextCancels(t *testing.T) {
	t.Parallel()
	f := load(t, "long")
	ctx, cancel := context.WithCancel(t.Context())
	f.on(event.Interval, cancel)
	if r, _ := local.Run(ctx, f.Options); r.State != run.Cancelled || r.Cause != "cancelled by signal" {
		t.Errorf("%s %q", r.State, r.Cause)
	}
}

// Another process changes the run over its socket.
func TestSend(t *testing.T) {
	t.Parallel()
	f := load(t, "long")
	done := make(chan struct{})
	f.on(event.Interval, func() {
		id := f.id()
		go func() {
			defer close(done)
			rate, users := 80.0, int64(-1)
			for _, c := range []event.Change{{What: "scale", Rate: &rate}, {What: "pause"}, {What: "resume"}} {
				if err := local.Send(f.History, id, c); err != nil {
					t.Errorf("%s: %v", c.What, err)
				}
			}
			if err := local.Send(f.History, id, event.Change{What: "scale", Class: "nobody", Rate: &rate, Users: &users}); err == nil || !strings.Contains(err.Error(), `no class is called "nobody"`) {
				t.Errorf("a wrong class: %v", err)
			}
			if err := local.Send(f.History, id, event.Change{What: "stop"}); err != nil {
				t.Errorf("stop: %v", err)
			}
		}()
	})
	r, err := local.Run(t.Context(), f.Options)
	<-done
	if err != nil || r.Cause != "stopped by gobench ctl" || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "set to 80 starts/s") }) {
		t.Errorf("%s %q, notes %q: %v", r.State, r.Cause, r.Notes, err)
	}
	var changes []string
	for _, e := range f.events {
		if e.Kind == event.Control {
			changes = append(changes, e.Text)
		}
	}
	if want := []string{"scale by gobench ctl rate 80/s", "pause by gobench ctl", "resume by gobench ctl"}; !slices.Equal(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	if err := local.Send(f.History, r.ID, event.Change{What: "stop"}); err == nil || !strings.Contains(err.Error(), "is not running") {
		t.Errorf("after the run: %v", err)
	}
}

func TestScenarioThatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, cause, note string }{
		{"every user panics", "every user panicked: no basket", ""},
		{"a goroutine panics", "a goroutine of the scenario panicked: lost", "a goroutine that the scenario started itself panicked"},
		{"export panics", "panicked", ""},
		{"exits", "the scenario ended before its load began; it printed last: bye; the executor exited with status 3", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := load(t, tt.name)
			r, err := local.Run(t.Context(), f.Options)
			if err == nil || r.State != run.Failed || !strings.Contains(r.Cause, tt.cause) || r.Cause != err.Error() {
				t.Errorf("%s %q: %v", r.State, r.Cause, err)
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), tt.note) {
				t.Errorf("notes %q", r.Notes)
			}
			var dead *process.DeadError
			if errors.As(err, &dead) != (tt.name != "every user panics") {
				t.Errorf("a dead executor: %v", err)
			}
		})
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	f := load(t, "threshold")
	own, err := threshold.ParseFor("home.http_ok count > 0", f.Interval)
	if err != nil {
		t.Fatal(err)
	}
	f.Thresholds = []threshold.Threshold{own}
	r, err := local.Run(t.Context(), f.Options)
	if err != nil || len(r.Thresholds) != 2 || !r.Thresholds[0].OK || r.Thresholds[1].OK {
		t.Errorf("thresholds %+v: %v", r.Thresholds, err)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	f := load(t, "params")
	f.Parameters = map[string]string{"users": "7"}
	f.Output = new(strings.Builder)
	r, err := local.Run(t.Context(), f.Options)
	if err != nil || r.Config.Parameters["users"] != "7" {
		t.Errorf("parameters %v: %v", r.Config.Parameters, err)
	}
	if log, err := os.ReadFile(filepath.Join(f.History.Dir(r.ID), "executor.log")); err != nil || string(log) != "hello from the scenario\n" || f.Output.(*strings.Builder).String() != string(log) {
		t.Errorf("the log has %q, the output %q: %v", log, f.Output, err)
	}

	wrong := load(t, "params")
	wrong.Parameters = map[string]string{"user": "7"}
	r, err = local.Run(t.Context(), wrong.Options)
	var param *monitor.ParamError
	if !errors.As(err, &param) || r.State.Final() {
		t.Errorf("%s: %v", r.State, err)
	}
	if ids, _ := wrong.History.List(); len(ids) != 0 {
		t.Errorf("the history has %v", ids)
	}
}

func TestOnceAndVerbose(t *testing.T) {
	t.Parallel()
	f := load(t, "long")
	var mu sync.Mutex
	exchanges, logged := 0, 0
	f.Once, f.OnceIterations = true, 2
	f.Log = slog.New(slog.DiscardHandler)
	f.Seen = func(m *wire.Seen) {
		mu.Lock()
		defer mu.Unlock()
		if m.Log {
			logged++
		} else {
			exchanges++
		}
	}
	r, err := local.Run(t.Context(), f.Options)
	if err != nil || f.served.Load() != 2 || exchanges != 2 || logged == 0 || r.Verdict != "" || r.Config.Classes[0].Load != "once" {
		t.Errorf("%d requests, %d shown, %d lines of log, verdict %q, %+v: %v", f.served.Load(), exchanges, logged, r.Verdict, r.Config.Classes, err)
	}
}

// A folder that can't be made costs no load, and one that can't be written costs no figures.
func TestHistoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var storage *local.StorageError

	f := load(t, "requests")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.History = history.Open(filepath.Join(file, "runs"))
	r, err := local.Run(t.Context(), f.Options)
	if !errors.As(err, &storage) || r.State.Final() || f.served.Load() != 0 {
		t.Errorf("no folder: %s, %d requests: %v", r.State, f.served.Load(), err)
	}

	full := load(t, "requests")
	full.on(event.Step, func() { // the next write of the result meets a full disk
		if err := os.Symlink("/dev/full", full.History.File(full.id())+".new"); err != nil {
			t.Error(err)
		}
	})
	r, err = local.Run(t.Context(), full.Options)
	if err != nil || r.State != run.Finished || count(t, r, "home.http_ok") != 100 || !strings.Contains(strings.Join(r.Notes, "\n"), "the history of this run is incomplete: ") {
		t.Errorf("a disk that is full for a moment: %s, notes %q: %v", r.State, r.Notes, err)
	}

	lost := load(t, "requests")
	lost.on(event.Step, func() { // no later result can be written
		if err := os.MkdirAll(filepath.Join(lost.History.File(lost.id())+".new", "x"), 0o700); err != nil {
			t.Error(err)
		}
	})
	r, err = local.Run(t.Context(), lost.Options)
	if !errors.As(err, &storage) || r.State != run.Finished || count(t, r, "home.http_ok") != 100 || !strings.Contains(strings.Join(r.Notes, "\n"), "the result could not be stored: ") {
		t.Errorf("a result that can't be stored: %s, notes %q: %v", r.State, r.Notes, err)
	}
}

// Options that leave all that is optional out.
func TestRunWithoutOptions(t *testing.T) {
	t.Parallel()
	f := load(t, "requests")
	f.Event, f.Controls = nil, nil
	if r, err := local.Run(t.Context(), f.Options); err != nil || r.State != run.Finished {
		t.Errorf("%s: %v", r.State, err)
	}
	var c local.Controls
	c.Stop("no run")
	if err := c.Change(event.Change{What: "pause"}); !errors.Is(err, process.ErrNoLoad) {
		t.Errorf("a change of no run: %v", err)
	}
}
