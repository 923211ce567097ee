package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// remoteRun is a run on a master as a command line sees it, with the same view, reports
// and exit status as a run on this machine. Call run once; the caller closes client.
type remoteRun struct {
	shownRun
	client *client.Client
	name   string // of the scenario, as typed; empty: the master's name of it
	target string // of a built-in scenario
	leave  func() // stops following the run
	over   func() // to be called when the run is over: caught.over

	mu   sync.Mutex
	id   string // of the run; empty until the master has returned it; guarded by mu until then
	ends int    // how often the user has ended it, guarded by mu
}

// scenarioAt returns the submission of the scenario at path, a file or a folder, with the
// parameters set. A scenario that can't be read has exit status 2.
func scenarioAt(path string, set map[string]string, load *loadFlags, o run.Options) (s types.Submission, err error) {
	if _, err := os.Stat(path); err != nil {
		return s, usageError("name the scenario's file, as in: gobench submit scenario.go", "%w", err)
	}
	name, source, err := client.ReadSource(path)
	if err != nil {
		return s, &exitError{exitUsage, err, ""}
	}
	o.Parameters = set
	return submission(name, source, load, o), nil
}

// submission returns the submission of a source: o with the options and allowed targets of
// load, the seed only if --seed is set, and this process's command line without secrets. A
// --graceful-stop of 0 becomes 1 ms, as 0 would be the master's default.
func submission(name string, source run.Source, load *loadFlags, o run.Options) types.Submission {
	o.Duration, o.Warmup, o.Interval = load.duration.Seconds(), load.warmup.Seconds(), load.interval.Seconds()
	if !load.patient {
		o.GracefulStop = max(load.graceful, time.Millisecond).Seconds()
	}
	o.Thresholds, o.Guards.Targets = load.expressions, load.allowed.entries
	if load.seedGiven {
		o.Seed = load.seed
	}
	o.Command = commandLine()
	return types.Submission{Name: name, Source: &source, Options: o}
}

// runAt submits the scenario at path to a master and follows the run to its end, as
// submitAndFollow does. A flag that needs a run on this machine is a usage error.
func (a *app) runAt(ctx context.Context, at masterFlags, path string, set map[string]string, load loadFlags, o run.Options) error {
	if err := load.inside.refuseRemote(); err != nil {
		return err
	}
	s, err := scenarioAt(path, set, &load, o)
	if err != nil {
		return err
	}
	return a.submitAndFollow(ctx, at, load, path, s)
}

// submitAndFollow submits a run to a master and follows it to its end; name is the
// scenario's name here. Wrong names of reports are usage errors before anything is sent.
// For the rest of the errors see run.
func (a *app) submitAndFollow(ctx context.Context, at masterFlags, load loadFlags, name string, s types.Submission) error {
	outputs, err := report.OpenOutputs(load.out, a.stdout)
	if err != nil {
		return err
	}
	defer outputs.Discard()
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	r := &remoteRun{shownRun: shownRun{app: a, load: load}, client: c, name: name}
	if b := s.Options.Builtin; b != nil {
		r.target = b.Target
	}
	return r.run(ctx, outputs, func(ctx context.Context) (run.Order, error) { return c.Submit(ctx, s) })
}

// run queues the run, shows it until it is over, writes the reports and the text, and returns
// nil for exit status 0, else an error with the status. If the user leaves (see signal) or ctx
// ends before the run is over, the run continues on the master and the status is 130. It does
// not discard outputs.
func (r *remoteRun) run(ctx context.Context, outputs report.Outputs, queue func(context.Context) (run.Order, error)) error {
	ctx, r.leave = context.WithCancel(ctx)
	defer r.leave()
	r.stop = func() { r.key(ctx) }
	r.change = func(c event.Change) error {
		return r.client.Control(ctx, r.id, types.Control{What: c.What, Class: c.Class, Users: c.Users, Rate: c.Rate})
	}
	signals := catch(func(os.Signal) { r.signal(ctx) }, os.Interrupt, syscall.SIGTERM)
	defer signals.stop()
	r.over = signals.over
	r.view = r.app.view(&r.load, live.Run{Name: r.title(), Target: r.target}, r.press)
	defer r.view.Flush()
	result, err := r.follow(ctx, queue)
	r.view.Flush()
	signals.over()
	r.requests.Wait()
	if err == nil && !unbegun(result) {
		err = r.report(outputs, result, r.series(ctx), "", "the master has the run: gobench report "+r.id+" --master "+r.client.URL()+" -o FILE writes it again")
	}
	if err == nil {
		err = r.status(result)
	}
	r.view.Close(r.endOf(result, err))
	return err
}

// title returns the scenario's name for the screen: its file, or "run" if only the master knows
// it.
func (r *remoteRun) title() string { return filepath.Base(cmp.Or(r.name, "run")) }

