package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
)

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

// A client that connects and sends no request does not delay the end of the run.
func TestSilentClient(t *testing.T) {
	t.Parallel()
	f := load(t, "long")
	connected := make(chan net.Conn, 1)
	f.on(event.Interval, func() {
		go func() {
			defer f.Controls.Cancel("a test")
			silent, err := net.Dial("unix", filepath.Join(f.History.Dir(f.id()), "ctl"))
			if err != nil {
				t.Error(err)
			}
			connected <- silent
			if err := local.Send(f.History, f.id(), event.Change{What: "pause"}); err != nil { // answered after silent is accepted
				t.Error(err)
			}
		}()
	})
	_, _ = local.Run(t.Context(), f.Options)
	silent := <-connected
	if silent == nil {
		return
	}
	defer silent.Close()
	_ = silent.SetDeadline(time.Now().Add(time.Minute)) // it only fails on a closed connection
	var answer struct{ Error string }
	if err := json.NewDecoder(silent).Decode(&answer); err != nil || answer.Error != process.ErrNoLoad.Error() {
		t.Errorf("the connection was not refused by the end of the run: %q, %v", answer.Error, err)
	}
}
