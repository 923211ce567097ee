package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/live"
	"github.com/gobench-io/gobench/internal/show/report"
)

// remoteRun is a run on a master as the command line that asked for it sees it: the same
// view, reports and exit status as of a run on this machine.
type remoteRun struct {
	*app
	load   loadFlags
	client *client.Client
	name   string // of the scenario, as it was given; empty: as the master says
	target string // of a built-in
	view   view

	loading  atomic.Bool // the load goes on
	steering sync.Mutex  // held while a key changes the load
	giveUp   func()      // ends the following
	errands  sync.WaitGroup

	mu   sync.Mutex
	id   string // of the run; empty: the master has not said it; guarded by mu until then
	ends int    // how often a person has ended it, guarded by mu
}

// scenarioAt asks for a run of the scenario at path.
func scenarioAt(path string, set map[string]string, load *loadFlags, o run.Options) (s types.Submission, err error) {
	name, source, err := readSource(path)
	if err != nil {
		return s, err
	}
	o.Parameters = set
	return submission(name, source, load, o), nil
}

// submission asks for a run of a source.
func submission(name string, source run.Source, load *loadFlags, o run.Options) types.Submission {
	o.Duration, o.Warmup, o.Interval, o.GracefulStop = load.duration.Seconds(), load.warmup.Seconds(), load.interval.Seconds(), max(load.graceful, time.Millisecond).Seconds() // 0 would be the usual one
	o.Thresholds, o.Guards.Targets = load.expressions, load.allowed.entries
	if load.seedGiven {
		o.Seed = load.seed
	}
	o.Command = commandLine()
	return types.Submission{Name: name, Source: &source, Options: o}
}

// runAt submits a scenario to a master and follows the run to its end.
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

// submitAndFollow submits to a master what is called name here, and follows the run to
// its end.
func (a *app) submitAndFollow(ctx context.Context, at masterFlags, load loadFlags, name string, s types.Submission) error {
	outputs, err := openOutputs(load.out, a.stdout)
	if err != nil {
		return err
	}
	defer outputs.discard()
	c, err := a.client(at)
	if err != nil {
		return err
	}
	defer c.Close()
	r := &remoteRun{app: a, load: load, client: c, name: name}
	if b := s.Options.Builtin; b != nil {
		r.target = b.Target
	}
	return r.run(ctx, outputs, func(ctx context.Context) (run.Order, error) { return c.Submit(ctx, s) })
}

// run has the run queued, shows it until it is over, and reports.
func (r *remoteRun) run(ctx context.Context, outputs outputs, queue func(context.Context) (run.Order, error)) error {
	ctx, r.giveUp = context.WithCancel(ctx)
	defer r.giveUp()
	deaf := sync.OnceFunc(r.signals(ctx))
	defer deaf()
	r.view = r.app.view(&r.load, live.Run{Name: cmp.Or(filepath.Base(r.name), "run"), Target: r.target}, r.press(ctx))
	defer r.view.clear()
	result, err := r.follow(ctx, queue)
	r.view.clear()
	deaf()
	r.errands.Wait()
	if err == nil && !unbegun(result) {
		err = r.report(ctx, result, outputs)
	}
	if err == nil {
		err = r.statusOf(result)
	}
	r.view.close(r.endOf(result, err))
	return err
}

// follow has the run queued and passes on what happens until it is over.
func (r *remoteRun) follow(ctx context.Context, queue func(context.Context) (run.Order, error)) (*run.Result, error) {
	order, err := queue(ctx)
	if errors.Is(err, context.Canceled) {
		return nil, &exitError{exitCancelled, errors.New("given up before the master had answered: gobench runs --master " + r.client.URL() + " tells whether it has the run"), ""}
	}
	if err != nil {
		return nil, refusal(err)
	}
	r.begun(ctx, order.ID)
	err = r.events(ctx)
	if ctx.Err() != nil {
		return nil, &exitError{exitCancelled, fmt.Errorf("run %s is left to the master", r.id), "gobench cancel " + r.id + " --master " + r.client.URL() + " ends it"}
	}
	if err != nil {
		return nil, refusal(fmt.Errorf("follow run %s, which the master has: %w", r.id, err))
	}
	result, err := r.client.Result(ctx, r.id)
	return result, refusal(err)
}

