// Package local runs one load on this machine: one executor process, whose batches are
// merged as they come and stored in the history.
//
// It knows no flags, no terminal and no exit statuses: [Run] reports what happens by
// events, a caller changes the run by [Controls], and other processes change it by the
// socket in the run's folder ([Send]).
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// Program is an executor that is ready to be started.
type Program struct {
	Path   string
	Args   []string // after the program's name
	Input  []byte   // of its standard input; nil: empty
	SHA256 string   // of a compiled scenario; for the result
	Notes  []string // for the result
}

// Options describe a run. History, Prepare and Interval are required.
type Options struct {
	History history.History
	Name    string     // of the run
	Config  run.Config // Scenario, Target, Options and Command; Run fills the other fields

	// Prepare returns the executor to start. It is called first, before the run has a
	// folder; its context is canceled when the run is stopped or cancelled. If it returns
	// an error, Run returns that unchanged and nothing is stored.
	Prepare func(context.Context) (Program, error)
	// Parameters are the values for the parameters that the scenario declares. nil: a
	// built-in scenario, which has none.
	Parameters map[string]string
	Env        []string // of the executor, in addition to this process's own

	Duration, Warmup time.Duration // 0: the scenario decides; no warm-up
	Hold             bool          // Duration also keeps the run open when all users are done
	Interval         time.Duration // of the series
	Silent           time.Duration // for how long beyond Interval the executor may send nothing; 0: a minute
	Graceful         time.Duration // longest wait for what is in flight at the end
	Patient          bool          // Graceful is the least: operations in flight may last as long as their own limits
	Seed             uint64
	Thresholds       []threshold.Threshold // in addition to the scenario's own
	Profiles         []*wire.Profile       // that the executor writes
	Once             bool                  // one user of each class, one iteration; no verdict
	OnceIterations   int64                 // of each user with Once; 0: one
	Output           io.Writer             // receives what the scenario prints, as the run's log does; nil: nothing
	Log              *slog.Logger          // receives what Run and the executor do; nil: nothing
	Seen             func(*wire.Seen)      // receives what Once and Log let the executor show; nil: nothing
	Event            func(event.Event)     // receives what happens, by several goroutines; it must return at once; nil: nothing
	Controls         *Controls             // change the run; nil: only its context and the socket do
}

// StorageError is Run's error when the run's folder, its series or its result could not be
// written. If the folder could, the returned result is final anyway.
type StorageError struct {
	What string
	Err  error
}

func (e *StorageError) Error() string { return e.What + ": " + e.Err.Error() }
func (e *StorageError) Unwrap() error { return e.Err }

