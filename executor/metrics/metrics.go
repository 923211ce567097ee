// Package metrics is the vocabulary in which a client declares what it measures:
// a [Group] holds graphs, a [Graph] holds metrics of one unit, a [Metric] has a
// title that is unique in a run. It is plain data; executor.Setup takes it.
package metrics

// Type is the kind of a metric. It decides what a value means and how the values
// of several executors become one.
type Type string

// MetricType is another name of Type, which scenarios of the first gobench use.
type MetricType = Type

const (
	// Counter only grows; values are added, over time and over executors.
	Counter Type = "counter"
	// Histogram keeps the distribution of its values, which are 0 or more
	// (nanoseconds, bytes); the counts of all executors are added before any
	// percentile is taken.
	Histogram Type = "histogram"
	// Gauge is the last value set; the gauges of several executors are added.
	Gauge Type = "gauge"
)

// Metric is one measured thing.
type Metric struct {
	Title string // unique in a run, 1 to 128 bytes of printable text, as "home.latency"
	Type  Type
}

// Graph is a chart: metrics that share a unit and an axis.
type Graph struct {
	Title   string // unique in its group
	Unit    string // of all values: "ns", "B", "N" (a number of things)
	Metrics []Metric
}

// Group is what one client declares, as "HTTP (home)". Its name is unique in a run.
type Group struct {
	Name   string
	Graphs []Graph
}
