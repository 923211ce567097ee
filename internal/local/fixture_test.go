package local_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gbhttp "github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
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
	"signalled": func() scenario.Vus { // the drain lasts longer than the parent may take for its own stop
		vus := get(1, scenario.Times(3))
		request := vus[0].Fu
		vus[0].Fu = func(ctx context.Context, vui int) {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Signal(syscall.SIGTERM)
			fmt.Println("signalled")
			time.Sleep(time.Second)
			request(ctx, vui)
		}
		return vus
	},
	"stopped": func() scenario.Vus {
		vus := get(1, scenario.Times(300))
		request := vus[0].Fu
		vus[0].Fu = func(ctx context.Context, vui int) {
			request(ctx, vui)
			time.Sleep(100 * time.Millisecond)
			if time.Since(began) > time.Second {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Signal(syscall.SIGSTOP)
			}
		}
		return vus
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

var began = time.Now()

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
