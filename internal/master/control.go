package master

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// control changes the load of the whole run, split over its executors, adds a note and emits
// an event. It returns once all executors have answered. The error is run.ErrConflict before
// the load begins, and a *run.InputError if the change is not possible; nothing has changed
// then. After another error some executors may have changed their load, and there is no
// note. It may be called concurrently; changes are made one after the other.
func (a *active) control(ctx context.Context, c event.Change) error {
	wish := &wire.Control{What: c.What, Class: c.Class, Users: -1, Rate: -1}
	if c.Users != nil {
		wish.Users = *c.Users
	}
	if c.Rate != nil {
		wish.Rate = *c.Rate
	}
	a.controls.Lock()
	defer a.controls.Unlock()
	a.mu.Lock()
	plan, began := a.plan, a.began
	a.mu.Unlock()
	if plan == nil || began.IsZero() {
		return fmt.Errorf("%w: the load has not begun", run.ErrConflict)
	}
	all, err := plan.Control(wish)
	if err != nil {
		return &run.InputError{Field: "what", Text: err.Error()}
	}
	if c.Rate != nil { // before: an error may leave some changed
		if err := a.m.intake.with(ctx, func() { a.record.tally.Rescaled(c.Class) }); err != nil {
			return err
		}
	}
	if err := a.send(ctx, all); err != nil {
		return err
	}
	// Executors of a split run do not note such changes themselves.
	text := a.noteOf(c, max(time.Since(began), 0))
	if err := a.m.intake.with(ctx, func() {
		a.record.tally.Merger.Note(text)
		a.record.tally.Users(nil) // their shares may be others now
		a.record.dirty = true
	}); err != nil {
		return err
	}
	change := c
	a.m.events.emit(a.id, event.Event{Kind: event.Control, Control: &change, Text: strings.TrimSpace(fmt.Sprintf("%s by %s %s", c.What, c.By, numbers(c)))})
	return nil
}

// noteOf returns the report's note of a change at a time of the run, worded as in a run of
// one executor: "at 12.0 s: class NAME set to 5 users".
func (a *active) noteOf(c event.Change, at time.Duration) string {
	what := map[string]string{wire.Pause: "paused", wire.Resume: "resumed"}[c.What]
	if what == "" {
		class := c.Class
		if class == "" {
			class = a.result.Config.Classes[0].Name // the only one
		}
		what = "class " + class + " set to"
		if c.Users != nil {
			what += fmt.Sprintf(" %d users", *c.Users)
		}
		if c.Rate != nil {
			what += fmt.Sprintf(" %v starts/s", *c.Rate)
		}
	}
	return fmt.Sprintf("at %.1f s: %s", at.Seconds(), what)
}

// numbers returns what a scale sets, as text: "rate 5/s users 3 CLASS". Without a class it
// ends in a space; a change that sets nothing is the class alone.
func numbers(c event.Change) (s string) {
	if c.Rate != nil {
		s += fmt.Sprintf("rate %v/s ", *c.Rate)
	}
	if c.Users != nil {
		s += fmt.Sprintf("users %d ", *c.Users)
	}
	return s + c.Class
}
