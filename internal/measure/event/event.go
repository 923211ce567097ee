// Package event holds what happens in a run while it goes on: its states, intervals,
// thresholds that are crossed, and its end. The terminal, the API and the lines of --json
// show the same events (docs/formats/events.md).
package event

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
)

// Kind is what an event tells of.
type Kind string

// The kinds, and the fields that events of each have beside Kind and Time.
const (
	Step     Kind = "step"      // Text: what is done now, before the load
	Note     Kind = "note"      // Text: something worth a line
	Warning  Kind = "warning"   // Text: what may make the run worthless; --quiet shows it too
	Log      Kind = "log"       // Text: a line of --verbose
	State    Kind = "state"     // State; Run once it has an id; Text where a line is due
	Interval Kind = "interval"  // Interval, Verdict, Thresholds
	Crossed  Kind = "threshold" // Threshold, Text
	Control  Kind = "control"   // Control, Text
	Ending   Kind = "ending"    // Cancel, By, Text: a person ends the run
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
	Threshold  *run.Threshold       `json:"threshold,omitempty"` // that was crossed
	Control    *Change              `json:"control,omitempty"`
	Cancel     bool                 `json:"cancel,omitempty"` // else a stop, which drains
	By         string               `json:"by,omitempty"`     // who ends it: "Ctrl-C"
	Cause      string               `json:"cause,omitempty"`
	Result     string               `json:"result,omitempty"` // the file that keeps it
	Exit       *int                 `json:"exit_status,omitempty"`
	Error      string               `json:"error,omitempty"`

	Detail string        `json:"-"` // of Step without Text: what the step has come to
	Plan   *Plan         `json:"-"` // of Step: what is to be run, once that is known
	Totals func() Totals `json:"-"` // of Interval; good until whoever is told has returned
}

// Numbered is an event of one of many runs, numbered over all of them from 1.
type Numbered struct {
	Number uint64
	Run    string // id
	Event
}

// Change is what a person has changed of the load: by a key, or by gobench ctl.
type Change struct {
	What  string   `json:"what"`            // pause, resume, scale
	Class string   `json:"class,omitempty"` // of scale; empty: the only one
	Users *int64   `json:"users,omitempty"` // of scale, if they were set
	Rate  *float64 `json:"rate,omitempty"`  // of scale, if it was set
	By    string   `json:"by"`              // "gobench ctl", "key"
}

// Totals are a run's figures after an interval, over all of it but its warm-up.
type Totals struct {
	Metrics  []run.Metric
	Failures []run.Failure
	Verdict  health.Verdict
}

// Plan is what a run is to do.
type Plan struct {
	Users    int64         // of all classes
	Classes  []Class       // as the scenario declares them
	Duration time.Duration // of the run; 0: the classes decide
	Hold     bool          // Duration also holds the run open
	Warmup   time.Duration // beside what stages say
}

// Class is a class of users.
type Class struct {
	Name       string
	Users      int64
	Closed     bool          // iterations start when the one before ended
	Iterations int64         // that it ends with, of all its users; 0: it does not
	Length     time.Duration // that it ends with; 0: it does not
	Stages     []Stage       // of a ramp of users, or of a rate where Open
	Open       bool          // stages are of a rate
}

// Stage is a part of a class's load: a straight line from the end of the stage before.
type Stage struct {
	To     float64 // users, or starts a second
	Over   time.Duration
	Warmup bool
}
