package cli

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/live"
)

// press handles a key of the terminal.
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

// changesOf returns what a key changes of the load; nil if it changes nothing.
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

// steer makes changes of the load, unless the previous ones are not done yet.
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
