package live

import (
	"math"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// Run is what is known of a run that goes on. It is plain data that [Run.Apply]
// changes; it is for one goroutine at a time.
type Run struct {
	Name   string // the scenario's file, or a built-in's command
	Target string
	Keys   bool // the terminal listens
	Help   bool // what the keys do is shown

	state      run.State
	step       string
	detail     string    // what it has come to
	since      time.Time // when step began
	plan       event.Plan
	began      time.Time // when the load did
	paused     bool
	pausedAt   time.Time
	held       time.Duration // how long pauses lasted that are over
	ending     *event.Event
	set        map[string]*setting // by class
	last       run.Interval
	totals     event.Totals
	totaled    time.Time
	thresholds []threshold.Standing
	done       int64 // iterations, of warm-ups too
	history    history
}

// setting is what a person has set of a class; below 0: nothing.
type setting struct {
	users int64
	rate  float64
}

// Apply takes what an event tells.
func (r *Run) Apply(e event.Event) {
	switch e.Kind {
	case event.Step:
		if e.Plan != nil {
			r.plan = *e.Plan
		}
		if r.detail = e.Detail; e.Text != "" {
			r.step, r.since = e.Text, e.Time
		}
	case event.State:
		r.stand(e)
	case event.Control:
		r.change(e)
	case event.Ending:
		r.ending = &e
	case event.Interval:
		r.last, r.thresholds = *e.Interval, e.Thresholds
		if e.Totals != nil && e.Time.Sub(r.totaled) >= beat/2 { // they cost
			r.totals, r.totaled = e.Totals(), e.Time
		}
		for title, m := range e.Interval.Metrics {
			if m.Count != nil && strings.HasPrefix(title, "vu.") && strings.HasSuffix(title, ".iterations") {
				r.done += *m.Count
			}
		}
		r.history.add(r.last)
	}
}

// stand takes a new state.
func (r *Run) stand(e event.Event) {
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

// change takes what a person has changed.
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

// setting gives that of a class, or of the only one when class is empty.
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

// Paused tells whether the load is held.
func (r *Run) Paused() bool { return r.paused }

// elapsed is how long the load has gone on at now.
func (r *Run) elapsed(now time.Time) time.Duration {
	if r.began.IsZero() {
		return 0
	}
	return max(0, now.Sub(r.began))
}

// shift is by how much pauses have moved the schedule of an open load.
func (r *Run) shift(now time.Time) time.Duration {
	if r.paused {
		return r.held + now.Sub(r.pausedAt)
	}
	return r.held
}

// length is how long the load is to last, as far as a time decides that; 0: no
// time does.
func (r *Run) length(now time.Time) (length time.Duration) {
	for _, c := range r.plan.Classes {
		l := c.Length
		if c.Open && l > 0 {
			l += r.shift(now)
		}
		if l == 0 { // its work decides, which may last longer
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

// planned is how many iterations the load ends with; 0: their number does not end it.
func (r *Run) planned() (n int64) {
	for _, c := range r.plan.Classes {
		if c.Iterations == 0 {
			return 0
		}
		n += c.Iterations
	}
	return n
}

// part is how much of the load is behind, 0 to 1, and how much time that leaves, as
// far as either is known; below 0: it is not.
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
			// At the pace so far, which is known once some work is done.
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

// Steer gives the changes that make the load so many times what it is at now: of each
// class its rate if it has a schedule, else its users.
func (r *Run) Steer(factor float64, now time.Time) (changes []event.Change) {
	for _, c := range r.plan.Classes {
		change := event.Change{What: "scale", Class: c.Name}
		if c.Open {
			rate := round(r.level(c, now) * factor)
			change.Rate = &rate
		} else {
			at := r.level(c, now)
			users := int64(math.Round(at * factor))
			switch { // at least by one
			case factor > 1:
				users = max(users, int64(at)+1)
			case factor < 1:
				users = max(1, min(users, int64(at)-1))
			}
			change.Users = &users
		}
		changes = append(changes, change)
	}
	return changes
}

// round keeps three digits: a rate that a person reads.
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

// level is the users or the rate of a class at now, as they are meant to be.
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

// stage is the number of the stage that a class is in at now, from 0, the value it is
// to have, and how long until the stage's end.
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

// headline gives the distributions that the run is about.
func (r *Run) headline() []run.Metric {
	return report.Headline(r.totals.Metrics, r.history.has)
}
