package threshold

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// maxWindow is how many intervals a window may have, as their histograms stay in memory.
const maxWindow = 3600

// patience is how many intervals must pass before a threshold over the whole run may abort
// it.
const patience = 3

// Interval is what a run recorded of the measured phase in one interval of its series.
type Interval struct {
	From, To   time.Duration             // since the load began
	Warmup     bool                      // the time is of a warm-up
	Metrics    []run.Metric              // all that are declared, without their records
	Counters   map[string]int64          // by title; without those that recorded nothing
	Gauges     map[string]int64          // by title
	Histograms map[string]*hdr.Histogram // by title; must not change from now on
}

// Evaluator judges the thresholds of one run. It must not be used by several goroutines at
// once.
type Evaluator struct {
	judges    []*judge
	metrics   []run.Metric
	end       time.Duration
	intervals int  // measured, without warm-up
	over      bool // the load has ended and drains
	warned    bool // Absent has returned something
}

// New returns the evaluator of a run. It does not retain the slice.
func New(thresholds []Threshold) *Evaluator {
	e := new(Evaluator)
	for _, t := range thresholds {
		e.judges = append(e.judges, &judge{Threshold: t, unbound: errAbsent})
	}
	return e
}

// Crossed is a threshold at the moment it is crossed.
type Crossed struct {
	run.Threshold
	Abort bool // ends the run
}

// Add adds the next interval, in the order of time, and returns the thresholds that are
// crossed by it; nil without any. It judges windows, and of thresholds over the whole run
// only those with abort, most from the third measured interval on; Finish judges the
// others. A crossed threshold stays crossed; one whose metric cannot have its statistic or unit is
// crossed at once, and ends the run. The time of a warm-up is in no window and no
// divisor, but it crosses thresholds whose metric cannot have their statistic or unit. It retains i's metrics and
// histograms.
func (e *Evaluator) Add(i Interval) (crossed []Crossed) {
	grown := len(i.Metrics) > len(e.metrics)
	e.metrics, e.end = i.Metrics, i.To
	if !i.Warmup {
		e.intervals++
	}
	for _, j := range e.judges {
		if j.crossed {
			continue
		}
		if grown {
			j.binding, j.unbound = j.bind(i.Metrics)
		}
		if j.add(i, e); j.crossed {
			crossed = append(crossed, Crossed{j.result(), j.Abort || j.wrong})
		}
	}
	return crossed
}

// mayBeAbsent is how long after the begin of the load a metric may be declared without a warning.
const mayBeAbsent = 3 * time.Second

// Absent returns a warning for each threshold whose metric was not declared in the first 3 s of the
// load, once, and after that nil.
func (e *Evaluator) Absent() (warnings []string) {
	if e.warned || e.end < mayBeAbsent {
		return nil
	}
	e.warned = true
	for _, j := range e.judges {
		if errors.Is(j.unbound, errAbsent) && !j.crossed {
			warnings = append(warnings, "threshold "+j.String()+": so far "+j.absent(e.metrics))
		}
	}
	return warnings
}

// Standing is the state of a threshold while the run is active.
type Standing struct {
	Expression string  `json:"expression"`
	Known      bool    `json:"known"`                // there is something to judge
	Met        bool    `json:"met"`                  // so far
	Crossed    bool    `json:"crossed"`              // permanently
	Undecided  bool    `json:"undecided,omitempty"`  // so far it is neither met nor crossed for certain: see Reason
	Value      string  `json:"value,omitempty"`      // for people: when crossed; else of the run so far or of its worst window
	Reason     string  `json:"reason,omitempty"`     // what Value does not explain
	At         float64 `json:"at_seconds,omitempty"` // when it was crossed, since the load began
}

// Standings returns the state of the thresholds, in their order; nil if there are no
// thresholds.
func (e *Evaluator) Standings() []Standing {
	var all []Standing
	for _, j := range e.judges {
		s := Standing{Expression: j.String(), Crossed: j.crossed, Known: j.crossed, Value: j.value, Reason: j.reason, At: j.at.Seconds()}
		switch {
		case j.crossed || j.unbound != nil:
		case j.judged:
			s.Known, s.Met, s.Undecided = true, j.unsure == "", j.unsure != ""
			s.Value, s.Reason = j.shown(j.worst), j.unsure
		case j.Over == 0:
			d, ok := j.decide(j.whole)
			if s.Known = ok && e.intervals > 0; s.Known {
				s.Met, s.Undecided = !d.crossed && d.unsure == "", d.unsure != ""
				s.Value, s.Reason = j.shown(d.value), d.unsure
			}
		}
		all = append(all, s)
	}
	return all
}

