// Package run has the types of the domain: a run, its states, and the result that other
// packages store, display and compare. It imports the standard library only.
//
// Start with [Result], which describes a run, and [State]. [Order] is a run as a master queues
// it. The values of [MetricType], [Severity] and [Verdict] are listed or ordered: code switches
// over them, never over their text.
package run
