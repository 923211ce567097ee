package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/agent"
	"github.com/gobench-io/gobench/internal/health"
	"github.com/gobench-io/gobench/internal/history"
	"github.com/gobench-io/gobench/internal/merge"
	"github.com/gobench-io/gobench/internal/redact"
	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/threshold"
	"github.com/gobench-io/gobench/internal/version"
	"github.com/gobench-io/gobench/internal/wire"
)

// localRun is a run on this machine: one executor, its batches merged as they come,
// kept in the history and shown as they go.
type localRun struct {
	*app
	load   loadFlags
	spec   agent.Spec // Path, Args, Env
	hold   bool       // --duration also holds the run open
	result *run.Result

	history  history.History
	folder   *history.Folder
	merger   *merge.Merger
	executor *agent.Executor
	progress *progress
	judge    *threshold.Evaluator
	health   health.Judge
	aborted  string // the threshold that ended the run
	writing  error  // the first failure to write the history; the run goes on

	log       *slog.Logger // of --verbose
	exchanges int          // shown by --once
	remarks   int          // shown by it, checks and steps

	mu    sync.Mutex
	asked ending // guarded by mu
}

// run runs it, reports, and returns the exit status as an error.
func (l *localRun) run(ctx context.Context) error {
	outputs, err := l.load.outputs()
	if err != nil {
		return err
	}
	if err := l.load.inside.makeFiles(); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	defer l.folder.Close()
	l.progress = newProgress(l.stderr, l.load.quiet)
	l.log = l.load.inside.logger(writerFunc(func(b []byte) { l.progress.show(bytes.Clone(b)) }))
	l.log.Info("run", "id", l.result.ID, "folder", l.folder.Dir(), "executor", l.spec.Path)
	l.merger = merge.New(1, l.load.interval)
	l.spec.Log = io.MultiWriter(l.folder.Log, l.progress.scenario())
	l.spec.Plan, l.spec.Batch, l.spec.Seen = l.plan, l.batch, l.seen
	l.spec.Started = func() {
		l.result.Start = time.Now()
		l.log.Info("the load begins")
		l.state(run.Running)
	}
	l.spec.Stopping = func() {
		l.judge.LoadOver()
		l.log.Info("the load is over, what is in flight drains")
		l.state(run.Stopping)
	}
	l.executor = agent.New(l.spec)
	stopWarming()
	stop, deaf := l.signals(), l.listen()
	err = l.executor.Run(ctx)
	deaf()
	stop()
	l.log.Info("the executor has ended", "error", err)
	var exit *exitError
	if errors.As(err, &exit) && exit.status == exitUsage { // nothing has run
		l.progress.close()
		return errors.Join(err, l.folder.Discard())
	}
	l.conclude(err)
	l.progress.close()
	defer l.startWarming()
	if err := l.write(outputs); err != nil {
		return err
	}
	return l.status(err)
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
		return &exitError{exitFailed, fmt.Errorf("make the run's folder: %w", err), "--dir names another place for gobench's data"}
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
	for _, c := range h.Classes {
		start.Shares = append(start.Shares, &wire.Share{Nu: c.Nu, Rate: c.Rate, Iterations: c.Iterations, Part: 1})
		l.result.Config.Classes = append(l.result.Config.Classes, run.Class{Name: c.Name, Users: c.Nu, Rate: c.Rate, Load: c.Load, Closed: c.Closed})
	}
	l.load.inside.apply(start, l.result)
	return start, nil
}

// batch takes what the executor counted.
func (l *localRun) batch(b *wire.Batch) error {
	l.logged(b)
	if err := l.merger.Add(0, b); err != nil {
		return err
	}
	if l.writing == nil {
		l.writing = l.folder.Append(0, b)
	}
	for _, i := range l.merger.Intervals(false) {
		l.health.Add(windowOf(i))
		if !l.load.inside.once {
			l.progress.interval(i, l.merger.Metrics)
		}
	}
	return nil
}

// state notes where the run stands.
func (l *localRun) state(s run.State) {
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
	case asked.cancel, errors.Is(err, agent.ErrCancelled), errors.Is(err, context.Canceled):
		r.State, r.Cause = run.Cancelled, "cancelled by "+orElse(asked.by, "signal")
	case err != nil:
		r.State, r.Cause = run.Failed, err.Error()
	default:
		r.State = run.Finished
		switch {
		case l.aborted != "":
			r.Cause = "threshold " + l.aborted + " crossed"
		case asked.by != "":
			r.Cause = "stopped by " + asked.by
		}
	}
	summarize(r, l.merger)
	l.judgeEnd()
	if l.load.inside.once {
		l.noteOnce()
	} else {
		giveVerdict(r, &l.health)
	}
	var dead *agent.DeadError
	if errors.As(err, &dead) {
		r.Notes = append(r.Notes, explainDeath(dead)...)
	}
	if l.writing != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the history of this run is incomplete: %v", l.writing))
	}
	if err := l.folder.Put(r); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the result could not be kept: %v", err))
	}
}

// explainDeath says what a dead executor's last words mean.
func explainDeath(dead *agent.DeadError) (notes []string) {
	out := string(dead.Output)
	if i := strings.LastIndex(out, "\npanic: "); i >= 0 || strings.HasPrefix(out, "panic: ") {
		notes = append(notes, "a goroutine that the scenario started itself panicked; only a panic in a user's own goroutine ends just that user")
	} else if strings.Contains(out, "fatal error: ") {
		notes = append(notes, "the Go runtime ended the executor: see its log for the fatal error")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if out != "" {
		notes = append(notes, "it printed last: "+lines[max(0, firstPanic(lines))])
	}
	return notes
}

// firstPanic is the line that tells of a panic, or the last one.
func firstPanic(lines []string) int {
	for i, s := range lines {
		if strings.HasPrefix(s, "panic: ") || strings.HasPrefix(s, "fatal error: ") {
			return i
		}
	}
	return len(lines) - 1
}

// summarize fills a result's figures from what was merged.
func summarize(r *run.Result, m *merge.Merger) {
	if began := m.Began(); !began.IsZero() {
		r.Start = began
	}
	r.Seconds, r.Warmup = m.Load().Seconds(), m.Warmup().Seconds()
	r.Metrics, r.Errors, r.Samples = m.Metrics(), m.Failures(), m.Samples()
	r.Missing = m.Missing()
	r.Complete = len(r.Missing) == 0
	r.Notes = append(r.Notes, m.Notes()...)
	for _, c := range r.Config.Classes {
		if n := m.Interrupted()[c.Name]; n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%d users of class %s went on after their context had ended and were cut off: let Fu return when ctx is done", n, c.Name))
		}
	}
	if n := m.Refused(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d recordings were refused because their value was negative", n))
	}
}

// write writes the reports that -o asks for, and the text to standard output.
func (l *localRun) write(outputs []*os.File) error {
	text := func() error { return report.Text(l.text(), l.result, l.folder.Dir()) }
	if l.load.inside.once {
		text = func() error { return report.Once(l.text(), l.result) }
	}
	if err := text(); err != nil {
		return &exitError{exitFailed, fmt.Errorf("write the report: %w", err), ""}
	}
	for _, out := range outputs {
		if err := l.writeJSON(out, l.result); err != nil {
			return &exitError{exitFailed, fmt.Errorf("write %s: %w", out.Name(), err), "the run is kept: gobench show " + l.result.ID + " -o FILE.json writes it again"}
		}
	}
	return nil
}

// status is the exit status of the run that ended with err, as an error.
func (l *localRun) status(err error) error {
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
	var dead *agent.DeadError
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
