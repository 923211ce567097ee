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

// Compiler builds executors. A master calls it for one run at a time.
type Compiler interface {
	// Compile builds source for a platform and calls step with a line of text for each of
	// its steps. It returns a *CompileError if the source is at fault.
	Compile(ctx context.Context, source run.Source, goos, goarch string, step func(text string)) (Built, error)
}

// Built is an executor.
type Built struct {
	Path   string
	SHA256 string   // hexadecimal
	Notes  []string // for the run's report
}

// CompileError is a compiler's message about a source that it refuses.
type CompileError struct {
	Text  string
	Input bool // the source is not a scenario at all
}

func (e *CompileError) Error() string { return e.Text }

// Options are the options of New. Store, Bus, Compiler and Dir are required; the caller
// closes Store and Bus after Serve has returned.
type Options struct {
	Store    Store
	Bus      Bus
	Compiler Compiler
	Dir      string // holds the logs of runs, and blobs that agents fetch
	Logger   *slog.Logger

	// Token returns the text of a join token with this id and secret. The text includes the
	// addresses of the bus.
	Token   func(id, secret string) (string, error)
	Key     string // public key of the master, by which agents verify commands
	Cluster string // id of the master's data

	// Protected are the master's own addresses with their ports, as entries of an
	// allowlist.List. No run may connect to them.
	Protected []string

	RunLimit time.Duration // longest duration of a run, and the default limit; 0 means 24 h
	Times    Times
}

// Master is a master. Create it with New and call Serve once. The other methods are safe for
// concurrent use while Serve runs. Their errors wrap run.ErrNotFound for a run, an
// application or an agent that does not exist; other errors are described with each method,
// or are the store's.
type Master struct {
	Options
	fleet  *fleet
	intake *intake
	events *events
	logs   *logs
	blobs  *blobs

	wake    chan struct{} // holds a value if the queue may have a run to start
	started time.Time     // when Serve was called

	mu       sync.Mutex
	active   *active // the active run, or nil
	last     string  // id of the previous active run, which ended at lastEnd
	lastEnd  time.Time
	waiting  waiting // of the first queued run
	ready    bool    // runs that a previous process left active are settled
	shutdown bool    // no further run starts
}

// waiting is the first queued run and why it waits, or an empty text if it need not.
type waiting struct{ run, why string }

// New returns a master, which does nothing before Serve. It creates the folders that it
// needs in Options.Dir, which remain if it returns an error. There is nothing to close.
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
	m := &Master{Options: o, events: newEvents(uint64(time.Now().UnixMicro())), logs: logs, blobs: blobs, wake: make(chan struct{}, 1)}
	m.fleet = newFleet(m)
	if m.intake, err = newIntake(m); err != nil {
		return nil, fmt.Errorf("make the intake: %w", err)
	}
	return m, nil
}