// LoadOver declares that no new iterations begin from here on: rates per second and counts
// of windows are no longer judged, as they fall while the run drains.
func (e *Evaluator) LoadOver() { e.over = true }

// Lost adds counts, by title, that belong to no interval, as what was lost with an executor: they
// count for the whole run. Call it after the last Add, before Finish.
func (e *Evaluator) Lost(counters map[string]int64) {
	for _, j := range e.judges {
		if !j.crossed && !j.judged {
			j.whole.add(j.tally(Interval{Counters: counters}))
		}
	}
}

// Finish judges what is judged at the end and returns the results, in the order of the
// thresholds; nil if there are no thresholds. totals are the run's metrics, whose rates per
// second are those of the whole run. A threshold is crossed, with a Reason, if its metric cannot be judged or
// recorded nothing, and is Absent if that was never declared. One over windows is judged over the whole run if
// no window was full. The caller must call it once, after the last Add.
func (e *Evaluator) Finish(totals []run.Metric) []run.Threshold {
	var results []run.Threshold
	for _, j := range e.judges {
		if !j.crossed {
			j.finish(e, totals)
		}
		results = append(results, j.result())
	}
	return results
}

// judge is the state of one threshold.
type judge struct {
	Threshold
	binding binding
	unbound error // why no metric can be judged
	whole   tally // since the begin; without a histogram if windows are judged and one was full
	gauge   int64 // at the end of the last interval
	window  queue
	judged  bool    // a window has been full, and had values enough
	few     bool    // a full window had too few values for the percentile
	worst   float64 // of the windows judged, the figure furthest from the condition
	crossed bool
	wrong   bool          // the metric cannot have the statistic or unit
	missing bool          // the metric was never declared
	at      time.Duration // when
	value   string
	reason  string
	unsure  string // why the run, or a window, does not decide it; "" if all do
}

// add adds an interval and judges what can be judged after it. The time of a warm-up empties
// the window, and what it has of the measured phase counts for the whole run.
func (j *judge) add(i Interval, e *Evaluator) {
	if j.unbound != nil && !errors.Is(j.unbound, errAbsent) {
		j.wrong = true
		j.cross(i.To, "", j.unbound.Error())
		return
	}
	t := j.tally(i)
	if i.Warmup {
		j.window = queue{} // a window must not have gaps
		if t.length = 0; !j.judged {
			j.whole.add(t)
		}
		return
	}
	if v, ok := i.Gauges[j.binding.metric.Title]; ok {
		j.gauge = v
	}
	if !j.judged {
		j.whole.add(t)
	}
	if j.Over > 0 {
		j.slide(t, i.To, e.over)
		return
	}
	if !j.Abort || j.unbound != nil {
		return
	}
	if d, ok := j.decide(j.whole); ok && d.crossed && j.early(d.value, e) {
		j.cross(i.To, j.shown(d.value), "")
	}
}

// early reports whether a v that violates the condition already ends the run: a count if it
// is too great, as it only grows, and not if it is still too small; other figures once
// patience intervals are measured, but rps not while the run drains.
func (j *judge) early(v float64, e *Evaluator) bool {
	switch j.Stat {
	case "count":
		return j.Op == "<" || j.Op == "<=" || j.Op == "==" && v > j.bound()
	case "rps":
		return e.intervals >= patience && !e.over
	}
	return e.intervals >= patience
}

// slide moves the window by an interval and judges it when it is full, unless it has too few values
// for its percentile; after loadOver not its counts and rates per second.
func (j *judge) slide(t tally, at time.Duration, loadOver bool) {
	j.window.push(t)
	j.window.shrink(j.Over)
	if j.window.length() < j.Over || j.unbound != nil || loadOver && (j.Stat == "rps" || j.Stat == "count") {
		return
	}
	d, ok := j.decide(j.window.total())
	if j.few = j.few || d.few; !ok || d.few {
		return
	}
	if !j.judged || j.worse(d.value, j.worst) {
		j.judged, j.worst = true, d.value
		j.whole.histogram, j.whole.disturbed, j.whole.corrected = nil, nil, nil
	}
	switch {
	case d.crossed:
		j.cross(at, j.shown(d.value), "")
	case d.unsure != "" && j.unsure == "":
		j.unsure = "in the window that ends at " + window(at.Round(time.Millisecond)) + " " + d.unsure
	}
}

