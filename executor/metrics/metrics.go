// Package metrics has the types with which a client declares its metrics to executor.Setup: a
// [Group] contains graphs, a [Graph] contains metrics of one unit, and a [Metric] has a title
// that is unique in a run. They are plain data.
package metrics

// Type is the kind of a metric. It defines the meaning of a value and how the values of
// several executors are merged.
type Type string

// MetricType is another name of Type, which scenarios of the first gobench use.
type MetricType = Type

const (
	// Counter only grows: values, 0 or more, are added, over time and over executors.
	Counter Type = "counter"
	// Histogram is the distribution of its values, which are 0 or more (nanoseconds,
	// bytes). The counts of all executors are added before percentiles are computed.
	Histogram Type = "histogram"
	// Gauge is the last value set, of any sign; the gauges of several executors are added.
	Gauge Type = "gauge"
)

// Metric is one measured thing. A run has at most 1,000.
type Metric struct {
	Title string // unique in a run, 1 to 128 bytes of printable text, for example "home.latency"
	Type  Type
}

// Graph is a chart of metrics with one unit and axis. Title and Unit are 1 to 128 bytes of
// printable text.
type Graph struct {
	Title   string // unique in its group
	Unit    string // of all values: "ns", "B", "N" (a number of things)
	Metrics []Metric
}

// Group holds all graphs of one client, such as "HTTP (home)". Its name is unique in a run and
// has 1 to 128 bytes of printable text.
type Group struct {
	Name   string
	Graphs []Graph
}