// Serve runs the master until ctx ends or it can no longer store data, and returns after all
// its goroutines. Load of a run that is active then continues on the agents until their
// leases expire; see Shutdown. It first settles what a previous process left, and returns an
// error if that fails. Later it returns nil if ctx was cancelled without a cause, and
// otherwise the cause or the error of the part that failed.
func (m *Master) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.started = time.Now()
	if err := m.recover(ctx); err != nil {
		return fmt.Errorf("take up where the last master ended: %w", err)
	}
	var wg sync.WaitGroup
	start := func(what string, f func(context.Context) error) {
		wg.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				m.Logger.Error("the master stops", "because_of", what, "error", err)
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	start("the intake", m.intake.run)
	start("joins", func(ctx context.Context) error { return m.Bus.Join(ctx, m.join) })
	start("beats", func(ctx context.Context) error { return m.Bus.Watch(ctx, m.fleet.beat, m.fleet.gone) })
	start("deliveries", func(ctx context.Context) error { return m.Bus.Deliveries(ctx, m.intake.take) })
	start("blobs", func(ctx context.Context) error { return m.Bus.Serve(ctx, m.blobs.open) })
	start("agents", m.fleet.run)
	start("the queue", m.work)
	start("maintenance", m.maintain)
	m.mu.Lock()
	m.ready = true
	m.mu.Unlock()
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// maintain calls Store.Maintain and sweep every minute and logs their errors. Every second it
// checks the store, and returns the store's error once that is broken: nothing may be acknowledged
// then. It returns nil when ctx ends.
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
			if err := m.sweep(ctx); err != nil && ctx.Err() == nil {
				m.Logger.Error("delete what is left of deleted runs", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Ready returns nil if the master can accept and execute runs. Otherwise the error's text is
// the reason: it is starting, the bus has no leader, or the store can't be read or written.
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

// recover settles what a previous process left: the run that was active becomes cancelled,
// with the result of what was merged; queued runs stay queued. Temporary files are deleted. If it returns an error, it
// may be called again by the next process. It must be called before the intake runs.
func (m *Master) recover(ctx context.Context) error {
	if err := m.removeTemporary(); err != nil {
		return err
	}
	all, err := m.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if !o.State.Active() {
			continue
		}
		m.Logger.Warn("a run was active when the last master ended", "run", o.ID, "state", o.State)
		// The result is stored before the state, as for all runs: if this process ends between
		// the two, the next one repeats both.
		ended := o
		ended.State, ended.Cause = run.Cancelled, causeRestart
		r, err := m.intake.interrupt(ctx, &ended)
		if err != nil {
			return err
		}
		if _, err := m.move(ctx, &o, run.Cancelled, causeRestart, byMaster); err != nil {
			return err
		}
		m.events.emit(o.ID, m.endOf(r))
	}
	return nil
}

const causeRestart = "master restarted"

// wakeQueue lets work look for a run to start. It does not block.
func (m *Master) wakeQueue() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// work performs queued runs, one at a time, until ctx ends; it returns nil then, or the error
// that the end led to in perform. Another error means that the master can't continue.
func (m *Master) work(ctx context.Context) error {
	again := time.NewTicker(time.Second) // agents connect and disconnect
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

// next returns the first queued run if the agents for it are ready, and otherwise nil: also
// if the queue is empty, after Shutdown, or when ctx ends. A later run never overtakes the
// first. It updates m.waiting, and emits an event if the reason for which the first waits has
// changed. The error is that of retry.
func (m *Master) next(ctx context.Context) (*run.Order, error) {
	m.mu.Lock()
	shutdown := m.shutdown
	m.mu.Unlock()
	if shutdown {
		return nil, nil
	}
	var all []run.Order
	err := m.retry(ctx, "read the queue", func() (err error) { all, err = m.Store.Unfinished(ctx); return err })
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
	now := waiting{first.ID, why}
	m.mu.Lock()
	changed := now != m.waiting
	m.waiting = now
	m.mu.Unlock()
	if why != "" {
		if changed {
			m.Logger.Info("a run waits", "run", first.ID, "why", why)
			m.events.waits(first.ID, why)
		}
		return nil, nil
	}
	return first, nil
}

// settling reports whether agents may become ready soon: for half of Times.Lost after a run,
// those that are still busy, or after a restart of the master, those that have not
// reconnected. A run on all agents waits for them.
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

// move changes a run's state in the store, emits an event and returns the changed run; o
// stays as it is. The error wraps run.ErrConflict if o is not the newest version or may not
// change to this state; nothing has changed then.
func (m *Master) move(ctx context.Context, o *run.Order, to run.State, cause, by string) (*run.Order, error) {
	now, err := m.Store.Transition(ctx, o.ID, o.Version, to, cause, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("run %s from %s to %s: %w", o.ID, o.State, to, err)
	}
	m.Logger.Info("run", "run", o.ID, "state", to, "cause", cause, "by", by)
	m.events.state(now)
	return now, nil
}

// platform is the operating system and architecture of an executor.
type platform struct{ os, arch string }

func platformOf(h *agentpb.Hello) platform { return platform{h.GetOs(), h.GetArch()} }

// private creates a folder with mode 0700, and those above it, and returns its path, also
// with an error.
func private(dir string) (string, error) { return dir, os.MkdirAll(dir, 0o700) }