// finish judges at the run's end; see Evaluator.Finish. j must not be crossed.
func (j *judge) finish(e *Evaluator, totals []run.Metric) {
	switch {
	case errors.Is(j.unbound, errAbsent):
		j.missing = true
		j.cross(e.end, "", j.absent(e.metrics))
		return
	case j.unbound != nil:
		j.wrong = true
		j.cross(e.end, "", j.unbound.Error())
		return
	case j.judged:
		j.value, j.reason = j.shown(j.worst), j.unsure
		return
	case j.Over > 0:
		j.reason = "the run had no window of " + window(j.Over) + " to judge, so all of it was judged"
		if j.few {
			j.reason = "no window of " + window(j.Over) + " had values enough for " + j.Stat + ", so all of the run was judged"
		}
	}
	d, ok := j.decide(j.whole)
	if j.Stat == "rps" {
		d.value, ok = j.perSecond(totals)
		d.crossed = !j.holds(d.value)
	}
	if !ok {
		j.cross(e.end, "", "nothing was recorded")
		return
	}
	j.value = j.shown(d.value)
	switch {
	case d.crossed:
		j.cross(e.end, j.value, j.reason)
	case d.unsure != "":
		j.unsure = d.unsure
		if j.reason != "" {
			j.reason += "; "
		}
		j.reason += d.unsure
	}
}

// perSecond returns the rate of j's metric over the whole run, which is the sum of those that it
// counts; ok is false if it has none.
func (j *judge) perSecond(totals []run.Metric) (v float64, ok bool) {
	titles := j.binding.count
	if j.binding.metric.Type == run.Histogram {
		titles = []string{j.binding.metric.Title}
	}
	for _, m := range totals {
		if slices.Contains(titles, m.Title) && m.RPS != nil {
			v, ok = v+*m.RPS, true
		}
	}
	return v, ok
}

// cross marks j as crossed and releases what it has recorded.
func (j *judge) cross(at time.Duration, value, reason string) {
	j.crossed, j.at, j.value, j.reason = true, at, value, reason
	j.window, j.whole = queue{}, tally{}
}

// result returns the state of j for the run's record; At is nil unless it is crossed.
func (j *judge) result() run.Threshold {
	r := run.Threshold{Expression: j.String(), OK: !j.crossed && j.unsure == "", Value: j.value, Reason: j.reason, Wrong: j.wrong, Absent: j.missing, Undecided: !j.crossed && j.unsure != ""}
	if j.crossed {
		at := j.at.Seconds()
		r.At = &at
	}
	return r
}

// tally returns the threshold's part of an interval. It shares i's histogram.
func (j *judge) tally(i Interval) tally {
	t := tally{length: i.To - i.From}
	for _, title := range j.binding.count {
		t.count += i.Counters[title]
	}
	for _, title := range j.binding.all {
		t.all += i.Counters[title]
	}
	if h := i.Histograms[j.binding.good]; h != nil {
		t.all += int64(h.Count())
	}
	for _, title := range j.binding.lost {
		t.lost += i.Counters[title]
	}
	if j.binding.metric.Type == run.Histogram {
		t.histogram = i.Histograms[j.binding.metric.Title]
		t.disturbed, t.corrected = i.Histograms[j.binding.disturbed], i.Histograms[j.binding.corrected]
	}
	return t
}

// figure returns the threshold's statistic of t, in the unit of bound; ok is false if it
// has no value: a rate of nothing, a rate per second of no time, a figure of an empty
// distribution. A percentile that falls among the operations without an answer is infinite.
// A value is always the gauge's last, whatever t is.
func (j *judge) figure(t tally) (v float64, ok bool) {
	h := t.histogram
	if h == nil {
		h = new(hdr.Histogram)
	}
	count := float64(t.count)
	if j.binding.metric.Type == run.Histogram {
		count = float64(h.Count())
	}
	switch j.Stat {
	case "value":
		return float64(j.gauge), true
	case "count":
		return count, true
	case "rps":
		return count / t.length.Seconds(), t.length > 0
	case "rate":
		return count / float64(t.all), t.all > 0
	}
	if q, is := percentile(j.Stat); is {
		if !run.Answered(q, int64(h.Count()), t.lost) {
			return math.Inf(1), true
		}
		return float64(h.QuantileAmong(q, t.lost)), h.Count() > 0
	}
	switch j.Stat {
	case "avg":
		v = h.Mean()
	case "min":
		v = float64(h.Min())
	case "max":
		v = float64(h.Max())
	case "stdev":
		v = h.StdDev()
	}
	return v, h.Count() > 0
}
