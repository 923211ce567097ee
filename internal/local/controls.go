package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// Controls change one run. The zero value is ready to be passed to Run. All methods may be
// called by any goroutine at any time, also before Run and after it.
type Controls struct {
	mu        sync.Mutex // guards all below
	by        string     // who ended the run; empty: no one has
	cancelled bool
	load      *load            // nil before Run
	abandon   func()           // cancels what comes before the executor
	executor  *process.Process // nil before it is started
	scaled    []string         // classes whose rate was changed; "" is the only one
}

// Stop ends the load and lets what is in flight drain; it does not wait. by, as "Ctrl-C", goes
// into the result's cause and must not be empty. Before the executor is started the run is
// abandoned instead. Stop does nothing after another Stop or Cancel.
func (c *Controls) Stop(by string) { c.end(false, by) }

// Cancel ends the run at once, also while it drains; it does not wait. by is as for Stop and
// replaces that of a Stop before.
func (c *Controls) Cancel(by string) { c.end(true, by) }

// end is Stop or Cancel. A further Cancel only replaces by and is reported again.
func (c *Controls) end(cancel bool, by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by != "" && !cancel {
		return
	}
	c.by, c.cancelled = by, cancel
	switch {
	case c.executor == nil:
		if c.abandon != nil {
			c.abandon()
		}
	case cancel:
		c.load.Log.Info("cancel", "asked_by", by)
		c.executor.Cancel()
		c.load.emit(event.Event{Kind: event.Ending, Cancel: true, By: by, Text: "cancelling"})
	default:
		c.load.Log.Info("stop", "asked_by", by)
		c.executor.Stop()
		c.load.emit(event.Event{Kind: event.Ending, By: by, Text: "stopping: waiting for what is in flight"})
	}
}

// Ended returns who has stopped or cancelled the run so far. by is empty if no one has.
func (c *Controls) Ended() (by string, cancelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by, c.cancelled
}

// Change pauses, resumes or scales the load for change.By, and returns once the executor has
// done so. If the load is still being started, it waits at most 5 s. The error is
// process.ErrNoLoad if no load is running, and otherwise why the load does not allow the
// change; nothing has changed then. Change.Users and Rate are ignored unless What is "scale".
func (c *Controls) Change(change event.Change) error {
	c.mu.Lock()
	load, executor := c.load, c.executor
	c.mu.Unlock()
	if executor == nil {
		return process.ErrNoLoad
	}
	if change.What != "scale" {
		change.Users, change.Rate = nil, nil
	}
	m := &wire.Control{What: change.What, Class: change.Class, Users: -1, Rate: -1}
	text := change.What + " by " + change.By
	if change.Rate != nil {
		m.Rate = *change.Rate
		text += fmt.Sprintf(" rate %v/s", m.Rate)
	}
	if change.Users != nil {
		m.Users = *change.Users
		text += fmt.Sprintf(" users %d", m.Users)
	}
	if change.What == "scale" {
		text += " " + change.Class
	}
	if err := executor.Control(m); err != nil {
		return err
	}
	if change.Rate != nil {
		c.mu.Lock()
		c.scaled = append(c.scaled, change.Class)
		c.mu.Unlock()
	}
	load.emit(event.Event{Kind: event.Control, Control: &change, Text: units.Safe(strings.TrimSpace(text))})
	return nil
}

// rescaled returns the classes whose rate was changed; "" is the only one.
func (c *Controls) rescaled() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.scaled)
}

// attach makes c the controls of r, once. abandon cancels r's context; it is called at once if
// the run was ended before.
func (c *Controls) attach(r *load, abandon context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load, c.abandon = r, abandon
	if c.by != "" {
		abandon()
	}
}

// begin makes c control an executor from here on. Call it once, after attach.
func (c *Controls) begin(e *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.executor = e
}
