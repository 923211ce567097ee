package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/run/version"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
	"github.com/gobench-io/gobench/internal/wire"
)

// localRun is a run on this machine: one executor, its batches merged as they come,
// kept in the history and shown as they go.
type localRun struct {
	*app
	load   loadFlags
	spec   process.Spec // Path, Args, Env
	hold   bool         // --duration also holds the run open
	result *run.Result

	history  history.History
	folder   *history.Folder
	tally    *monitor.Tally
	executor *process.Process            // guarded by mu until it runs
	prepare  func(context.Context) error // makes what spec runs, before all else; nil: it is there
	view     view
	unkept   error // why the history does not have the result
	writing  error // the first failure to write the history; the run goes on

	log       *slog.Logger // of --verbose
	exchanges int          // shown by --once
	remarks   int          // shown by it, checks and steps

	loading  atomic.Bool // the load goes on
	steering sync.Mutex  // held while a key changes the load
	steers   sync.WaitGroup

	mu     sync.Mutex
	asked  ending // guarded by mu
	giveUp func() // ends what comes before the executor
}

// run runs it, reports, and returns the exit status as an error.
func (l *localRun) run(ctx context.Context) error {
	slim()
	outputs, err := openOutputs(l.load.out, l.stdout)
	if err != nil {
		return err
	}
	defer outputs.discard()
	if err := l.load.inside.makeFiles(); err != nil {
		return err
	}
	ctx, l.giveUp = context.WithCancel(ctx)
	defer l.giveUp()
	deaf := sync.OnceFunc(l.signals())
	defer deaf()
	l.view = l.app.view(&l.load, live.Run{Name: l.result.Name, Target: l.result.Config.Target}, l.press)
	defer l.view.clear() // a panic too gives the terminal back
	l.log = l.load.inside.logger(writerFunc(l.logLines))
	err = l.perform(ctx)
	l.view.clear()
	deaf()
	if l.result.State.Final() {
		defer l.startWarming()
		defer l.folder.Close()
		if failed := l.write(outputs); failed != nil {
			err = failed
		} else {
			err = l.status(err)
		}
	}
	l.view.close(l.endOf(err))
	return err
}

// perform does all that comes before the report. A result that is final has run.
func (l *localRun) perform(ctx context.Context) error {
	if l.prepare != nil {
		if err := l.prepare(ctx); err != nil {
			return err
		}
	}
	if err := l.open(); err != nil {
		return err
	}
	l.tell(event.Event{Kind: event.State, State: run.Starting, Run: l.result.ID})
	l.tell(event.Event{Kind: event.Step, Text: "starting the executor"})
	l.log.Info("run", "id", l.result.ID, "folder", l.folder.Dir(), "executor", l.spec.Path)
	l.tally = monitor.New(monitor.Options{Interval: l.load.interval, Once: l.load.inside.once, Tell: l.tellTally, Abort: func() { l.executor.Stop() }})
	l.tally.Executor("", 0)
	l.spec.Log = io.MultiWriter(l.folder.Log, l.view.scenario())
	l.spec.Plan, l.spec.Batch, l.spec.Seen = l.plan, l.batch, l.seen
	l.spec.Started = func() {
		l.result.Start = time.Now()
		l.log.Info("the load begins")
		l.loading.Store(true)
		l.state(run.Running)
	}
	l.spec.Stopping = func() {
		l.loading.Store(false)
		l.tally.LoadOver()
		l.log.Info("the load is over, what is in flight drains")
		l.state(run.Stopping)
	}
	l.mu.Lock()
	l.executor = process.New(l.spec)
	l.mu.Unlock()
	stopWarming()
	deaf := l.listen()
	err := l.executor.Run(ctx)
	deaf()
	l.log.Info("the executor has ended", "error", err)
	l.loading.Store(false)
	l.steers.Wait()
	var exit *exitError
	if errors.As(err, &exit) && exit.status == exitUsage { // nothing has run
		return errors.Join(err, l.folder.Discard())
	}
	err = l.explain(err)
	l.conclude(err)
	return err
}

// tell tells whoever looks what happens now.
func (l *localRun) tell(e event.Event) {
	e.Time = time.Now()
	l.view.tell(e)
}

// endOf is the event of the run's end with err, its exit status.
func (l *localRun) endOf(err error) event.Event {
	e := endOf(l.result, err)
	if l.result.State.Final() {
		e.Result = l.folder.File()
	}
	return e
}

// endOf is the event of the end of a run with this result, as far as it came.
func endOf(r *run.Result, err error) event.Event {
	e := event.Event{Kind: event.Ended, Time: time.Now(), Run: r.ID, State: r.State, Cause: r.Cause, Verdict: r.Verdict, Exit: new(int)}
	if !r.State.Final() {
		e.State = run.Failed
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if *e.Exit = exit.status; exit.status == exitCancelled {
			e.State = run.Cancelled
		}
		e.Error = exit.Error()
	} else if err != nil {
		*e.Exit, e.Error = exitFailed, err.Error()
	}
	for _, t := range r.Thresholds {
		s := threshold.Standing{Expression: t.Expression, Known: true, Met: t.OK, Crossed: !t.OK, Value: t.Value, Reason: t.Reason}
		if t.At != nil {
			s.At = *t.At
		}
		e.Thresholds = append(e.Thresholds, s)
	}
	return e
}

