package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
)

// Options are the callbacks of a Tally. Functions may be nil. They are called from the
// goroutine that uses the Tally.
type Options struct {
	Interval time.Duration
	Once     bool              // nothing is judged: one user, one iteration
	Emit     func(event.Event) // called with intervals and with thresholds that are crossed
	Abort    func()            // ends the load, for a threshold with abort; called once
}

// Tally follows one run. It must not be used by several goroutines at once.
type Tally struct {
	Merger *merge.Merger // what is merged so far; Add adds to it

	options Options
	judge   *threshold.Evaluator
	judged  bool // there are thresholds
	hosts   hosts
	outages outages
	aborted string
	reasons []run.Reason // that decide
	causes  []run.Reason // found elsewhere, that do not
	users   map[string]map[string]int64
	scaled  []string // classes whose rate was changed

	finished bool     // a result was finished, or updated
	own      []string // the notes that this tally added to it
}

// New returns the tally of a run; the caller adds its executors with Executor.
func New(o Options) *Tally {
	return of(o, merge.New(0, o.Interval))
}

// of returns a tally that adds to m, without executors or thresholds.
func of(o Options, m *merge.Merger) *Tally {
	t := &Tally{Merger: m, options: o, hosts: hosts{merger: m}}
	t.Thresholds(nil)
	return t
}

// Restore returns a tally that continues with what another had merged; hosts are those of its
// executors, in the order of their numbers. The generator's health and the
// state of thresholds before that are lost.
func Restore(o Options, m *merge.Merger, hosts []Host) *Tally {
	t := of(o, m)
	for _, h := range hosts {
		t.hosts.join(h)
	}
	return t
}

// Executor adds an executor on a host, which begins at begin, since the begin of the load,
// and returns its number. A single host may be empty.
func (t *Tally) Executor(host Host, begin time.Duration) int {
	t.hosts.join(host)
	return t.Merger.Join(host.Name, begin)
}

// Lose makes intervals no longer wait for an executor.
func (t *Tally) Lose(executor int) { t.Merger.Lose(executor) }

// Thresholds sets the run's thresholds, with no history. The caller must call it before the
// first batch is added. It does not retain all.
func (t *Tally) Thresholds(all []threshold.Threshold) {
	t.judge, t.judged = threshold.New(all), len(all) > 0
	if t.judged {
		t.Merger.OnInterval(t.judgeInterval)
	}
}

// LoadOver declares that no new iterations begin from here on. Call it before the batches that
// come after that are added.
func (t *Tally) LoadOver() {
	t.judge.LoadOver()
	t.outages.drain = true
}

// Aborted returns the threshold that ended the load, or "".
func (t *Tally) Aborted() string { return t.aborted }

// Users sets how many users of each class each host has, by class and the host's id; nil if
// that is not known, and then hosts are not compared.
func (t *Tally) Users(users map[string]map[string]int64) { t.users = users }

// Rescaled declares that the rate of a class was changed, so that it is not the one that was asked
// for; "" is the only class.
func (t *Tally) Rescaled(class string) { t.scaled = append(t.scaled, class) }

// Reason adds a reason found elsewhere, as the loss of a host. It lowers the verdict by its level,
// unless it is a Cause.
func (t *Tally) Reason(r run.Reason) {
	if r.Cause {
		t.causes = append(t.causes, r)
		return
	}
	t.reasons = append(t.reasons, r)
}

// Add merges a batch and, before it returns, reports the intervals that it completes;
// Options.Abort is called if one of them crosses a threshold with abort. A redelivered
// batch is ignored. If it returns an error, the batch was not merged (see
// merge.Merger.Add).
func (t *Tally) Add(executor int, b *wire.Batch) error {
	again := executor >= 0 && executor < t.Merger.Executors() && t.Merger.Has(executor, b)
	if err := t.Merger.Add(executor, b); again || err != nil {
		return err
	}
	t.hosts.take(executor, b)
	t.Intervals(false)
	return nil
}

