package types

import (
	"math"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
)

// Event is a live.Event of a run as the stream of events tells it: the object that
// docs/formats/events.md describes, and beside it what a screen wants. Numbers grow over
// all runs; one that follows another need not be the next.
type Event struct {
	Number uint64 `json:"number"`
	Run    string `json:"run"` // id
	event.Event
	Detail string  `json:"detail,omitempty"` // of step: what it has come to
	Plan   *Plan   `json:"plan,omitempty"`   // of step: what is to be run, once that is known
	Totals *Totals `json:"totals,omitempty"` // of interval, where they were asked for
}

// Totals are a run's figures after an interval, over all of it but its warm-up.
type Totals struct {
	Metrics  []run.Metric  `json:"metrics"`
	Failures []run.Failure `json:"failures"`
	Verdict  run.Verdict   `json:"verdict,omitempty"`
	Reasons  []run.Reason  `json:"reasons,omitempty"`
}

// Plan is what a run is to do.
type Plan struct {
	Users    int64       `json:"users"` // of all classes
	Classes  []PlanClass `json:"classes"`
	Duration float64     `json:"duration_seconds,omitempty"` // 0: the classes decide
	Hold     bool        `json:"hold,omitempty"`             // the duration also holds the run open
	Warmup   float64     `json:"warmup_seconds,omitempty"`
}

// PlanClass is a class of users of a plan.
type PlanClass struct {
	Name       string      `json:"name"`
	Users      int64       `json:"users"`
	Closed     bool        `json:"closed,omitempty"`     // iterations start when the one before ended
	Iterations int64       `json:"iterations,omitempty"` // that it ends with, of all its users
	Length     float64     `json:"length_seconds,omitempty"`
	Stages     []PlanStage `json:"stages,omitempty"`
	Open       bool        `json:"open,omitempty"` // stages are of a rate, else of users
}

// PlanStage is a straight line from the end of the stage before.
type PlanStage struct {
	To     float64 `json:"to"`
	Over   float64 `json:"over_seconds"`
	Warmup bool    `json:"warmup,omitempty"`
}

// NewEvent says event number of a run. Totals of an interval are asked for only where
// they are wanted: they cost.
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
		out.Totals = &Totals{Metrics: t.Metrics, Failures: t.Failures, Verdict: t.Verdict.Word}
		for _, r := range t.Verdict.Reasons {
			out.Totals.Reasons = append(out.Totals.Reasons, run.Reason{
				Signal: r.Signal, Level: r.Level, Text: r.Text, Advice: r.Advice, Windows: r.Windows, Worst: r.Worst.Seconds(),
			})
		}
	}
	return out
}

// Live gives back the event that was said. Its Totals are good for ever.
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
		totals := event.Totals{Metrics: t.Metrics, Failures: t.Failures, Verdict: health.Verdict{Word: t.Verdict}}
		for _, r := range t.Reasons {
			totals.Verdict.Reasons = append(totals.Verdict.Reasons, health.Reason{
				Signal: r.Signal, Level: r.Level, Text: r.Text, Advice: r.Advice, Windows: r.Windows, Worst: duration(r.Worst),
			})
		}
		out.Totals = func() event.Totals { return totals }
	}
	return out
}

// duration is exact to the nanosecond below 104 days.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * 1e9))
}
