package run

import (
	"fmt"
	"slices"
	"time"
)

// Format is the version of a result's form, in files and on the wire. It changes if a reader of
// the old form would misread the new one.
const Format = "gobench.result/2"

// format1 is the form of results whose metrics have no roles.
const format1 = "gobench.result/1"

// Accept makes a result that was decoded from JSON usable: the metrics of one of an older form
// get their roles. Its Format stays. An unknown form is an error that names it.
func (r *Result) Accept() error {
	switch r.Format {
	case Format:
	case format1:
		for i := range r.Metrics {
			m := &r.Metrics[i]
			m.Counts = Counts1(m.Title, m.Type, m.Group)
		}
		r.Measured = max(0, r.Seconds-r.Warmup)
	default:
		return fmt.Errorf("it has format %q, and this gobench reads %q and %q", r.Format, Format, format1)
	}
	return nil
}

// Result describes a run: its options, where it ran, how it ended and what it counted.
// docs/formats/result.md describes its JSON.
type Result struct {
	Format      string      `json:"format"`
	Gobench     string      `json:"gobench"` // version
	ID          string      `json:"id"`
	Name        string      `json:"name"` // the scenario's file, or the built-in's command
	State       State       `json:"state"`
	Cause       string      `json:"cause,omitempty"`   // of a failed or cancelled run
	Failure     Kind        `json:"failure,omitempty"` // the kind of failure, of a master's run
	Created     time.Time   `json:"created"`
	Start       time.Time   `json:"start_time,omitzero"`      // when the load began; RFC 3339 with nanoseconds
	Seconds     float64     `json:"seconds"`                  // duration of the load with its drain
	Measured    float64     `json:"measured_seconds"`         // part of it over which rates are computed: until the load's end, without warm-ups and pauses
	Warmup      float64     `json:"warmup_seconds,omitempty"` // part of it that is excluded from the totals and rates
	Config      Config      `json:"config"`
	Environment Environment `json:"environment"`
	Hosts       []Host      `json:"hosts,omitempty"`   // that generated the load, of a master's run
	Complete    bool        `json:"complete"`          // the totals are exactly what the executor counted
	Missing     []string    `json:"missing,omitempty"` // what is missing if not complete
	Verdict     Verdict     `json:"verdict,omitempty"` // whether the numbers can be trusted; empty before the load begins
	Reasons     []Reason    `json:"reasons,omitempty"` // why the verdict was lowered, the worst first
	Notes       []string    `json:"notes,omitempty"`
	Thresholds  []Threshold `json:"thresholds,omitempty"`
	Metrics     []Metric    `json:"metrics"` // totals over the whole run
	Errors      []Failure   `json:"errors"`
	Samples     []Sample    `json:"samples,omitempty"` // failed exchanges, the first few of each class
}

// Kind is a kind of failure of a whole run.
type Kind string

// The kinds.
const (
	FailedCompile  Kind = "compile"  // the scenario does not compile
	FailedInput    Kind = "input"    // the input is invalid: a parameter, a threshold
	FailedScenario Kind = "scenario" // the scenario can't run
	FailedExecutor Kind = "executor" // executors ended before the run did
	FailedGuard    Kind = "guard"    // a guard ended the run because it caused harm
	FailedLost     Kind = "lost"     // agents were lost
)

// Host is one of several that generated the load.
type Host struct {
	Name        string      `json:"name"`
	Agent       string      `json:"agent"` // id
	Executors   int         `json:"executors"`
	Began       time.Time   `json:"began,omitzero"` // when its load began, by the master's clock
	Clock       float64     `json:"clock_seconds"`  // by how much its clock is ahead of the master's
	ClockError  float64     `json:"clock_error_seconds"`
	Lost        float64     `json:"lost_seconds,omitempty"` // if it was lost, up to when its load is counted, since the load began; 0: not lost
	Environment Environment `json:"environment"`
}

