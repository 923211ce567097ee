package master

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
)

// Submit queues a run of an application, or of a source, which is stored as a new
// application, and returns the queued run at once. The error is a *run.InputError if an
// option is invalid or an agent is unknown, and run.ErrNotFound if the application is. If
// the run can't be stored, a new application remains.
func (m *Master) Submit(ctx context.Context, s run.Submission) (*run.Order, error) {
	if err := m.accept(&s.Options); err != nil {
		return nil, err
	}
	app, err := m.application(ctx, &s)
	if err != nil {
		return nil, err
	}
	return m.queue(ctx, &run.Order{Application: app.ID, Name: app.Name, Owner: s.Owner, Options: s.Options}, app.Source)
}

// Rerun queues a run with the source and the options of another one, also if its application
// has changed since. The error is run.ErrConflict if the run was imported: it has no source.
func (m *Master) Rerun(ctx context.Context, id, owner string) (*run.Order, error) {
	o, err := m.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	source, err := m.Store.RunSource(ctx, id)
	if err != nil {
		return nil, err
	}
	if source.Scenario == "" {
		return nil, fmt.Errorf("%w: run %s was imported, without its scenario", run.ErrConflict, id)
	}
	if err := m.accept(&o.Options); err != nil {
		return nil, err
	}
	return m.queue(ctx, &run.Order{Application: o.Application, Name: o.Name, Owner: owner, Options: o.Options}, source)
}

// accept returns a *run.InputError if the options are not valid here.
func (m *Master) accept(o *run.Options) error {
	if err := check(o, m.RunLimit); err != nil {
		return err
	}
	return m.fleet.known(o)
}

// queue stores o as a new queued run, with a new ID, emits its state, and returns o, in which
// ID, State and Created are set also if it fails. It does not check the options: call accept
// before.
func (m *Master) queue(ctx context.Context, o *run.Order, source run.Source) (*run.Order, error) {
	now := time.Now()
	o.ID, o.State, o.Created = run.NewID(now), run.Queued, now.UTC()
	if err := m.Store.CreateRun(ctx, o, source); err != nil {
		return nil, err
	}
	m.Logger.Info("a run is submitted", "run", o.ID, "name", o.Name, "by", o.Owner)
	m.events.state(o)
	m.wakeQueue()
	return o, nil
}

// application returns the application of a submission with its source, or stores the
// submission's source as a new one. The error is run.ErrNotFound for an unknown id, and a
// *run.InputError if there is neither an id nor a scenario.
func (m *Master) application(ctx context.Context, s *run.Submission) (*run.Application, error) {
	if s.Application != "" {
		return m.Store.Application(ctx, s.Application)
	}
	if s.Source.Scenario == "" {
		return nil, &run.InputError{Field: "source.scenario", Text: "it is empty: want the text of a scenario, or name an application"}
	}
	now := time.Now().UTC()
	a := &run.Application{ID: newID("p"), Name: s.Name, Tags: s.Tags, Owner: s.Owner, Created: now, Changed: now, Source: s.Source}
	if a.Tags == nil {
		a.Tags = []string{}
	}
	return a, m.PutApplication(ctx, a)
}

