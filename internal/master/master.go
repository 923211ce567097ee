package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Compiler makes executors.
type Compiler interface {
	// Compile builds a source for a platform, telling of its steps. A *CompileError says
	// what is wrong with the source.
	Compile(ctx context.Context, source run.Source, goos, goarch string, step func(text string)) (Built, error)
}

// Built is an executor.
type Built struct {
	Path   string
	SHA256 string   // hexadecimal
	Notes  []string // for the run's report
}

// CompileError is what a compiler says of a source that it refuses.
type CompileError struct {
	Text  string
	Input bool // what was given is no scenario, whatever a compiler would say of it
}

func (e *CompileError) Error() string { return e.Text }

// Options make a master. Store, Bus, Compiler and Dir are needed.
type Options struct {
	Store    Store
	Bus      Bus
	Compiler Compiler
	Dir      string // for logs of runs, blobs that are on their way
	Logger   *slog.Logger

	// Token makes the text of a join token from its id and secret: it knows where the bus
	// is reached.
	Token   func(id, secret string) (string, error)
	Key     string // public, that signs commands
	Cluster string // id

	// Protected are addresses that no run may connect to, with their ports, as entries of
	// an allow.List: the master's own.
	Protected []string

	RunLimit time.Duration // for a run that says nothing else; 0: 24 h
	Times    Times
}

// Master is a master. Make it with New and call Serve once; its other methods may be
// called at once by any goroutine meanwhile.
type Master struct {
	Options
	fleet  *fleet
	intake *intake
	events *events
	logs   *logs
	blobs  *blobs

	wake    chan struct{} // there may be something to run
	started time.Time     // of Serve

	mu      sync.Mutex
	active  *active // the run that is at work; nil: none is
	last    string  // run that was active before, until lastEnd
	lastEnd time.Time
	waiting map[string]string // why runs wait, by id
	ready   bool              // what was there at the start is in order
	rests   bool              // no run begins any more
}

