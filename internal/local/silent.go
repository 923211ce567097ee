package local

import (
	"context"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run/units"
)

// For how long beyond its interval an executor may send nothing: then a warning follows, and after
// defaultSilent its end, as something has stopped it, or it is stuck.
const (
	silentWarning = 5 * time.Second
	defaultSilent = time.Minute
)

// errSilent is the cause of the end of the context of an executor that sent nothing for too long.
type errSilent struct{ after time.Duration }

func (e errSilent) Error() string {
	return fmt.Sprintf("sent nothing for %s, stopped or stuck, and was killed", units.Seconds(e.after.Seconds()))
}

// listen runs the executor until it ends, and kills it if it sends nothing for too long while the
// load runs: no duration would end such a run. The error is that of Process.Run.
func (r *load) listen(ctx context.Context) error {
	of, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.watch(over, end)
	}()
	err := r.executor.Run(of)
	close(over)
	<-done
	end(nil)
	if silent, ok := context.Cause(of).(errSilent); ok && err != nil && ctx.Err() == nil {
		return &process.DeadError{How: silent.Error(), Cause: process.CauseStuck}
	}
	return err
}

// watch warns while the executor of a load that runs sends nothing, and ends it at last, until over
// is closed.
func (r *load) watch(over <-chan struct{}, end context.CancelCauseFunc) {
	limit := r.Silent
	if limit == 0 {
		limit = defaultSilent
	}
	warning := min(silentWarning, limit/2)
	ticker := time.NewTicker(warning / 5)
	defer ticker.Stop()
	last, since := int64(0), time.Time{}
	warnAt := warning
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		n := r.heard.Load()
		if n != last || n == 0 { // 0: the load has not begun
			last, since, warnAt = n, time.Now(), warning
			continue
		}
		switch silent := time.Since(since) - r.Interval; {
		case silent >= limit:
			end(errSilent{silent + r.Interval})
			return
		case silent >= warnAt:
			r.emit(event.Event{Kind: event.Warning, Text: fmt.Sprintf("the executor (process %d) has sent nothing for %s: it is stopped, or stuck", r.executor.Pid(), units.Seconds((silent + r.Interval).Seconds()))})
			warnAt = 2 * silent
		}
	}
}