// check returns a *run.InputError for the first invalid option, or nil. limit is the maximum
// of durations.
func check(o *run.Options, limit time.Duration) error {
	wrong := func(field, format string, args ...any) error {
		return &run.InputError{Field: "options." + field, Text: fmt.Sprintf(format, args...)}
	}
	times := []struct {
		field     string
		value     float64
		low, high float64
	}{
		{"duration_seconds", o.Duration, 0.001, limit.Seconds()},
		{"warmup_seconds", o.Warmup, 0.001, limit.Seconds()},
		{"interval_seconds", o.Interval, 0.1, 60},
		{"graceful_stop_seconds", o.GracefulStop, 0.001, 3600},
		{"limit_seconds", o.Limit, 0.1, limit.Seconds()},
		{"guards.p99_seconds", o.Guards.P99, 0.000001, 3600},
		{"guards.window_seconds", o.Guards.Window, 1, 60},
		{"guards.error_rate", o.Guards.ErrorRate, 0.000001, 1},
		{"guards.max_rate", o.Guards.Rate, 0.001, 1e9},
	}
	for _, t := range times {
		if math.IsNaN(t.value) || t.value != 0 && (t.value < t.low || t.value > t.high) {
			return wrong(t.field, "it is %v: want %v to %v, or 0 for the usual", t.value, t.low, t.high)
		}
	}
	if o.Lost != "" && !slices.Contains([]run.LostPolicy{run.LostContinue, run.LostStop, run.LostRebalance}, o.Lost) {
		return wrong("on_lost", "it is %q: want continue, stop or rebalance", o.Lost)
	}
	switch {
	case o.Split != "" && !slices.Contains(run.Splits, o.Split):
		return wrong("split", "it is %q: want one of %v", o.Split, run.Splits)
	case o.Split != "" && o.Split != run.SplitEven && len(o.Weights) > 0:
		return wrong("split", "it is %q beside weights, which are shares too: leave one of them out", o.Split)
	}
	for name, w := range o.Weights {
		if w < 0 || w > 1_000_000 {
			return wrong("weights."+name, "it is %d: want 0 to 1,000,000", w)
		}
	}
	if o.Seed > 1<<53 {
		return wrong("seed", "it is %d: want a number below 2^53", o.Seed)
	}
	if g := o.Guards; (g.ErrorRate > 0 || g.P99 > 0 || g.Rate > 0) && o.Interval > 1 {
		return wrong("interval_seconds", "it is %v: guards look at each interval, and 1 is the most with them", o.Interval)
	}
	if len(o.Guards.Targets) > maxTargets {
		return wrong("guards.targets", "there are %d: at most %d", len(o.Guards.Targets), maxTargets)
	}
	for i, text := range o.Guards.Targets {
		if _, err := allowlist.New([]string{text}, nil); err != nil {
			return wrong(fmt.Sprintf("guards.targets.%d", i), "%v", err)
		}
	}
	for i, text := range o.Thresholds {
		if _, err := threshold.ParseFor(text, intervalOf(o)); err != nil {
			return wrong(fmt.Sprintf("thresholds.%d", i), "%v", err)
		}
	}
	return nil
}

// maxTargets is the maximum number of targets: they are passed in the executors' environment.
const maxTargets = 1000

// refusedTargets are what no run may connect to unless its targets list them: link-local
// addresses, where clouds serve a host's metadata, and Unix sockets of the agents' hosts.
var refusedTargets = []string{"169.254.0.0/16", "fe80::/10", "unix:"}

// targets returns where a run may connect to: the targets of its guards, or all if it lists
// none. It always denies the master's own addresses, and refusedTargets unless they are
// listed. The error names an invalid target.
func (m *Master) targets(o *run.Options) (*allowlist.List, error) {
	return allowlist.New(o.Guards.Targets, append(slices.Clone(refusedTargets), m.Protected...))
}

// Run returns a run as it is stored now. The error is run.ErrNotFound also for a text that
// is no id.
func (m *Master) Run(ctx context.Context, id string) (*run.Order, error) {
	if !run.ValidID(id) {
		return nil, fmt.Errorf("%w: %q", run.ErrNotFound, id)
	}
	return m.Store.Run(ctx, id)
}

// Runs returns a page of runs, the newest first, and the cursor of the next page, "" after
// the last. The error is a *run.InputError if the filter is invalid.
func (m *Master) Runs(ctx context.Context, f run.Filter) ([]run.Order, string, error) {
	return m.Store.Runs(ctx, f)
}

// Transitions returns the changes of a run's state, the oldest first. The first is its
// creation, or the import of an imported run.
func (m *Master) Transitions(ctx context.Context, id string) ([]run.Transition, error) {
	if _, err := m.Run(ctx, id); err != nil {
		return nil, err
	}
	return m.Store.Transitions(ctx, id)
}

// Stop requests that a run's load ends after the requests in flight; without load the run is
// cancelled. It does not wait for the end, and a second call changes nothing. by is the name
// of the user who stops it, for the run's cause. The error is run.ErrConflict if the run is
// over.
func (m *Master) Stop(ctx context.Context, id, by string) error { return m.end(ctx, id, by, false) }

// Cancel requests that a run ends at once, in any state. A queued run is final when it
// returns; for the active one it does not wait. A second call changes nothing. The error is
// run.ErrConflict if the run is over.
func (m *Master) Cancel(ctx context.Context, id, by string) error { return m.end(ctx, id, by, true) }

// end does what Stop and Cancel have in common. It returns nil also if the run ends by
// itself meanwhile. A queued run becomes cancelled with an empty result; if only that can't
// be stored, it is cancelled anyway.
func (m *Master) end(ctx context.Context, id, by string, cancel bool) error {
	for {
		o, err := m.Run(ctx, id)
		if err != nil {
			return err
		}
		if o.State.Final() {
			return fmt.Errorf("%w: run %s is %s already", run.ErrConflict, id, o.State)
		}
		if o.State == run.Queued {
			now, err := m.move(ctx, o, run.Cancelled, "cancelled by "+by, by)
			if errors.Is(err, run.ErrConflict) {
				continue // it was just started
			}
			if err != nil {
				return err
			}
			r := newResult(now)
			m.wakeQueue()
			err = m.Store.PutResult(ctx, r) // before the event, whose readers ask for the result
			m.events.emit(id, m.endOf(r))
			return err
		}
		m.mu.Lock()
		a := m.active
		m.mu.Unlock()
		if a != nil && a.id == id {
			a.end(cancel, by)
		}
		return nil
	}
}

