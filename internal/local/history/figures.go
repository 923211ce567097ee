package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// LoadFigures is Load, but if the result has no metrics and the run is not starting, as when
// gobench ended before the run did, its figures are computed again from the stored batches, as
// far as there are any; an active run's are those so far, without a verdict. What is stored
// stays as it is.
func (h History) LoadFigures(id string) (*run.Result, error) {
	r, err := h.Load(id)
	if err != nil || len(r.Metrics) > 0 || r.State == run.Starting {
		return r, err
	}
	missing, active := r.Missing, !r.State.Final()
	_, err = h.merge(r, r, func(run.Interval) error { return nil })
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return nil, err
	}
	if active {
		r.Complete, r.Missing = true, nil // what is missing is not yet known
		return r, nil
	}
	r.Missing = append(missing, r.Missing...)
	r.Complete = r.Complete && len(missing) == 0
	return r, nil
}

// Series calls yield with each interval of r, computed again from its batches, in order. An
// error of yield ends it and is returned. It does not change r. The error wraps
// run.ErrNotFound if the run has no batches.
func (h History) Series(r *run.Result, yield func(run.Interval) error) error {
	_, err := h.merge(r, new(run.Result), yield)
	return err
}

// Check is a check for Import: it returns an error that wraps run.ErrArchive if the result of
// run id, in staged, is not what its batches add up to.
func Check(staged History, id string) error {
	r, err := staged.Load(id)
	if err != nil {
		return err
	}
	merger, err := staged.merge(r, new(run.Result), func(run.Interval) error { return nil })
	if err != nil {
		return fmt.Errorf("%w: %w", run.ErrArchive, err)
	}
	return merger.Agrees(r)
}

// merge merges the batches of r, whose ID must be valid, again, fills into with their figures
// and calls yield with each interval, until it returns an error. Also after an error, into has
// the figures of the batches before it. r and into may be the same.
func (h History) merge(r, into *run.Result, yield func(run.Interval) error) (*merge.Merger, error) {
	var failed error
	interval := time.Duration(r.Config.Interval * float64(time.Second))
	t := monitor.New(monitor.Options{Interval: interval, Emit: func(e event.Event) {
		if failed == nil && e.Kind == event.Interval {
			failed = yield(*e.Interval)
		}
	}})
	t.Executor(monitor.Host{}, 0)
	err := h.Batches(r.ID, func(executor int, b *wire.Batch) error {
		return errors.Join(t.Add(executor, b), failed)
	})
	if r.State.Final() {
		t.Finish(into)
	} else { // there is no verdict yet
		t.Summarize(into)
	}
	return t.Merger, errors.Join(err, failed)
}