// Config holds the options of a run.
type Config struct {
	Command      []string          `json:"command,omitempty"`
	Scenario     string            `json:"scenario,omitempty"` // path of the source
	Executor     string            `json:"executor_sha256,omitempty"`
	Target       string            `json:"target,omitempty"`     // where a built-in sends its load
	Options      map[string]string `json:"options,omitempty"`    // of a built-in
	Parameters   map[string]string `json:"parameters,omitempty"` // of a scenario, with the values it used
	Seed         uint64            `json:"seed"`
	Duration     float64           `json:"duration_seconds,omitempty"`
	Interval     float64           `json:"interval_seconds"`
	GracefulStop float64           `json:"graceful_stop_seconds"`
	Classes      []Class           `json:"classes"`
}

// Class is a class of users as it ran.
type Class struct {
	Name      string  `json:"name"`
	Users     int64   `json:"users"`
	Rate      float64 `json:"rate"` // users started per second; 0: all at once
	Load      string  `json:"load"`
	Closed    bool    `json:"closed"`                       // each iteration began when the previous one had ended
	Starts    float64 `json:"starts_per_second,omitempty"`  // of an open load with one constant rate, evenly spaced, that was not changed: that rate
	StartsFor float64 `json:"starts_for_seconds,omitempty"` // for how long, with the warm-up; set with Starts
}

// Environment describes the machine that generated the load.
type Environment struct {
	Host      string `json:"host"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel,omitempty"`
	CPU       string `json:"cpu,omitempty"`
	CPUs      int    `json:"cpus"`
	Memory    int64  `json:"memory_bytes,omitempty"`
	OpenFiles uint64 `json:"open_files,omitempty"` // limit of a process
	Go        string `json:"go,omitempty"`         // version that built the executor
}

// Metric is a declared metric with its record over the whole run.
type Metric struct {
	Title string     `json:"title"`
	Type  MetricType `json:"type"`
	Group string     `json:"group"`
	Graph string     `json:"graph"`
	Unit  string     `json:"unit"`
	Counts
	Record
	Spread *Spread `json:"spread,omitempty"` // of a counter

	// Histogram holds the whole histogram over the run without warm-up, in the form that
	// docs/formats/hdr.md describes.
	Histogram []byte `json:"histogram,omitempty"`
}

// Spread describes how steady a counter's rate was: its statistics over whole intervals, a
// second, without warm-up.
type Spread struct {
	Stdev  float64 `json:"stdev"`
	Max    float64 `json:"max"`
	Within float64 `json:"within_stdev"` // share of intervals less than a Stdev from the average
}

// Interval holds what all metrics recorded in one interval, by title. Metrics without
// recordings are omitted.
type Interval struct {
	Start   time.Time           `json:"start_time"`
	From    float64             `json:"from_seconds"`     // since the load began
	Seconds float64             `json:"seconds"`          // its length
	Warmup  bool                `json:"warmup,omitempty"` // the interval is of a warm-up
	Errors  int64               `json:"errors"`           // operations that failed or got no answer; without clients iterations
	Health  map[string]Severity `json:"health,omitempty"` // signals of the generator's health that were amber or red
	Metrics map[string]Record   `json:"metrics"`
	Phases  *Phases             `json:"phases,omitempty"` // Metrics without gauges, divided; nil if all belong to one phase
}

// Phases are what an interval recorded of each phase. An operation belongs to the phase in which
// its iteration was planned to begin, wherever it ends.
type Phases struct {
	Measured map[string]Record `json:"measured"`
	Warmup   map[string]Record `json:"warmup"`
}

// Record holds what a metric recorded in a period. A counter has Count and RPS, a
// gauge Value, a histogram Count, RPS, Within and either Times (unit ns) or Sizes, and Lost
// if operations got no answer.
type Record struct {
	Count   *int64             `json:"count,omitempty"`        // a counter's growth, a histogram's recordings
	Lost    *int64             `json:"lost,omitempty"`         // operations without a value, which rank after all others: see Quantile
	RPS     *float64           `json:"rps,omitempty"`          // of an interval: Count per second; of the whole run: per second of the measured time, of all that came within it
	Later   *int64             `json:"later,omitempty"`        // of the whole run: how many came after the measured time, and are not in RPS
	Value   *int64             `json:"value,omitempty"`        // a gauge's, at the end
	AtLeast map[string]float64 `json:"at_least,omitempty"`     // by the name of a percentile without a value ("p99"): how long the operation of that rank had waited
	Bounds  map[string]float64 `json:"bounds,omitempty"`       // by the name of a figure ("p99", "max", "avg", "rps"), in its unit: how much of it may be gobench's own; of rps, how much is missing. Without those that are 0
	Within  *float64           `json:"within_stdev,omitempty"` // share of a histogram's recordings that are less than a Stdev from Avg
	*Times
	*Sizes
}