// StopAll requests a cancel of the active run and, if queued is true, of all queued runs. It
// does not wait for the end of the active run. It returns the ids of these runs, the newest
// first, nil for none; runs that ended by themselves meanwhile are included. The first error
// ends it; the ids are those before it.
func (m *Master) StopAll(ctx context.Context, queued bool, by string) (ids []string, err error) {
	all, err := m.Store.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all) // so that no queued run starts meanwhile
	for _, o := range all {
		if o.State == run.Queued && !queued {
			continue
		}
		if err := m.Cancel(ctx, o.ID, by); err != nil && !errors.Is(err, run.ErrConflict) {
			return ids, err
		}
		ids = append(ids, o.ID)
	}
	return ids, nil
}

// Shutdown starts no further runs, cancels the active one, and waits until that is final; it
// returns nil then, or at once if no run is active. If ctx ends first, it returns the
// context's cause, and the run is still being cancelled. Queued runs stay queued. End the
// context of Serve after it: it can't be undone.
func (m *Master) Shutdown(ctx context.Context, by string) error {
	m.mu.Lock()
	m.shutdown = true
	a := m.active
	m.mu.Unlock()
	if a == nil {
		return nil
	}
	if err := m.Cancel(ctx, a.id, by); err != nil && !errors.Is(err, run.ErrConflict) {
		return err
	}
	select {
	case <-a.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Delete deletes a run with all its data. A queued run is cancelled first. The error is
// run.ErrConflict if the run is active. If the output of its executors can't be deleted, it
// returns the error after the run itself is gone.
func (m *Master) Delete(ctx context.Context, id string) error {
	o, err := m.Run(ctx, id)
	if err != nil {
		return err
	}
	if o.State == run.Queued {
		if err := m.Cancel(ctx, id, "its deletion"); err != nil {
			return err
		}
	} else if !o.State.Final() || m.atWork(id) {
		return fmt.Errorf("%w: run %s is %s: cancel it first", run.ErrConflict, id, o.State)
	}
	if err := m.Store.DeleteRun(ctx, id); err != nil {
		return err
	}
	if err := m.intake.with(ctx, func() { delete(m.intake.runs, id) }); err != nil {
		return err
	}
	return m.logs.remove(id)
}

// Application returns an application with its source. The error is run.ErrNotFound for an
// unknown id.
func (m *Master) Application(ctx context.Context, id string) (*run.Application, error) {
	return m.Store.Application(ctx, id)
}

// Applications returns a page of applications without their sources, the newest first, and
// the cursor of the next page, "" after the last. The error is a *run.InputError if the
// filter is invalid.
func (m *Master) Applications(ctx context.Context, f run.Filter) ([]run.Application, string, error) {
	return m.Store.Applications(ctx, f)
}

// PutApplication stores a new application (Version 0) or a changed one. It sets Changed and
// Version, without an ID also ID and Created, and without a Name scenario.go. The error is
// run.ErrConflict if the stored version is another, and run.ErrNotFound if a changed one is
// unknown; Version is unchanged then.
func (m *Master) PutApplication(ctx context.Context, a *run.Application) error {
	if a.Name == "" {
		a.Name = "scenario.go"
	}
	if a.ID == "" {
		a.ID, a.Created = newID("p"), time.Now().UTC()
	}
	a.Changed = time.Now().UTC()
	return m.Store.PutApplication(ctx, a)
}

// DeleteApplication deletes an application with its runs. The error is run.ErrConflict if
// one of them is not final; nothing is deleted then. If the output of their executors can't be
// deleted, it returns the error after the application is gone.
func (m *Master) DeleteApplication(ctx context.Context, id string) error {
	if err := m.Store.DeleteApplication(ctx, id); err != nil {
		return err
	}
	return m.sweep(ctx)
}

// Control changes the load of the active run on all its agents, and returns once they have
// done so. The error is run.ErrConflict if the run has no load yet or is not active, and a
// *run.InputError if its load can't be changed like that. After another error some agents
// may have changed their load.
func (m *Master) Control(ctx context.Context, id string, c event.Change) error {
	if _, err := m.Run(ctx, id); err != nil {
		return err
	}
	m.mu.Lock()
	a := m.active
	m.mu.Unlock()
	if a == nil || a.id != id {
		return fmt.Errorf("%w: run %s makes no load", run.ErrConflict, id)
	}
	return a.control(ctx, c)
}