// open makes the run's folder.
func (l *localRun) open() error {
	l.history = l.app.history()
	now := time.Now()
	r := l.result
	r.Format, r.Gobench, r.ID, r.Created, r.State = run.Format, version.Version, run.NewID(now), now, run.Starting
	r.Environment = environment()
	r.Config.Command = append([]string{"gobench"}, redact.Args(commandLine())...)
	r.Config.Duration, r.Config.Interval, r.Config.GracefulStop = l.load.duration.Seconds(), l.load.interval.Seconds(), l.load.graceful.Seconds()
	r.Config.Seed = l.load.seed
	r.Metrics, r.Errors, r.Config.Classes = []run.Metric{}, []run.Failure{}, []run.Class{} // arrays, not null, in JSON
	var err error
	if l.folder, err = l.history.Create(r.ID); err == nil {
		err = l.folder.Put(r)
	}
	if err != nil {
		if l.folder != nil {
			_ = l.folder.Discard() // half a folder is no run
		}
		return &exitError{exitFailed, fmt.Errorf("make the run's folder: %w", err), dataStorage.hint(err)}
	}
	return nil
}

// plan gives the executor all of the run.
func (l *localRun) plan(h *wire.Hello) (*wire.Start, error) {
	l.result.Environment.Go = h.Go
	l.log.Info("the executor is there", "pid", h.Pid, "gobench", h.Version, "go", h.Go, "classes", len(h.Classes), "thresholds", len(h.Thresholds))
	if err := l.judgeBy(h.Thresholds); err != nil {
		return nil, err
	}
	start := &wire.Start{Run: l.result.ID, Seed: l.load.seed, IntervalNs: int64(l.load.interval),
		DurationNs: int64(l.load.duration), GracefulNs: int64(l.load.graceful), Hold: l.hold, WarmupNs: int64(l.load.warmup)}
	var users int64
	for _, c := range h.Classes {
		users += c.Nu
		start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations, Part: 1})
		l.result.Config.Classes = append(l.result.Config.Classes, run.Class{Name: c.Name, Users: c.Nu, Rate: c.Rate, Load: c.Load, Closed: c.Closed})
	}
	l.load.inside.apply(start, l.result)
	l.preflight()
	l.tell(event.Event{Kind: event.Step, Text: settingUp(users, &l.result.Environment), Plan: monitor.Plan(h.Classes, l.load.duration, l.hold, l.load.warmup)})
	return start, nil
}

// batch takes what the executor counted.
func (l *localRun) batch(b *wire.Batch) error {
	l.logged(b)
	if err := l.tally.Add(0, b); err != nil {
		return err
	}
	if l.writing == nil {
		l.writing = l.folder.Append(0, b)
	}
	return nil
}

// tellTally tells of what the tally found, and of intervals where somebody looks.
func (l *localRun) tellTally(e event.Event) {
	if e.Kind == event.Interval && (l.load.inside.once || l.load.quiet && !l.load.json) {
		return
	}
	l.tell(e)
}

// state notes where the run stands.
func (l *localRun) state(s run.State) {
	l.tell(event.Event{Kind: event.State, State: s, Run: l.result.ID})
	l.result.State = s
	if err := l.folder.Put(l.result); l.writing == nil {
		l.writing = err
	}
}

// conclude makes the result final.
func (l *localRun) conclude(err error) {
	r := l.result
	asked := l.ended()
	switch {
	case asked.cancel, errors.Is(err, process.ErrCancelled), errors.Is(err, context.Canceled):
		r.State, r.Cause = run.Cancelled, "cancelled by "+orElse(asked.by, "signal")
	case err != nil:
		r.State, r.Cause = run.Failed, err.Error()
	default:
		r.State = run.Finished
		switch {
		case l.tally.Aborted() != "":
			r.Cause = "threshold " + l.tally.Aborted() + " crossed"
		case asked.by != "":
			r.Cause = "stopped by " + asked.by
		}
	}
	l.tally.Finish(r)
	if l.load.inside.once {
		l.noteOnce()
	}
	var dead *process.DeadError
	if errors.As(err, &dead) && !r.Start.IsZero() {
		r.Notes = append(r.Notes, explainDeath(dead)...)
	}
	if l.writing != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the history of this run is incomplete: %v", l.writing))
	}
	if l.unkept = l.folder.Put(r); l.unkept != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the result could not be kept: %v", l.unkept))
	}
}

// write writes the reports that -o asks for, and then the text to standard output: who
// has seen enough of that, as head(1) has, ends this program.
func (l *localRun) write(outputs outputs) error {
	err := outputs.write(l.result, l.series(l.result))
	text := l.text()
	var shown error
	if l.load.inside.once {
		shown = report.Once(text, l.result)
	} else {
		kept := l.folder.Dir()
		if l.unkept != nil {
			kept = ""
		}
		shown = report.Text(text, l.result, report.Screen{Style: styleOf(text), Dir: kept})
	}
	if shown != nil {
		err = errors.Join(fmt.Errorf("write the report: %w", shown), err)
	}
	if err != nil {
		return &exitError{exitFailed, err, "the run is kept: gobench report " + l.result.ID + " -o FILE writes it again"}
	}
	return nil
}

// status is the exit status of the run that ended with err, as an error.
func (l *localRun) status(err error) error {
	if l.unkept != nil && l.result.State == run.Finished {
		return &exitError{exitFailed, fmt.Errorf("keep the result: %w", l.unkept), dataStorage.hint(l.unkept)}
	}
	switch l.result.State {
	case run.Finished:
		if err := crossedError(l.result); err != nil || !l.load.strict {
			return err
		}
		return strictError(l.result)
	case run.Cancelled:
		return &exitError{status: exitCancelled}
	}
	exit := &exitError{status: exitFailed, err: fmt.Errorf("%w%s", err, pointed(err))}
	var dead *process.DeadError
	if isTemporary(err) {
		exit.hint = tempStorage.hint(err)
	}
	if errors.As(err, &dead) {
		exit.hint = "what it printed is in " + l.folder.Dir() + "/executor.log"
	}
	return exit
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