// Run runs one load and returns its result, which is never nil. It blocks until the executor
// has ended; the end of ctx kills the executor.
//
// If the result's State is final, the run took place and is stored in the history under its
// ID, unless the error wraps a *[StorageError]; the error is then why it failed, nil if it
// finished, and not to be relied on if it was cancelled. If the State is not final, nothing
// was stored, and the error says why: that of Prepare, a *[StorageError], or one that wraps a
// *[run.UsageError].
func Run(ctx context.Context, o Options) (*run.Result, error) {
	r := &load{Options: o, verbose: o.Log != nil, result: &run.Result{Name: o.Name, Config: o.Config}}
	if r.Controls == nil {
		r.Controls = new(Controls)
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	r.Controls.attach(r, abandon)
	err := r.run(ctx)
	return r.result, err
}

// load is one run of this process. Run sets its Controls, Log, verbose and result; run calls
// open, then spec and serve, which need the folder; the process calls plan, batch and seen;
// conclude comes last, and once.
type load struct {
	Options       // Controls and Log are not nil
	verbose  bool // the caller has set Log
	result   *run.Result
	folder   *history.Folder
	tally    *monitor.Tally
	executor *process.Process
	writing  error         // why the last batches are not yet in the folder; the run continues
	written  time.Duration // end of the last batch in the folder, since the load began

	exchanges, remarks int // that Once has shown

	heard atomic.Int64 // messages of the executor since the load began, and 1
}

// run is Run; it fills r.result.
func (r *load) run(ctx context.Context) error {
	program, err := r.Prepare(ctx)
	if err != nil {
		return err
	}
	r.result.Config.Executor, r.result.Notes = program.SHA256, program.Notes
	if err := r.open(); err != nil {
		return err
	}
	r.emit(event.Event{Kind: event.State, State: run.Starting, Run: r.result.ID})
	r.emit(event.Event{Kind: event.Step, Text: "starting the executor"})
	r.Log.Info("run", "id", r.result.ID, "folder", r.folder.Dir(), "executor", program.Path)
	r.executor = process.New(r.spec(program))
	r.tally = monitor.New(monitor.Options{Interval: r.Interval, Once: r.Once, Emit: r.emit, Abort: r.executor.Stop})
	r.tally.Executor(monitor.Host{}, 0)
	r.Controls.begin(r.executor)
	stopServing := r.serve(ctx)
	err = r.listen(ctx)
	stopServing()
	r.Log.Info("the executor has ended", "error", err)
	var wrong *run.UsageError
	if errors.As(err, &wrong) { // nothing has run
		return errors.Join(err, r.folder.Discard())
	}
	return r.conclude(r.explain(err))
}

// emit passes an event on, with its time, to Options.Event. It may be called by several
// goroutines.
func (r *load) emit(e event.Event) {
	if r.Event != nil {
		e.Time = time.Now()
		r.Event(e)
	}
}

// open fills the result's fields that are known before the load, and creates the run's folder
// with it. After an error, a *StorageError, there is no folder and the result has no state.
func (r *load) open() error {
	now := time.Now()
	x := r.result
	x.Format, x.Gobench, x.ID, x.Created, x.State = run.Format, version.Version, run.NewID(now), now, run.Starting
	x.Environment = environment()
	x.Config.Duration, x.Config.Interval, x.Config.GracefulStop, x.Config.Seed = r.Duration.Seconds(), r.Interval.Seconds(), r.Graceful.Seconds(), r.Seed
	x.Metrics, x.Errors, x.Config.Classes = []run.Metric{}, []run.Failure{}, []run.Class{} // arrays, not null, in JSON
	folder, err := r.History.Create(x.ID)
	if err == nil {
		if err = folder.Put(x); err != nil {
			_ = folder.Discard() // the first error is the one to report
		}
	}
	if err != nil {
		x.State = ""
		return &StorageError{"make the run's folder", err}
	}
	r.folder = folder
	return nil
}

// spec describes the executor's process, which calls the methods of r below. Call open before.
func (r *load) spec(p Program) process.Spec {
	output := io.Writer(r.folder.Log)
	if r.Output != nil {
		output = io.MultiWriter(output, r.Output)
	}
	s := process.Spec{Path: p.Path, Args: p.Args, In: p.Input, Env: r.Env, Log: output, Plan: r.plan, Batch: r.batch, Seen: r.seen}
	if r.Parameters != nil {
		s.Env = append(s.Env, paramsEnv(r.Parameters))
		s.Hello = func(h *wire.Hello) error {
			r.result.Config.Parameters = monitor.Params(h)
			return monitor.CheckParams(h, r.Parameters)
		}
	}
	s.Started = func() {
		r.result.Start = time.Now()
		r.Log.Info("the load begins")
		r.heard.Add(1)
		r.state(run.Running)
	}
	s.Stopping = func(limit time.Duration) {
		r.tally.LoadOver()
		r.Log.Info("the load is over, what is in flight drains")
		r.state(run.Stopping)
		r.emit(event.OfDrain(limit))
	}
	return s
}

// batch merges and stores what the executor counted. The error is that of merging; one of
// storing is recorded in r.writing, until a later batch can be stored, and the folder then has
// all of them.
func (r *load) batch(b *wire.Batch) error {
	r.heard.Add(1)
	if r.verbose {
		r.Log.Info("batch", "number", b.Seq, "from", time.Duration(b.FromNs), "to", time.Duration(b.ToNs), "bytes", proto.Size(b),
			"new_metrics", len(b.Declared), "failures", failures(b), "last", b.Final != nil)
	}
	if err := r.tally.Add(0, b); err != nil {
		return err
	}
	if r.writing = r.folder.Append(0, b); r.writing == nil {
		r.written = time.Duration(b.ToNs)
	}
	return nil
}

// failures returns the number of failures in a batch.
func failures(b *wire.Batch) (n int64) {
	for _, f := range b.Failures {
		n += f.Count
	}
	return n
}

// state stores and reports the run's new state. An error of storing is only logged: conclude
// stores the result again.
func (r *load) state(s run.State) {
	r.emit(event.Event{Kind: event.State, State: s, Run: r.result.ID})
	r.result.State = s
	if err := r.folder.Put(r.result); err != nil {
		r.Log.Warn("store the state", "error", err)
	}
}

// conclude makes the result final, stores it and closes the folder. It returns failed, joined
// with a *StorageError if the result or some batches could not be stored; nil if neither failed.
func (r *load) conclude(failed error) error {
	x := r.result
	by, cancelled := r.Controls.Ended()
	cancelled = cancelled || errors.Is(failed, process.ErrCancelled) || errors.Is(failed, context.Canceled)
	if signal := r.executor.Signal(); signal != "" && failed == nil && by == "" {
		by = signal + " to the executor"
		text := "the load ended early: the executor received " + signal + ", which gobench did not send"
		x.Notes = append(x.Notes, text)
		r.tally.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: text, Windows: 1, Worst: r.tally.Merger.Load().Seconds(),
			Advice: "look for what ends processes on this machine, as earlyoom does, and run it again"})
	}
	for _, class := range r.Controls.rescaled() {
		r.tally.Rescaled(class)
	}
	x.State, x.Cause = run.Ending{Cancelled: cancelled, By: by, Err: failed, Threshold: r.tally.Aborted()}.Conclude()
	r.tally.Finish(x)
	if r.Once {
		r.noteOnce()
	}
	var dead *process.DeadError
	if errors.As(failed, &dead) && !x.Start.IsZero() {
		x.Notes = append(x.Notes, lastOutput(dead)...)
	}
	var err error
	if r.writing != nil {
		if r.writing = r.folder.Flush(); r.writing != nil {
			x.Complete = false
			x.Missing = append(x.Missing, fmt.Sprintf("the series after %v, as it could not be stored (the totals have all of it): %v", r.written, r.writing))
			err = &StorageError{"store the series", r.writing}
		}
	}
	if failed := r.folder.Put(x); failed != nil {
		x.Notes = append(x.Notes, fmt.Sprintf("the result could not be stored: %v", failed))
		err = &StorageError{"store the result", failed}
	}
	_ = r.folder.Close() // all that counts is written and synced by Put
	if failed == nil {
		return err
	}
	if err != nil {
		failed = errors.Join(failed, err)
	}
	return failed
}
