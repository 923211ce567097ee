package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/live"
)

// queued stores the run's id. If the user asked to end the run before the master had
// returned it, queued ends the run now, which may take 10 s.
func (r *remoteRun) queued(ctx context.Context, id string) {
	r.mu.Lock()
	r.id = id
	ends := r.ends
	r.mu.Unlock()
	if ends > 0 {
		r.end(ctx, ends > 1)
	}
}

// end asks the master to stop the run or, with cancel, to cancel it, and returns when it
// has answered, after 10 s, or when ctx ends. A failure is shown as a warning, unless the
// run is over already. r.id must be set.
func (r *remoteRun) end(ctx context.Context, cancel bool) {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	what, ask := "stop", r.client.Stop
	if cancel {
		what, ask = "cancel", r.client.Cancel
	}
	if err := ask(ctx, r.id); err != nil && !client.IsCode(err, types.Conflict) { // a conflict: it is over
		r.view.Show(event.Event{Kind: event.Warning, Time: time.Now(), Text: "could not " + what + " the run: " + err.Error()})
	}
}

// countEnd counts a request of the user to end the run. It returns how many there were,
// this one included, and whether the master has returned the run's id.
func (r *remoteRun) countEnd() (n int, queued bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends++
	return r.ends, r.id != ""
}

// signals makes a first Ctrl-C (or SIGTERM) stop the run, a second cancel it, and a third
// leave it to the master; before the master has returned the run's id, a second one
// leaves. The caller must call the returned function once, when the run is over, and then
// wait for r.requests. Until then a closed pipe does not end this process.
func (r *remoteRun) signals(ctx context.Context) func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // a write then fails, without a signal
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ch:
			case <-done:
				return
			}
			switch n, queued := r.countEnd(); {
			case n > 2 || n == 2 && !queued:
				r.leave()
			case queued:
				r.requests.Go(func() { r.end(ctx, n == 2) })
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		signal.Stop(gone)
		close(done)
		<-ended
	}
}

// press returns the function that handles keys of the terminal: s stops the run, q is as
// Ctrl-C, those of changesOf change the load, others do nothing. It does not wait for the
// master: r.requests does. The end of ctx ends its requests.
func (r *remoteRun) press(ctx context.Context) live.Press {
	return func(key byte, look func(func(*live.Run))) {
		switch key {
		case 'q', 'Q': // as Ctrl-C
			system.Interrupt()
		case 's', 'S':
			r.requests.Go(func() { r.end(ctx, false) })
		default:
			if changes := changesOf(key); changes != nil {
				r.steer(ctx, look, changes)
			}
		}
	}
}

// steer makes changes of the load, in a goroutine of r.requests. It does nothing if no
// load is running, or while the previous changes are being made. An error is shown as a
// note, and the remaining changes are made all the same.
func (r *remoteRun) steer(ctx context.Context, look func(func(*live.Run)), changes func(*live.Run) []event.Change) {
	if !r.loading.Load() || !r.steering.TryLock() {
		return
	}
	r.requests.Go(func() {
		defer r.steering.Unlock()
		var all []event.Change
		look(func(run *live.Run) { all = changes(run) })
		for _, c := range all {
			err := r.client.Control(ctx, r.id, types.Control{What: c.What, Class: c.Class, Users: c.Users, Rate: c.Rate})
			if err != nil {
				r.view.Show(event.Event{Kind: event.Note, Time: time.Now(), Text: "the load is unchanged: " + err.Error()})
			}
		}
	})
}