// Intervals reports the complete intervals that were not reported before, an event each;
// with all true, also those that an executor has not sent completely. Totals of an event is
// valid only until its receiver returns.
func (t *Tally) Intervals(all bool) {
	for _, i := range t.Merger.Intervals(all) {
		i.Health = t.hosts.judge(i, all)
		t.outages.declare(t.Merger.Declared())
		for _, text := range t.outages.add(i) {
			t.emit(event.Event{Kind: event.Warning, Text: units.Safe(text)})
		}
		verdict, reasons := t.judgement(nil)
		if verdict == run.Valid {
			reasons = nil
		}
		totals := func() event.Totals {
			return event.Totals{Metrics: t.Merger.Metrics(), Failures: t.Merger.Failures(), Verdict: verdict, Reasons: reasons}
		}
		t.emit(event.Event{Kind: event.Interval, Interval: &i, Verdict: verdict, Thresholds: t.judge.Standings(), Totals: totals})
	}
}

func (t *Tally) emit(e event.Event) {
	if t.options.Emit != nil {
		t.options.Emit(e)
	}
}

// judgeInterval reports the thresholds that an interval crosses. The first of them with
// abort ends the load, once in a run.
func (t *Tally) judgeInterval(c merge.Counts) {
	crossed := t.judge.Add(threshold.Interval(c))
	for _, text := range t.judge.Absent() {
		t.emit(event.Event{Kind: event.Warning, Text: units.Safe(text)})
	}
	for _, x := range crossed {
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
		t.emit(event.Event{Kind: event.Crossed, Threshold: &crossed, Text: units.Safe(what)})
	}
}

// Finish sets the figures, thresholds, verdict and notes of a result whose State and Cause
// are set and whose run is over, after it has reported the intervals that are left. The
// caller must call it only once. Without a batch there are no results of thresholds;
// without load, or with Options.Once, no verdict.
func (t *Tally) Finish(r *run.Result) {
	given := r.Notes
	t.Merger.RunOver()
	t.Summarize(r)
	t.Intervals(true) // those that a dead executor left incomplete
	if t.judged && t.Merger.End() > 0 {
		t.judge.Lost(t.Merger.Unended())
		r.Thresholds = t.judge.Finish(r.Metrics)
	}
	t.conclude(r)
	t.own, t.finished = except(r.Notes, given), true
}

// conclude adds the notes to a result that has its figures, and sets the verdict.
func (t *Tally) conclude(r *run.Result) {
	r.Notes = append(append(noAnswer(r), t.outages.notes(r.Metrics)...), r.Notes...)
	if !t.options.Once {
		t.setVerdict(r)
	}
}

// Update brings a result up to date that this tally, or one before Restore, has finished, and
// to which more was added since: its figures, verdict, reasons and notes. State, Cause and
// Thresholds stay. It replaces slices of r and does not change them.
func (t *Tally) Update(r *run.Result) {
	if !t.finished {
		t.own, t.finished = ofFigures(r), true
		for _, x := range r.Reasons {
			if !found(x.Signal) { // those are found again
				t.Reason(x)
			}
		}
	}
	given := except(r.Notes, t.own)
	r.Notes = nil
	t.Merger.RunOver()
	t.Summarize(r)
	t.conclude(r)
	if r.Verdict != run.Valid { // what a tally before this one noted
		given = slices.DeleteFunc(given, func(s string) bool { return strings.HasPrefix(s, disturbed) })
	}
	t.own = except(r.Notes, given)
	r.Notes = append(given, t.own...)
}

// except returns the notes of all that are not in others, in a new slice.
func except(all, others []string) (rest []string) {
	for _, s := range all {
		if !slices.Contains(others, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// Summarize sets a result's figures from what was merged, Missing and Complete. Start is
// set if the load began; while it is zero, nothing counts as missing. It appends to
// r.Notes, so the caller must call it once for each result.
func (t *Tally) Summarize(r *run.Result) {
	m := t.Merger
	if began := m.Began(); !began.IsZero() {
		r.Start = began
	}
	for i := range r.Config.Classes {
		if c := &r.Config.Classes[i]; slices.Contains(t.scaled, c.Name) || slices.Contains(t.scaled, "") {
			c.Starts, c.StartsFor = 0, 0
		}
	}
	r.Seconds, r.Measured, r.Warmup = m.Load().Seconds(), m.Measured().Seconds(), min(m.Warmup(), m.Load()).Seconds()
	r.Metrics, r.Errors, r.Samples = m.Metrics(), m.Failures(), m.Samples()
	t.setRates(r)
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
