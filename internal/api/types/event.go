package types

import (
	"math"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/run"
)

// Event is an event.Event of a run in the stream of events: the object that
// docs/formats/events.md describes, with more for a screen. Numbers increase over all
// runs; the numbers of one run's events need not be consecutive.
type Event struct {
	Number uint64 `json:"number"`
	Run    string `json:"run"` // id
	event.Event
	Detail string  `json:"detail,omitempty"` // of step: progress
	Plan   *Plan   `json:"plan,omitempty"`   // of step: the load, once it is known
	Totals *Totals `json:"totals,omitempty"` // of interval, with totals=1
}

// Totals holds a run's totals up to an interval, without the warm-up.
type Totals struct {
	Metrics  []run.Metric  `json:"metrics"`
	Failures []run.Failure `json:"failures"`
	Verdict  run.Verdict   `json:"verdict,omitempty"`
	Reasons  []run.Reason  `json:"reasons,omitempty"`
}

// Plan is the load that a run will make.
type Plan struct {
	Users    int64       `json:"users"` // of all classes
	Classes  []PlanClass `json:"classes"`
	Duration float64     `json:"duration_seconds,omitempty"` // 0: until the classes end
	Hold     bool        `json:"hold,omitempty"`             // the run also lasts as long as the duration
	Warmup   float64     `json:"warmup_seconds,omitempty"`
}

// PlanClass is a class of users in a plan.
type PlanClass struct {
	Name       string      `json:"name"`
	Users      int64       `json:"users"`
	Closed     bool        `json:"closed,omitempty"`     // an iteration starts when the previous one has ended
	Iterations int64       `json:"iterations,omitempty"` // of all its users together; the class ends with them
	Length     float64     `json:"length_seconds,omitempty"`
	Stages     []PlanStage `json:"stages,omitempty"`
	Open       bool        `json:"open,omitempty"` // stages change a rate, else the number of users
}

// PlanStage is a linear change from the end of the previous stage.
type PlanStage struct {
	To     float64 `json:"to"`
	Over   float64 `json:"over_seconds"`
	Warmup bool    `json:"warmup,omitempty"`
}

// NewEvent converts an event of a run, with id, for the stream. With totals it calls
// e.Totals, if set, which is expensive. It shares slices with e.
func NewEvent(number uint64, id string, e event.Event, totals bool) Event {
	out := Event{Number: number, Run: id, Event: e, Detail: e.Detail}
	if p := e.Plan; p != nil {
		out.Plan = &Plan{Users: p.Users, Duration: p.Duration.Seconds(), Hold: p.Hold, Warmup: p.Warmup.Seconds()}
		for _, c := range p.Classes {
			class := PlanClass{Name: c.Name, Users: c.Users, Closed: c.Closed, Iterations: c.Iterations, Length: c.Length.Seconds(), Open: c.Open}
			for _, s := range c.Stages {
				class.Stages = append(class.Stages, PlanStage{To: s.To, Over: s.Over.Seconds(), Warmup: s.Warmup})
			}
			out.Plan.Classes = append(out.Plan.Classes, class)
		}
	}
	if totals && e.Totals != nil {
		t := e.Totals()
		out.Totals = &Totals{Metrics: t.Metrics, Failures: t.Failures, Verdict: t.Verdict, Reasons: t.Reasons}
	}
	return out
}

// Live converts back. Run is set for a change of state only. Totals is nil if e has none,
// and else may be called at any time and concurrently; the slices that it returns are
// shared.
func (e Event) Live() event.Event {
	out := e.Event
	out.Detail, out.Plan, out.Totals, out.Run = e.Detail, nil, nil, ""
	if e.Kind == event.State {
		out.Run = e.Run
	}
	if p := e.Plan; p != nil {
		out.Plan = &event.Plan{Users: p.Users, Duration: duration(p.Duration), Hold: p.Hold, Warmup: duration(p.Warmup)}
		for _, c := range p.Classes {
			class := event.Class{Name: c.Name, Users: c.Users, Closed: c.Closed, Iterations: c.Iterations, Length: duration(c.Length), Open: c.Open}
			for _, s := range c.Stages {
				class.Stages = append(class.Stages, event.Stage{To: s.To, Over: duration(s.Over), Warmup: s.Warmup})
			}
			out.Plan.Classes = append(out.Plan.Classes, class)
		}
	}
	if t := e.Totals; t != nil {
		totals := event.Totals{Metrics: t.Metrics, Failures: t.Failures, Verdict: t.Verdict, Reasons: t.Reasons}
		out.Totals = func() event.Totals { return totals }
	}
	return out
}

// duration converts seconds; it is exact to the nanosecond below 104 days.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * 1e9))
}
