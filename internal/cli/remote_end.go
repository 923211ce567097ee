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
	"github.com/gobench-io/gobench/internal/show/live"
)

// begun notes the run's id, and ends the run if somebody has wished that meanwhile.
func (r *remoteRun) begun(ctx context.Context, id string) {
	r.mu.Lock()
	r.id = id
	ends := r.ends
	r.mu.Unlock()
	if ends > 0 {
		r.end(ctx, ends > 1)
	}
}

// end stops or cancels the run.
func (r *remoteRun) end(ctx context.Context, cancel bool) {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	ask := r.client.Stop
	if cancel {
		ask = r.client.Cancel
	}
	if err := ask(ctx, r.id); err != nil && !client.IsCode(err, types.Conflict) { // else it is over
		r.view.Show(event.Event{Kind: event.Warning, Time: time.Now(), Text: "the master could not be told: " + err.Error()})
	}
}

// ending is what a person's next wish to end the run comes to.
func (r *remoteRun) ending() (n int, begun bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends++
	return r.ends, r.id != ""
}

// signals lets a first Ctrl-C (or SIGTERM) stop the run, a second cancel it, and a third
// leave it to the master. The end of the terminal leaves it to the master, too. Call the
// function it returns when the run is over. Until then a reader of ours that is gone ends
// nothing.
func (r *remoteRun) signals(ctx context.Context) func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // writes then fail, and no more
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ch:
			case <-done:
				return
			}
			switch n, begun := r.ending(); {
			case n > 2 || n == 2 && !begun:
				r.giveUp()
			case begun:
				r.errands.Go(func() { r.end(ctx, n == 2) })
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

// press does what a key of the terminal asks for.
func (r *remoteRun) press(ctx context.Context) live.Press {
	return func(key byte, look func(func(*live.Run))) {
		switch key {
		case 'q', 'Q': // whatever Ctrl-C does now
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
		case 's', 'S':
			r.errands.Go(func() { r.end(ctx, false) })
		default:
			if changes := changesOf(key); changes != nil {
				r.steer(ctx, look, changes)
			}
		}
	}
}

// steer changes the load as changes says, unless the change before is still under way.
func (r *remoteRun) steer(ctx context.Context, look func(func(*live.Run)), changes func(*live.Run) []event.Change) {
	if !r.loading.Load() || !r.steering.TryLock() {
		return
	}
	r.errands.Go(func() {
		defer r.steering.Unlock()
		var all []event.Change
		look(func(run *live.Run) { all = changes(run) })
		for _, c := range all {
			err := r.client.Control(ctx, r.id, types.Control{What: c.What, Class: c.Class, Users: c.Users, Rate: c.Rate})
			if err != nil {
				r.view.Show(event.Event{Kind: event.Note, Time: time.Now(), Text: "the load stays as it is: " + err.Error()})
			}
		}
	})
}