// Times are the figures of a histogram of nanoseconds, in milliseconds.
type Times struct {
	Avg   float64  `json:"avg(ms)"`
	Min   float64  `json:"min(ms)"`
	P50   Quantile `json:"p50(ms)"`
	P90   Quantile `json:"p90(ms)"`
	P95   Quantile `json:"p95(ms)"`
	P99   Quantile `json:"p99(ms)"`
	P999  Quantile `json:"p99.9(ms)"`
	Max   float64  `json:"max(ms)"`
	Stdev float64  `json:"stdev(ms)"`
}

// Sizes are the figures of any other histogram, in its unit.
type Sizes struct {
	Avg   float64  `json:"avg"`
	Min   float64  `json:"min"`
	P50   Quantile `json:"p50"`
	P90   Quantile `json:"p90"`
	P95   Quantile `json:"p95"`
	P99   Quantile `json:"p99"`
	P999  Quantile `json:"p99.9"`
	Max   float64  `json:"max"`
	Stdev float64  `json:"stdev"`
}

// Threshold is a condition that the run was to meet, and whether it did:
// docs/thresholds.md.
type Threshold struct {
	Expression string   `json:"expression"`
	OK         bool     `json:"ok"`
	Value      string   `json:"value,omitempty"`      // when crossed, otherwise at the end or in the worst window; for display
	Reason     string   `json:"reason,omitempty"`     // what value does not say
	At         *float64 `json:"at_seconds,omitempty"` // when crossed: since the load began
	Wrong      bool     `json:"wrong,omitempty"`      // its metric cannot have its statistic or unit, for the reason Reason: the run was stopped, unless that was found at its end
	Absent     bool     `json:"absent,omitempty"`     // its metric was never declared
	Undecided  bool     `json:"undecided,omitempty"`  // for the reason Reason the run says neither that it is met nor that it is crossed; OK is false
}

// Crossed reports whether the run did not meet t, for certain.
func (t Threshold) Crossed() bool { return !t.OK && !t.Undecided }

// Verdict says whether a run's numbers can be believed: docs/truth.md.
type Verdict string

// The verdicts.
const (
	Valid   Verdict = "VALID"
	Suspect Verdict = "SUSPECT" // something disturbed the generator: read the numbers with care
	Invalid Verdict = "INVALID" // the generator failed: the numbers are not the target's
)

// Worse reports whether v is a worse verdict than other. The order is Valid, Suspect,
// Invalid; an unknown verdict comes before them.
func (v Verdict) Worse(other Verdict) bool { return v.rank() > other.rank() }

func (v Verdict) rank() int { return slices.Index([]Verdict{Valid, Suspect, Invalid}, v) }

// Reason is a signal of the generator's health that lowered a verdict.
type Reason struct {
	Signal  string   `json:"signal"`
	Level   Severity `json:"level"` // amber or red
	Text    string   `json:"text"`
	Advice  string   `json:"advice"`          // what to do about it
	Windows int      `json:"windows"`         // intervals that were amber or red
	Worst   float64  `json:"worst_seconds"`   // when the worst of them began, since the load began
	Share   float64  `json:"share,omitempty"` // of gobench's own delay in the run, 0 to 1, that came in these intervals
	Cause   bool     `json:"cause,omitempty"` // it disturbed gobench, and does not decide the verdict
}

// Failure is a kind of failure and how often it came.
type Failure struct {
	Source string `json:"source"` // a client's prefix, or vu.CLASS
	Class  string `json:"class"`
	Text   string `json:"text"`
	Count  int64  `json:"count"`
}

// Sample is a failed exchange, as an example of its failure. The first few of each source
// and class are stored.
type Sample struct {
	Source string  `json:"source"` // as in Failure
	Class  string  `json:"class"`
	At     float64 `json:"at_seconds"` // when the exchange began, since the load began
	Text   string  `json:"text"`       // what was sent and received, in lines, without secrets, cut at a few KB
}