// restarting is how long a master may be away when a run that was followed is over: the run may
// have ended because the master is restarted.
const restarting = 30 * time.Second

// follow queues the run, shows its events until it is over, and returns its result. An error
// has the exit status 130 if the user left or ctx was cancelled before that, else it is one of
// refusal. r.id is set once the master has the run. r.view must be set.
func (r *remoteRun) follow(ctx context.Context, queue func(context.Context) (run.Order, error)) (*run.Result, error) {
	order, err := queue(ctx)
	if errors.Is(err, context.Canceled) {
		return nil, &exitError{exitCancelled, errors.New("interrupted before the master had answered: gobench runs --master " + r.client.URL() + " shows whether it has the run"), ""}
	}
	if err != nil {
		return nil, refusal(err)
	}
	r.queued(ctx, order.ID)
	err = r.events(ctx)
	if ctx.Err() != nil {
		return nil, &exitError{exitCancelled, fmt.Errorf("run %s continues on the master", r.id), "gobench cancel " + r.id + " --master " + r.client.URL() + " ends it"}
	}
	if err != nil {
		return nil, refusal(fmt.Errorf("follow run %s, which the master has: %w", r.id, err))
	}
	r.over() // signals that come now do not cost the report
	var result *run.Result
	err = r.client.Repeat(ctx, restarting, func() (err error) {
		result, err = r.client.Result(ctx, r.id)
		return err
	})
	return result, refusal(err)
}

// events shows what happens until the run r.id, which must be set, is over, and returns nil
// then. While the master can't be reached it tries again without limit, and shows one warning
// until the next event. It returns an error if ctx ends or the master does not know or allow
// the request.
func (r *remoteRun) events(ctx context.Context) error {
	warned := false // that the master can't be reached
	r.client.WhenBroken(func(err error) {
		if !warned && err != nil {
			warned = true
			r.emit(event.Event{Kind: event.Warning, Text: fmt.Sprintf("%v; trying again until Ctrl-C: the run itself continues", err)})
		}
	})
	for e, err := range r.client.Events(ctx, r.id, 0) {
		if err != nil {
			return err
		}
		warned = false
		what := e.Live()
		switch what.Kind {
		case event.Ended:
			return nil
		case event.State:
			if what.State.Final() { // event.Ended follows
				r.loading.Store(false)
				continue
			}
			if what.State == run.Queued {
				what.Text = "queued as " + r.id
			}
		case event.Interval:
			if what.Totals == nil {
				what.Totals = func() event.Totals { return event.Totals{} }
			}
		}
		r.event(what)
	}
	return errors.New("the master sent no end of it")
}

// seriesAt returns a run's series, of all agents together, which is requested from the
// master at each call. The end of ctx ends such a request.
func seriesAt(ctx context.Context, c *client.Client, id string) report.Intervals {
	return func(yield func(run.Interval) error) error { return c.Series(ctx, run.SeriesQuery{Run: id}, yield) }
}

// series returns the run's series, and waits for a master that is restarting.
func (r *remoteRun) series(ctx context.Context) report.Intervals {
	return func(yield func(run.Interval) error) error { return r.client.SeriesWithin(ctx, restarting, r.id, yield) }
}

// unbegun reports whether a run ended before there was anything to report: it did not
// compile, its input was refused, or it was cancelled before it was compiled. As on this
// machine, only the error is printed then.
func unbegun(r *run.Result) bool {
	switch r.Failure {
	case run.FailedCompile, run.FailedInput:
		return true
	}
	return r.State == run.Cancelled && r.Config.Executor == ""
}

// status returns the exit status of a run of a master, as an error; nil for 0.
func (r *remoteRun) status(x *run.Result) error {
	switch status := x.ExitStatus(r.load.exit); status {
	case exitCancelled:
		if unbegun(x) {
			return &exitError{status, errors.New(x.Cause + " before it was compiled"), ""}
		}
	case exitCompile:
		return &exitError{status, fmt.Errorf("%s does not compile:\n%s", cmp.Or(r.name, x.Name), x.Cause), ""}
	case exitUsage:
		return &exitError{status, errors.New(x.Cause), ""}
	case exitFailed:
		if x.State == run.Finished {
			break
		}
		return &exitError{status, errors.New(x.Cause), "what it printed: gobench logs " + x.ID + " --master " + r.client.URL()}
	}
	return exitOf(x, r.load.exit)
}

// endOf returns the event of the run's end with err, which run returns. x may be nil: the
// run is then Failed, or Cancelled if err has that exit status.
func (r *remoteRun) endOf(x *run.Result, err error) event.Event {
	if x == nil {
		x = &run.Result{ID: r.id, State: run.Failed}
	}
	return endOf(x, err)
}
