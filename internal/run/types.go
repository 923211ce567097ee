package run

import "fmt"

// MetricType is the type of a metric, as results, batches and the published package
// executor/metrics write it. If you add one, add it to metricTypes: TestSwitches then names
// each switch that lacks it.
type MetricType string

// The types of metrics.
const (
	Counter   MetricType = "counter"   // a sum: Count and RPS
	Histogram MetricType = "histogram" // a distribution: Count, RPS, Within and Times or Sizes
	Gauge     MetricType = "gauge"     // a level that rises and falls: Value
)

// metricTypes are all types of metrics.
var metricTypes = [...]MetricType{Counter, Histogram, Gauge}

// Known reports whether t is one of metricTypes.
func (t MetricType) Known() bool {
	for _, known := range metricTypes {
		if t == known {
			return true
		}
	}
	return false
}

// Severity is how bad a signal of the generator's health is. A worse one is greater. Its
// JSON is its name: amber or red.
type Severity int

// The severities.
const (
	Fine  Severity = iota // nothing to report; not stored
	Amber                 // makes a run SUSPECT
	Red                   // makes a run INVALID if the generator is at fault
)

var severities = [...]string{Fine: "", Amber: "amber", Red: "red"}

// String returns the name of s, "" for Fine, and "Severity(N)" for an unknown one.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severities) {
		return fmt.Sprintf("Severity(%d)", int(s))
	}
	return severities[s]
}

// MarshalText returns the name of s. It never returns an error.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s by its name, "" being Fine. If text is not the name of a severity,
// it returns an error and leaves s unchanged.
func (s *Severity) UnmarshalText(text []byte) error {
	for level, name := range severities {
		if name == string(text) {
			*s = Severity(level)
			return nil
		}
	}
	return fmt.Errorf("level %q is neither amber nor red", text)
}
