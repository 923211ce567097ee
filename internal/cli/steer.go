package cli

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/live"
)

// press handles a key of the terminal: s stops the run, q is as Ctrl-C, those of changesOf
// change the load, others do nothing. It does not wait for the change. The terminal's
// goroutine calls it.
func (l *localRun) press(key byte, look func(func(*live.Run))) {
	switch key {
	case 'q', 'Q': // as Ctrl-C
		system.Interrupt()
	case 's', 'S':
		l.controls.Stop("a key")
	default:
		if changes := changesOf(key); changes != nil {
			l.steer(look, changes)
		}
	}
}

// changesOf returns a function that returns what a key changes of the load, from the state
// of the run, or none if there is nothing to change; nil for other keys. Call that
// function only within look (live.Press).
func changesOf(key byte) func(*live.Run) []event.Change {
	switch key {
	case 'p', 'P':
		return func(r *live.Run) []event.Change {
			if r.Paused() {
				return []event.Change{{What: "resume"}}
			}
			return []event.Change{{What: "pause"}}
		}
	case '+', '=':
		return func(r *live.Run) []event.Change { return r.Steer(1.1, time.Now()) }
	case '-', '_':
		return func(r *live.Run) []event.Change { return r.Steer(1/1.1, time.Now()) }
	}
	return nil
}

// steer makes changes of the load, in a goroutine of l.steers. It does nothing if no load
// is running, or while the previous changes are being made. An error is shown as a note,
// and the remaining changes are made all the same.
func (l *localRun) steer(look func(func(*live.Run)), changes func(*live.Run) []event.Change) {
	if !l.loading.Load() || !l.steering.TryLock() {
		return
	}
	l.steers.Go(func() {
		defer l.steering.Unlock()
		var all []event.Change
		look(func(r *live.Run) { all = changes(r) })
		for _, c := range all {
			c.By = "a key"
			if err := l.controls.Change(c); err != nil {
				l.emit(event.Event{Kind: event.Note, Text: "the load is unchanged: " + err.Error()})
			}
		}
	})
}
