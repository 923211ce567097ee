package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/gobench-io/gobench/internal/build"
	"github.com/gobench-io/gobench/internal/local"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/redact"
	"github.com/gobench-io/gobench/internal/run/system"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// localRun is a run on this machine as a command line sees it: its view, its keys and signals,
// its reports and its exit status. Call run once: it sets view and log, and then calls the
// other methods. result is set when local.Run has returned; any goroutine may use controls.
type localRun struct {
	shownRun
	options  local.Options // Name, Config, Prepare, Parameters, Env and Hold; run sets the others
	controls local.Controls
	result   *run.Result
	log      *slog.Logger // of --verbose
}

// newLocalRun returns the run that run is to make with these flags and options.
func (a *app) newLocalRun(load loadFlags, o local.Options) *localRun {
	l := &localRun{shownRun: shownRun{app: a, load: load}, options: o}
	l.stop, l.change = func() { l.controls.Stop("a key") }, l.controls.Change
	return l
}

// run runs the load, blocks until it has ended and is reported, and returns nil for exit
// status 0, else an error with the status. Wrong names of reports and profiles are usage
// errors before anything runs. It catches signals until the run is reported; after a run
// that took place it begins the background compile (build.StartBackground). The end of ctx kills
// the executor; the status is then 130.
func (l *localRun) run(ctx context.Context) error {
	system.Slim()
	outputs, err := report.OpenOutputs(l.load.out, l.stdout)
	if err != nil {
		return err
	}
	defer outputs.Discard()
	if err := l.load.inside.makeFiles(); err != nil {
		return err
	}
	signals := l.signals()
	defer signals.stop()
	l.view = l.app.view(&l.load, live.Run{Name: l.options.Name, Target: l.options.Config.Target}, l.press)
	defer l.view.Flush() // also after a panic the terminal is restored
	l.log = l.load.inside.logger(writerFunc(l.logLines))
	l.complete()
	l.result, err = local.Run(ctx, l.options)
	l.loading.Store(false)
	l.requests.Wait()
	l.view.Flush()
	signals.over()
	if l.result.State.Final() {
		defer build.StartBackground()
		err = l.end(outputs, err)
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
	o.Duration, o.Warmup, o.Interval, o.Graceful, o.Patient, o.Seed, o.Thresholds = f.duration, f.warmup, f.interval, f.graceful, f.patient, f.seed, f.thresholds
	o.Once, o.OnceIterations, o.Profiles = f.inside.once, f.inside.iterations, f.inside.wireProfiles()
	if f.inside.verbose {
		o.Log = l.log
	}
	o.Output, o.Seen, o.Event, o.Controls = l.view.Output(), l.seen, l.happened, &l.controls
}

// happened passes an event of local.Run to the view. To the text of a stop it adds that Ctrl-C
// again cancels.
func (l *localRun) happened(e event.Event) {
	if e.Kind == event.Ending && !e.Cancel {
		e.Text += "; Ctrl-C again cancels"
	}
	l.event(e)
}

// signals makes a first Ctrl-C (or SIGTERM, or the end of the terminal) stop the run,
// which then drains, and a second Ctrl-C or SIGTERM cancel it; under nohup the end of the
// terminal is ignored. The caller must call over and stop, as catch says.
func (l *localRun) signals() *caught {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		all = append(all, syscall.SIGHUP)
	}
	return catch(func(s os.Signal) {
		switch by, _ := l.controls.Ended(); {
		case by == "" && s == syscall.SIGHUP:
			l.controls.Stop("the end of its terminal")
		case by == "" && s == syscall.SIGTERM:
			l.controls.Stop("SIGTERM")
		case by == "":
			l.controls.Stop("Ctrl-C")
		case s == syscall.SIGTERM:
			l.controls.Cancel("SIGTERM")
		case s != syscall.SIGHUP:
			l.controls.Cancel("a second Ctrl-C")
		}
	}, all...)
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

// end reports the run, which ended with failed, and returns its exit status as an error, or
// status 1 if a report could not be written. If the text goes to standard output, closing that
// early, as head(1) does, ends this program.
func (l *localRun) end(outputs report.Outputs, failed error) error {
	dir := l.history().Dir(l.result.ID)
	if isStorage(failed) {
		dir = ""
	}
	err := l.report(outputs, l.result, l.series(l.result), dir, "the run is stored: gobench report "+l.result.ID+" -o FILE writes it again")
	if err != nil {
		return err
	}
	return l.status(failed)
}

// isStorage reports whether err wraps a *local.StorageError: the run could not be stored.
func isStorage(err error) bool {
	var storage *local.StorageError
	return errors.As(err, &storage)
}

// refused returns err, why a run did not take place, with an exit status: 2 for a wrong
// parameter or threshold, 1 for an error of the storage, and that of Options.Prepare otherwise.
func (l *localRun) refused(err error) error {
	var wrong *run.UsageError
	switch {
	case errors.As(err, &wrong):
		return usageError(wrong.Hint, "%w%s", err, pointed(err))
	case isStorage(err):
		return &exitError{exitFailed, err, dataStorage.hint(err)}
	}
	return err // of preparing it
}

// status returns the exit status of the run that ended with err, as an error; nil for 0. A
// finished run has 1 if it could not be stored.
func (l *localRun) status(err error) error {
	switch {
	case l.result.State == run.Finished && err != nil:
		return &exitError{exitFailed, err, dataStorage.hint(err)}
	case l.result.State != run.Failed:
		return exitOf(l.result, l.load.exit)
	}
	exit := &exitError{status: l.result.ExitStatus(l.load.exit), err: fmt.Errorf("%w%s", err, pointed(err))}
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
