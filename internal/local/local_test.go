package local_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

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

// writer calls a function for each write.
type writer func()

func (w writer) Write(b []byte) (int, error) { w(); return len(b), nil }

// A SIGTERM that the executor receives lets the request in flight end and is named as the
// cause; if gobench receives it too, that is an ordinary stop.
func TestSignalToTheExecutor(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		f := load(t, "signalled")
		cause, noted := "stopped by SIGTERM to the executor", true
		if both {
			cause, noted = "stopped by SIGTERM", false
			f.Output = writer(func() { f.Controls.Stop("SIGTERM") })
		}
		r, err := local.Run(t.Context(), f.Options)
		if err != nil || r.State != run.Finished || r.Cause != cause || !r.Complete || count(t, r, "home.http_ok") != 1 || f.served.Load() != 1 {
			t.Errorf("%s %q, complete %v, %d requests, %v: %v", r.State, r.Cause, r.Complete, f.served.Load(), r.Errors, err)
		}
		if got := strings.Contains(strings.Join(r.Notes, "\n"), "the executor received SIGTERM, which gobench did not send"); got != noted || noted && r.Verdict == run.Valid {
			t.Errorf("both %v: verdict %s, notes %q", both, r.Verdict, r.Notes)
		}
	}
}

// An executor that something has stopped for good is killed, with a warning before.
func TestStoppedExecutor(t *testing.T) {
	t.Parallel()
	f := load(t, "stopped")
	f.Interval, f.Silent = 100*time.Millisecond, 2*time.Second
	var mu sync.Mutex
	var warnings []string
	event0 := f.Event
	f.Event = func(e event.Event) {
		if mu.Lock(); e.Kind == event.Warning {
			warnings = append(warnings, e.Text)
		}
		mu.Unlock()
		event0(e)
	}
	r, err := local.Run(t.Context(), f.Options)
	if err == nil || r.State != run.Failed || r.Verdict != run.Invalid || !strings.Contains(r.Cause, "sent nothing for") || !strings.Contains(r.Cause, "stopped or stuck, and was killed") {
		t.Errorf("%s %q, %s: %v", r.State, r.Cause, r.Verdict, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(warnings) == 0 || !strings.Contains(warnings[0], "it is stopped, or stuck") {
		t.Errorf("warnings %q", warnings)
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
	var param *run.UsageError
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
	if err != nil || r.State != run.Finished || count(t, r, "home.http_ok") != 100 || !r.Complete {
		t.Errorf("a disk that is full for a moment: %s, missing %q: %v", r.State, r.Missing, err)
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
