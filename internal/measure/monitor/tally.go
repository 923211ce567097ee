// Package monitor follows a run by the batches of its executors: it merges them, tells of
// each interval with the generator's health in it and of the thresholds that are
// crossed, and gives the run's figures, verdict and notes. It does no I/O. A local run
// and a master's are tallied alike.
package monitor

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// Options say whom to tell of what happens. Functions that are nil are not called.
type Options struct {
	Interval time.Duration
	Once     bool              // nothing is judged: one user, one iteration
	Tell     func(event.Event) // of intervals and of thresholds that are crossed
	Abort    func()            // ends the load, for a threshold that wants that; called once
}

// Tally follows one run. It is for one goroutine at a time.
type Tally struct {
	Merger *merge.Merger // what is merged so far; Add adds to it

	options Options
	judge   *threshold.Evaluator
	judged  bool // there are thresholds
	hosts   hosts
	outages outages
	aborted string
	reasons []run.Reason
	weights map[string]float64
}

// New makes the tally of a run whose executors are told by Executor.
func New(o Options) *Tally {
	return of(o, merge.New(0, o.Interval))
}

func of(o Options, m *merge.Merger) *Tally {
	t := &Tally{Merger: m, options: o, hosts: hosts{merger: m}}
	t.Thresholds(nil)
	return t
}

// Restore makes a tally that goes on with what another had merged. What that knew of the
// generator's health and of thresholds is not known any more.
func Restore(o Options, m *merge.Merger, hosts []string) *Tally {
	t := of(o, m)
	for _, name := range hosts {
		t.hosts.join(name)
	}
	return t
}

// Executor adds an executor on a host, which begins when the load has gone on for some
// time, and gives its number. A single host may have no name.
func (t *Tally) Executor(host string, begin time.Duration) int {
	t.hosts.join(host)
	return t.Merger.Join(host, begin)
}

// Lose has intervals no longer wait for an executor.
func (t *Tally) Lose(executor int) { t.Merger.Lose(executor) }

// Found undoes Lose.
func (t *Tally) Found(executor int) { t.Merger.Found(executor) }

// Thresholds sets what the run is to meet, before its first batch.
func (t *Tally) Thresholds(all []threshold.Threshold) {
	t.judge, t.judged = threshold.New(all), len(all) > 0
	if t.judged {
		t.Merger.OnInterval(t.judgeInterval)
	}
}

// LoadOver tells that nothing new begins from here on.
func (t *Tally) LoadOver() { t.judge.LoadOver() }

// Aborted is the threshold that ended the load; empty: none did.
func (t *Tally) Aborted() string { return t.aborted }

// Weights says what share of the load each host has beside the others'; none: even.
func (t *Tally) Weights(weights map[string]float64) { t.weights = weights }

// Reason lowers the verdict for what was seen elsewhere, as the loss of a host.
func (t *Tally) Reason(r run.Reason) { t.reasons = append(t.reasons, r) }

// Add merges a batch and tells of the intervals that are whole by then.
func (t *Tally) Add(executor int, b *wire.Batch) error {
	if err := t.Merger.Add(executor, b); err != nil {
		return err
	}
	t.hosts.take(executor, b)
	t.Intervals(false)
	return nil
}

// Intervals tells of the intervals that are whole; with all true, of those too that an
// executor has not reported.
func (t *Tally) Intervals(all bool) {
	for _, i := range t.Merger.Intervals(all) {
		i.Health = t.hosts.judge(i, all)
		t.outages.add(i)
		verdict := t.hosts.verdict(nil)
		totals := func() event.Totals {
			return event.Totals{Metrics: t.Merger.Metrics(), Failures: t.Merger.Failures(), Verdict: verdict}
		}
		t.tell(event.Event{Kind: event.Interval, Interval: &i, Verdict: verdict.Word, Thresholds: t.judge.Standings(), Totals: totals})
	}
}

func (t *Tally) tell(e event.Event) {
	if t.options.Tell != nil {
		t.options.Tell(e)
	}
}

// judgeInterval says which thresholds an interval crosses, and ends the load where one
// of them wants that.
func (t *Tally) judgeInterval(c merge.Counts) {
	for _, x := range t.judge.Add(threshold.Interval(c)) {
		what := "threshold " + x.Expression + " crossed"
		if x.Value != "" {
			what += ": " + x.Value
		}
		if x.Reason != "" {
			what += ": " + x.Reason
		}
		if x.Abort && t.aborted == "" {
			t.aborted = x.Expression
			if t.options.Abort != nil {
				t.options.Abort()
			}
			what += "; stopping: waiting for what is in flight"
		}
		crossed := x.Threshold
		t.tell(event.Event{Kind: event.Crossed, Threshold: &crossed, Text: units.Safe(what)})
	}
}

// Finish fills the figures, thresholds, verdict and notes of a result whose State and
// Cause are set and whose run is over.
func (t *Tally) Finish(r *run.Result) {
	t.Summarize(r)
	t.Intervals(true) // those that a dead executor left open
	if t.judged && t.Merger.End() > 0 {
		r.Thresholds = t.judge.Finish(t.Merger.Measured())
	}
	r.Notes = append(append(noAnswer(r), t.outages.notes(r)...), r.Notes...)
	if !t.options.Once {
		t.giveVerdict(r)
	}
}

// Summarize fills a result's figures from what was merged.
func (t *Tally) Summarize(r *run.Result) {
	m := t.Merger
	if began := m.Began(); !began.IsZero() {
		r.Start = began
	}
	r.Seconds, r.Warmup = m.Load().Seconds(), m.Warmup().Seconds()
	r.Metrics, r.Errors, r.Samples = m.Metrics(), m.Failures(), m.Samples()
	if !r.Start.IsZero() { // else nothing was counted
		r.Missing = m.Missing()
	}
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
