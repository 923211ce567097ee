package cli

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
)

// queued stores the run's id. If the user asked to end the run before the master had returned
// it, queued ends the run now, which may take 10 s. Call it once.
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
		r.emit(event.Event{Kind: event.Warning, Text: "could not " + what + " the run: " + err.Error()})
	}
}

// signal handles a Ctrl-C or SIGTERM: the first stops the run, the second cancels it, and a
// third leaves it to the master; before the master has returned the run's id, the first takes
// effect then, and a second one leaves. It does not wait for the master: r.requests does.
func (r *remoteRun) signal(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends++
	switch n, queued := r.ends, r.id != ""; {
	case n > 2 || n == 2 && !queued:
		r.leave()
	case queued:
		r.requests.Go(func() { r.end(ctx, n == 2) })
	}
}

// key stops the run for the key s: at once or, before the master has returned the run's id,
// then. The next Ctrl-C is the second. It does not wait for the master: r.requests does.
func (r *remoteRun) key(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = max(r.ends, 1)
	if r.id != "" {
		r.requests.Go(func() { r.end(ctx, false) })
	}
}
