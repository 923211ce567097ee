package live

import (
	"math"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// Run is the state of an active run, as far as events reported it. [Run.apply] changes it.
// It must not be used by several goroutines at once.
type Run struct {
	Name   string // the scenario's file, or a built-in's command
	Target string
	Keys   bool // the terminal accepts keys
	Help   bool // the help on keys is shown

	state      run.State
	step       string
	detail     string    // progress of the step
	since      time.Time // when step began
	plan       event.Plan
	began      time.Time // when the load began
	paused     bool
	pausedAt   time.Time
	held       time.Duration // total length of the pauses that have ended
	ending     *event.Event
	until      time.Time           // the latest end of the drain
	set        map[string]*setting // by class
	last       run.Interval
	totals     event.Totals
	totaled    time.Time
	thresholds []threshold.Standing
	done       int64 // iterations, warm-ups included
	history    history
}

// setting is what the user has set of a class; below 0 if unset.
type setting struct {
	users int64
	rate  float64
}

// apply updates r with an event, in the order of time, which must have the fields of its kind;
// kinds that the screen does not show are ignored. It retains e's values, and calls an
// interval's Totals within this call, at most every 125 ms.
func (r *Run) apply(e event.Event) {
	switch e.Kind {
	case event.Step:
		if e.Plan != nil {
			r.plan = *e.Plan
		}
		if r.detail = e.Detail; e.Text != "" {
			r.step, r.since = e.Text, e.Time
		}
	case event.State:
		r.setState(e)
	case event.Control:
		r.change(e)
	case event.Ending:
		r.ending = &e
	case event.Drain:
		r.until = e.Time.Add(time.Duration(e.Within * float64(time.Second)))
	case event.Interval:
		r.last, r.thresholds = *e.Interval, e.Thresholds
		if e.Totals != nil && e.Time.Sub(r.totaled) >= beat/2 { // computing totals is expensive
			r.totals, r.totaled = e.Totals(), e.Time
		}
		for _, m := range r.totals.Metrics {
			if n := r.last.Metrics[m.Title].Count; m.Role == run.ClassDone && n != nil {
				r.done += *n
			}
		}
		r.history.add(r.last, r.totals.Metrics)
	}
}

// setState sets the state, and what begins with it: the step's time when compiling or
// starting, the load's when running. When stopping, the step becomes the waiting for what
// is in flight.
func (r *Run) setState(e event.Event) {
	r.state = e.State
	switch e.State {
	case run.Compiling, run.Starting:
		r.since = e.Time
	case run.Running:
		r.began = e.Time
	case run.Stopping:
		r.step, r.since = "waiting for what is in flight", e.Time
	}
}

// change records a change made by the user; a repeated pause or resume, or another kind of
// change, has no effect.
func (r *Run) change(e event.Event) {
	switch c := e.Control; c.What {
	case "pause":
		if !r.paused {
			r.paused, r.pausedAt = true, e.Time
		}
	case "resume":
		if r.paused {
			r.paused = false
			r.held += e.Time.Sub(r.pausedAt)
		}
	case "scale":
		s := r.setting(c.Class)
		if c.Users != nil {
			s.users = *c.Users
		}
		if c.Rate != nil {
			s.rate = *c.Rate
		}
	}
}

// setting returns what is set of a class, or of the only class if the name is empty,
// creating it if needed; the caller may change it.
func (r *Run) setting(class string) *setting {
	if class == "" && len(r.plan.Classes) == 1 {
		class = r.plan.Classes[0].Name
	}
	if r.set == nil {
		r.set = map[string]*setting{}
	}
	s := r.set[class]
	if s == nil {
		s = &setting{-1, -1}
		r.set[class] = s
	}
	return s
}

// Paused reports whether the load is paused.
func (r *Run) Paused() bool { return r.paused }

// elapsed returns how long the load has been active at now, pauses included; 0 before it.
func (r *Run) elapsed(now time.Time) time.Duration {
	if r.began.IsZero() {
		return 0
	}
	return max(0, now.Sub(r.began))
}

// shift returns by how much pauses have moved the schedule of an open load.
func (r *Run) shift(now time.Time) time.Duration {
	if r.paused {
		return r.held + now.Sub(r.pausedAt)
	}
	return r.held
}

// length returns how long the load is to last, pauses included that prolong it, if a time
// limits it; 0 if no time does.
func (r *Run) length(now time.Time) (length time.Duration) {
	for _, c := range r.plan.Classes {
		l := c.Length
		if c.Open && l > 0 {
			l += r.shift(now)
		}
		if l == 0 { // its work decides, which may take longer
			length = 0
			break
		}
		length = max(length, l)
	}
	if d := r.plan.Duration; d > 0 && (r.plan.Hold || length == 0 || d < length) {
		return d
	}
	return length
}

// planned returns the number of iterations after which the load ends; 0 if they do not
// limit it.
func (r *Run) planned() (n int64) {
	for _, c := range r.plan.Classes {
		if c.Iterations == 0 {
			return 0
		}
		n += c.Iterations
	}
	return n
}

// part returns how much of the load is done, 0 to 1, and how much time is left, as far as
// either is known; below 0 if unknown.
func (r *Run) part(now time.Time) (part float64, left time.Duration) {
	part, left = -1, -1
	elapsed := r.elapsed(now)
	if length := r.length(now); length > 0 {
		part, left = min(1, elapsed.Seconds()/length.Seconds()), max(0, length-elapsed)
	}
	if n := r.planned(); n > 0 {
		byWork := min(1, float64(r.done)/float64(n))
		if byWork > part {
			part = byWork
			// At the average pace so far, which is known once some work is done.
			if active := elapsed - r.shift(now); r.done > 0 && active > 2*time.Second && !r.paused {
				pace := time.Duration(float64(active) * (1 - byWork) / byWork)
				if left < 0 || pace < left {
					left = pace
				}
			}
		}
	}
	return part, left
}

// Steer returns the changes that multiply the current load by factor: of an open class its
// rate, to three digits, of another its users, by at least one (not for a factor of 1) and to
// no fewer than one; no users remain none with a factor below 1. By is left empty. It returns
// nil while no plan is known, and does not change r.
func (r *Run) Steer(factor float64, now time.Time) (changes []event.Change) {
	for _, c := range r.plan.Classes {
		change := event.Change{What: "scale", Class: c.Name}
		if c.Open {
			rate := round(r.level(c, now) * factor)
			change.Rate = &rate
		} else {
			at := r.level(c, now)
			users := int64(math.Round(at * factor))
			switch { // by at least one
			case factor > 1:
				users = max(users, int64(at)+1)
			case factor < 1:
				users = max(min(1, int64(at)), min(users, int64(at)-1))
			}
			change.Users = &users
		}
		changes = append(changes, change)
	}
	return changes
}

// round rounds to three digits, for a rate that people read; 0 if v is not above 0.
func round(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	if unit < 1 {
		return math.Round(v*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(v/unit) * unit
}

// level returns the planned number of users or rate of a class at now, or what the user has
// set.
func (r *Run) level(c event.Class, now time.Time) float64 {
	if s := r.set[c.Name]; s != nil {
		if c.Open && s.rate >= 0 {
			return s.rate
		}
		if !c.Open && s.users >= 0 {
			return float64(s.users)
		}
	}
	if len(c.Stages) == 0 {
		return float64(c.Users)
	}
	_, level, _ := r.stage(c, now)
	return level
}

// stage returns the number of the stage that a class, which has stages, is in at now, from
// 0, the planned level, and the time until the stage's end. After the last stage it returns
// that one, its end's level, and 0.
func (r *Run) stage(c event.Class, now time.Time) (number int, level float64, left time.Duration) {
	at := r.elapsed(now)
	if c.Open {
		at -= r.shift(now)
	}
	from := 0.0
	if c.Open {
		from = c.Stages[0].To
	}
	for n, s := range c.Stages {
		if at < s.Over {
			return n, from + (s.To-from)*at.Seconds()/s.Over.Seconds(), s.Over - at
		}
		at -= s.Over
		from = s.To
	}
	return len(c.Stages) - 1, from, 0
}

// headline returns the run's main distributions.
func (r *Run) headline() []run.Metric {
	return report.Headline(r.totals.Metrics, r.history.has)
}