// New makes a master.
func New(o Options) (*Master, error) {
	o.Times = o.Times.withDefaults()
	if o.RunLimit == 0 {
		o.RunLimit = 24 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	logs, err := newLogs(filepath.Join(o.Dir, "logs"))
	if err != nil {
		return nil, fmt.Errorf("make the folder of logs: %w", err)
	}
	blobs, err := newBlobs(filepath.Join(o.Dir, "blobs"))
	if err != nil {
		return nil, fmt.Errorf("make the folder of blobs: %w", err)
	}
	m := &Master{Options: o, events: newEvents(), logs: logs, blobs: blobs, wake: make(chan struct{}, 1), waiting: map[string]string{}}
	m.fleet = newFleet(m)
	if m.intake, err = newIntake(m); err != nil {
		return nil, fmt.Errorf("make the intake: %w", err)
	}
	return m, nil
}

// Serve works until ctx ends, and returns when all that it began has ended. A run that is
// active then goes on on its agents until their leases end.
func (m *Master) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.started = time.Now()
	if err := m.recover(ctx); err != nil {
		return fmt.Errorf("take up where the last master ended: %w", err)
	}
	var wg sync.WaitGroup
	keep := func(what string, f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				m.Logger.Error("the master stops", "because_of", what, "error", err)
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	keep("the intake", m.intake.run)
	keep("joins", func(ctx context.Context) error { return m.Bus.Join(ctx, m.join) })
	keep("beats", func(ctx context.Context) error { return m.Bus.Watch(ctx, m.fleet.beat, m.fleet.gone) })
	keep("deliveries", func(ctx context.Context) error { return m.Bus.Deliveries(ctx, m.intake.take) })
	keep("blobs", func(ctx context.Context) error { return m.Bus.Serve(ctx, m.blobs.open) })
	keep("agents", m.fleet.run)
	keep("the queue", m.work)
	keep("maintenance", m.maintain)
	m.mu.Lock()
	m.ready = true
	m.mu.Unlock()
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// maintain keeps the store in order. It fails when that is broken: what can't be kept
// must not be confirmed to anybody.
func (m *Master) maintain(ctx context.Context) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-look.C:
			if err := m.Store.Broken(); err != nil {
				return err
			}
		case <-tick.C:
			if err := m.Store.Maintain(ctx); err != nil && ctx.Err() == nil {
				m.Logger.Error("maintain the store", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Ready tells whether the master can take and run what is submitted, or why not.
func (m *Master) Ready(ctx context.Context) error {
	m.mu.Lock()
	ready := m.ready
	m.mu.Unlock()
	switch {
	case !ready:
		return errors.New("the master is starting")
	case !m.Bus.Available():
		return errors.New("the bus has no leader")
	}
	_, err := m.Store.Setting(ctx, "ready")
	if err == nil {
		err = m.intake.trouble()
	}
	return err
}

// recover brings in order what an earlier master left: the run that was active is
// cancelled, and what waits goes on waiting.
func (m *Master) recover(ctx context.Context) error {
	all, err := m.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if !o.State.Active() {
			continue
		}
		m.Logger.Warn("a run was active when the last master ended", "run", o.ID, "state", o.State)
		// The result comes first, as it does of all runs: if this master ends between the two,
		// the next one does both again.
		ended := o
		ended.State, ended.Cause = run.Cancelled, causeRestart
		if err := m.intake.interrupt(ctx, &ended); err != nil {
			return err
		}
		if _, err := m.move(ctx, &o, run.Cancelled, causeRestart, "master"); err != nil {
			return err
		}
	}
	return nil
}

const causeRestart = "master restarted"

// kick wakes the queue.
func (m *Master) kick() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// work runs what waits, one run after the other.
func (m *Master) work(ctx context.Context) error {
	again := time.NewTicker(time.Second) // agents come and go
	defer again.Stop()
	for {
		o, err := m.next(ctx)
		if err != nil {
			return err
		}
		if o != nil {
			if err := m.perform(ctx, o); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		select {
		case <-m.wake:
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// next gives the run that is to be performed now: the first of the queue, once there are
// agents for it.
func (m *Master) next(ctx context.Context) (*run.Order, error) {
	m.mu.Lock()
	rests := m.rests
	m.mu.Unlock()
	if rests {
		return nil, nil
	}
	all, err := m.Store.Unfinished(ctx)
	if err != nil || len(all) == 0 {
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	first := &all[0]
	why := ""
	switch chosen, err := m.fleet.choose(first.Options.Agents); {
	case err != nil:
		why = err.Error()
	case len(chosen) == 0:
		why = "no agent is there"
	case len(first.Options.Agents) == 0 && m.settling():
		why = "agents are about to be there"
	}
	m.mu.Lock()
	before := m.waiting[first.ID]
	clear(m.waiting)
	m.waiting[first.ID] = why
	for _, o := range all[1:] {
		m.waiting[o.ID] = "run " + first.ID + " is before it"
	}
	m.mu.Unlock()
	if why != "" {
		if why != before {
			m.Logger.Info("a run waits", "run", first.ID, "why", why)
			m.events.waits(first.ID, why)
		}
		return nil, nil
	}
	return first, nil
}

// settling tells whether agents that were there a moment ago are about to be free, or to
// come back to a master that was begun anew: a run of all agents waits for them.
func (m *Master) settling() bool {
	m.mu.Lock()
	since := m.lastEnd
	m.mu.Unlock()
	if since.Before(m.started) {
		since = m.started
	}
	return time.Since(since) < m.Times.Lost/2 && slices.ContainsFunc(m.fleet.snapshot(), func(w member) bool {
		return w.state == agentBusy || w.state == agentLost && w.beat == nil
	})
}

// Waiting says why a queued run waits; empty: it does not.
func (m *Master) Waiting(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[id]
}

// move changes a run's state in the store, and tells of it.
func (m *Master) move(ctx context.Context, o *run.Order, to run.State, cause, by string) (*run.Order, error) {
	now, err := m.Store.Transition(ctx, o.ID, o.Version, to, cause, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("run %s from %s to %s: %w", o.ID, o.State, to, err)
	}
	m.Logger.Info("run", "run", o.ID, "state", to, "cause", cause, "by", by)
	m.events.state(now)
	return now, nil
}

// platform is what an executor is built for.
type platform struct{ os, arch string }

func platformOf(h *agentpb.Hello) platform { return platform{h.GetOs(), h.GetArch()} }

// private makes a folder that only this user can enter.
func private(dir string) (string, error) { return dir, os.MkdirAll(dir, 0o700) }
