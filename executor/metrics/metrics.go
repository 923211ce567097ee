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

// Role is what a metric counts of an operation of its client. Everything that judges or shows
// a run, as thresholds, guards, the live view, reports and comparisons, recognizes metrics by
// their roles. A metric without one is recorded and shown, and means nothing to gobench.
//
// Begun = OK + Failed + Unanswered once all operations have ended.
type Role string

// The roles; the type of metric that each needs.
const (
	Begun      Role = "op.begun"      // counter: operations that began
	OK         Role = "op.ok"         // counter: operations answered well
	Failed     Role = "op.failed"     // counter: operations answered with a failure
	Unanswered Role = "op.unanswered" // counter: operations that ended without an answer
	Resent     Role = "op.resent"     // counter: requests that the client sent again by itself
	Followed   Role = "op.followed"   // counter: further requests that an answer demanded, as redirects
	Time       Role = "op.time"       // histogram, ns: time of answered operations
	Age        Role = "op.age"        // histogram, ns: how long unanswered operations had waited

	Bytes       Role = "bytes"       // transferred by the client
	Connections Role = "connections" // opened by the client, or, of a gauge, open
	Detail      Role = "detail"      // of the client's work, as the time of a name lookup
)

// Counts is what a metric counts: its role, and of which operation. By and Part are empty for
// a metric that counts all of the operation. A metric that counts a part of it again has in By
// what the whole is divided by, and in Part which part it is: By "error" and Part "timeout",
// By "status" and Part "500", By "url" and Part "orders". Sums are taken over wholes only.
type Counts struct {
	Role Role
	Of   string // name of the operation, as the prefix of its titles
	By   string
	Part string
}
