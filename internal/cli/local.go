package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// localRun is a run on this machine as a command line sees it: its view, its keys and
// signals, its reports and its exit status. Call run once. result is set when local.Run
// has returned; any goroutine may use controls.
type localRun struct {
	*app
	load     loadFlags
	options  local.Options // Name, Config, Prepare, Parameters, Env and Hold; run sets the others
	controls local.Controls
	result   *run.Result
	view     view
	log      *slog.Logger // of --verbose

	loading  atomic.Bool // the load is running
	steering sync.Mutex  // held while a key changes the load
	steers   sync.WaitGroup
}

// run runs the load, blocks until it has ended and is reported, and returns nil for exit
// status 0, else an error with the status. Wrong names of reports and profiles are usage
// errors before anything runs. It catches signals until the load has ended; after a run
// that took place it begins the background compile (startWarming). The end of ctx kills
// the executor.
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
	stopSignals := sync.OnceFunc(l.signals())
	defer stopSignals()
	l.view = l.app.view(&l.load, live.Run{Name: l.options.Name, Target: l.options.Config.Target}, l.press)
	defer l.view.Flush() // also after a panic the terminal is restored
	l.log = l.load.inside.logger(writerFunc(l.logLines))
	l.complete()
	l.result, err = local.Run(ctx, l.options)
	l.loading.Store(false)
	l.steers.Wait()
	l.view.Flush()
	stopSignals()
	if l.result.State.Final() {
		defer l.startWarming()
		err = l.report(outputs, err)
	} else {
		err = l.refused(err)
	}
	l.view.Close(l.endOf(err))
	return err
}

// complete sets the fields of l.options that are the same for all commands. l.view and
// l.log must be set.
func (l *localRun) complete() {
	o, f := &l.options, &l.load
	o.History, o.Config.Command = l.history(), commandLine()
	o.Duration, o.Warmup, o.Interval, o.Graceful, o.Seed, o.Thresholds = f.duration, f.warmup, f.interval, f.graceful, f.seed, f.thresholds
	o.Once, o.OnceIterations, o.Profiles = f.inside.once, f.inside.iterations, f.inside.wireProfiles()
	if f.inside.verbose {
		o.Log = l.log
	}
	o.Output, o.Seen, o.Event, o.Controls = l.view.Output(), l.seen, l.event, &l.controls
}

// event passes an event of the run to the view. Intervals are left out with --once, and
// with --quiet unless --json is set. It also records whether the load is running, for
// steer.
func (l *localRun) event(e event.Event) {
	switch e.Kind {
	case event.State:
		l.loading.Store(e.State == run.Running)
	case event.Interval:
		if l.load.inside.once || l.load.quiet && !l.load.json {
			return
		}
	case event.Ending:
		if !e.Cancel {
			e.Text += "; Ctrl-C again cancels"
		}
	}
	l.view.Show(e)
}

// emit is event for what this command line does itself, at the current time.
func (l *localRun) emit(e event.Event) {
	e.Time = time.Now()
	l.event(e)
}

// endOf returns the event of the run's end with err, which run returns, and with the path
// of the stored result if the run took place.
func (l *localRun) endOf(err error) event.Event {
	e := endOf(l.result, err)
	if l.result.State.Final() {
		e.Result = l.history().File(l.result.ID)
	}
	return e
}

// endOf returns the event of the end of a run with this result. Its exit status and text
// are those of err, which may be nil. A run that is not over is Failed, or Cancelled if
// err has that exit status. r must not be nil.
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

// report writes the reports that -o asks for, and then the text, also if a report failed.
// If the text goes to standard output (see text), closing that early, as head(1) does,
// ends this program. It returns the exit status of the run that ended with failed, as an
// error, or status 1 if a report or the text could not be written.
func (l *localRun) report(outputs outputs, failed error) error {
	err := outputs.write(l.result, l.series(l.result))
	text := l.text()
	var shown error
	if l.load.inside.once {
		shown = report.Once(text, l.result)
	} else {
		dir := l.history().Dir(l.result.ID)
		if isStorage(failed) {
			dir = ""
		}
		shown = report.Text(text, l.result, report.Screen{Style: styleOf(text), Dir: dir})
	}
	if shown != nil {
		err = errors.Join(fmt.Errorf("write the report: %w", shown), err)
	}
	if err != nil {
		return &exitError{exitFailed, err, "the run is stored: gobench report " + l.result.ID + " -o FILE writes it again"}
	}
	return l.status(failed)
}

// isStorage reports whether err wraps a *local.StorageError: the run could not be stored.
func isStorage(err error) bool {
	var storage *local.StorageError
	return errors.As(err, &storage)
}

// refused returns err, why a run did not take place, with an exit status: 2 for a wrong
// parameter, 1 for an error of the storage, and that of Options.Prepare otherwise.
func (l *localRun) refused(err error) error {
	var wrong *monitor.ParamError
	switch {
	case errors.As(err, &wrong):
		return usageError(wrong.Hint, "%s", wrong.Text)
	case isStorage(err):
		return &exitError{exitFailed, err, dataStorage.hint(err)}
	}
	return err // of preparing it
}

// status returns the exit status of the run that ended with err, as an error; nil for 0. A
// finished run has 1 if it has an error, 4 if thresholds were crossed, or 5 if it is
// invalid with --strict; a cancelled one has 130, without a text, and others have 1.
func (l *localRun) status(err error) error {
	switch l.result.State {
	case run.Finished:
		if err != nil {
			return &exitError{exitFailed, err, dataStorage.hint(err)}
		}
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
		exit.hint = "what it printed is in " + l.history().Dir(l.result.ID) + "/executor.log"
	}
	return exit
}

// commandLine returns this process's command line without secrets, for the result.
func commandLine() []string { return append([]string{"gobench"}, redact.Args(os.Args[1:])...) }