// events passes on what happens until the run is over.
func (r *remoteRun) events(ctx context.Context) error {
	said := false // that the master is out of reach
	r.client.WhenBroken(func(err error) {
		if !said && err != nil {
			said = true
			r.view.tell(event.Event{Kind: event.Warning, Time: time.Now(), Text: fmt.Sprintf("%v; trying again until Ctrl-C: the run goes on without", err)})
		}
	})
	for e, err := range r.client.Events(ctx, r.id, 0) {
		if err != nil {
			return err
		}
		said = false
		what := e.Live()
		switch what.Kind {
		case event.Ended:
			return nil
		case event.State:
			r.loading.Store(what.State == run.Running)
			if what.State.Final() { // the end says so
				continue
			}
			if what.State == run.Queued {
				what.Text = "queued as " + r.id
			}
		case event.Interval:
			if r.load.quiet && !r.load.json {
				continue
			}
			if what.Totals == nil {
				what.Totals = func() event.Totals { return event.Totals{} }
			}
		}
		r.view.tell(what)
	}
	return errors.New("the master told no end of it")
}

// report writes the reports of -o, and the text.
func (r *remoteRun) report(ctx context.Context, result *run.Result, outputs outputs) error {
	err := outputs.write(result, seriesAt(ctx, r.client, r.id))
	text := r.stdout
	if r.load.json || r.load.toStandard() {
		text = r.stderr
	}
	if shown := report.Text(text, result, report.Screen{Style: styleOf(text)}); shown != nil {
		err = errors.Join(fmt.Errorf("write the report: %w", shown), err)
	}
	if err != nil {
		return &exitError{exitFailed, err, "the master has the run: gobench report " + r.id + " --master " + r.client.URL() + " -o FILE writes it again"}
	}
	return nil
}

// seriesAt gives a run's series from its master.
func seriesAt(ctx context.Context, c *client.Client, id string) report.Intervals {
	return func(yield func(run.Interval) error) error { return c.Series(ctx, run.SeriesQuery{Run: id}, yield) }
}

// unbegun tells whether a run ended before there was anything to report: as on this
// machine, what is wrong is all that is said then.
func unbegun(r *run.Result) bool {
	switch r.Failure {
	case run.FailedCompile, run.FailedInput:
		return true
	}
	return r.State == run.Cancelled && r.Config.Executor == ""
}

// statusOf is the exit status of a run that a master had.
func (r *remoteRun) statusOf(x *run.Result) error {
	switch x.State {
	case run.Finished:
		if err := crossedError(x); err != nil || !r.load.strict {
			return err
		}
		return strictError(x)
	case run.Cancelled:
		exit := &exitError{status: exitCancelled}
		if unbegun(x) {
			exit.err = errors.New(x.Cause + " before it was compiled")
		}
		return exit
	}
	switch x.Failure {
	case run.FailedCompile:
		return &exitError{exitCompile, fmt.Errorf("%s does not compile:\n%s", cmp.Or(r.name, x.Name), x.Cause), ""}
	case run.FailedInput:
		return &exitError{exitUsage, errors.New(x.Cause), ""}
	}
	return &exitError{exitFailed, errors.New(x.Cause), "what it printed: gobench logs " + x.ID + " --master " + r.client.URL()}
}

// endOf is the event of the run's end with err, its exit status.
func (r *remoteRun) endOf(x *run.Result, err error) event.Event {
	if x == nil {
		x = &run.Result{ID: r.id, State: run.Failed}
	}
	return endOf(x, err)
}
