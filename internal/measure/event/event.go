// Package event defines the events of a run while it is active: its states, intervals,
// thresholds that are crossed, and its end. The terminal, the API and the lines of --json
// show the same events (docs/formats/events.md).
package event

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Kind is the kind of an event.
type Kind string

// The kinds, and the fields that events of each have beside Kind and Time.
const (
	Step     Kind = "step"      // Text: what is being done before the load
	Note     Kind = "note"      // Text: information worth a line
	Warning  Kind = "warning"   // Text: what may make the run worthless; shown with --quiet too
	Log      Kind = "log"       // Text: a line of --verbose
	State    Kind = "state"     // State; Run once it has an id; Text if it is to be shown
	Interval Kind = "interval"  // Interval, Verdict, Thresholds
	Crossed  Kind = "threshold" // Threshold, Text
	Control  Kind = "control"   // Control, Text
	Drain    Kind = "drain"     // Within, Text: the load is over, what is in flight may take so long
	Ending   Kind = "ending"    // Cancel, By, Text: the user ends the run
	Ended    Kind = "end"       // State, Cause, Verdict, Thresholds, Result, Exit, Error
)

// Event is something that happens in a run. Text is for people, and safe for a
// terminal. docs/formats/events.md describes its JSON.
type Event struct {
	Kind Kind      `json:"event"`
	Time time.Time `json:"time"`
	Text string    `json:"text,omitempty"`

	State      run.State            `json:"state,omitempty"`
	Run        string               `json:"run,omitempty"` // id
	Interval   *run.Interval        `json:"interval,omitempty"`
	Verdict    run.Verdict          `json:"verdict,omitempty"` // so far
	Thresholds []threshold.Standing `json:"thresholds,omitempty"`
	Threshold  *run.Threshold       `json:"threshold,omitempty"` // the threshold that was crossed
	Control    *Change              `json:"control,omitempty"`
	Within     float64              `json:"within_seconds,omitempty"`
	Cancel     bool                 `json:"cancel,omitempty"` // true: cancel at once; false: stop and drain
	By         string               `json:"by,omitempty"`     // who ends it: "Ctrl-C"
	Cause      string               `json:"cause,omitempty"`
	Result     string               `json:"result,omitempty"` // the result file
	Exit       *int                 `json:"exit_status,omitempty"`
	Error      string               `json:"error,omitempty"`

	Detail string        `json:"-"` // of Step without Text: progress of the step
	Plan   *Plan         `json:"-"` // of Step: the run's plan, once it is known
	Totals func() Totals `json:"-"` // of Interval; valid only until the receiver returns
}

// OfDrain returns the event of a load that is over, whose drain lasts limit at most.
func OfDrain(limit time.Duration) Event {
	return Event{Kind: Drain, Within: limit.Seconds(), Text: "waiting for what is in flight, at most " + units.Seconds(limit.Seconds())}
}

// Numbered is an event of one of many runs. Its number counts the events of all of them,
// from 1.
type Numbered struct {
	Number uint64
	Run    string // id
	Event
}

// Change is a change of the load by the user: with a key or with gobench ctl.
type Change struct {
	What  string   `json:"what"`            // pause, resume, scale
	Class string   `json:"class,omitempty"` // of scale; empty if the run has only one class
	Users *int64   `json:"users,omitempty"` // of scale, if they were set
	Rate  *float64 `json:"rate,omitempty"`  // of scale, if it was set
	By    string   `json:"by"`              // "gobench ctl", "a key"
}

// Totals are a run's figures up to an interval, without its warm-up.
type Totals struct {
	Metrics  []run.Metric
	Failures []run.Failure
	Verdict  run.Verdict
	Reasons  []run.Reason
}

// Plan is the load that a run is to make.
type Plan struct {
	Users    int64         // of all classes
	Classes  []Class       // as the scenario declares them
	Duration time.Duration // of the run; 0 if the classes decide
	Hold     bool          // the run lasts Duration even if its classes end before
	Warmup   time.Duration // in addition to that of stages
}

// Class is a class of users.
type Class struct {
	Name       string
	Users      int64
	Closed     bool          // each user starts an iteration when the previous one ends
	Iterations int64         // after which the class ends, all its users together; 0: unlimited
	Length     time.Duration // after which the class ends; 0: unlimited
	Stages     []Stage       // of users, or of a rate if Open
	Open       bool          // Stages are of a rate
}

// Stage is a part of a class's load: linear from the end of the previous stage.
type Stage struct {
	To     float64 // users, or starts per second
	Over   time.Duration
	Warmup bool
}
