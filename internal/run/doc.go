// Package run holds the domain: what a run is, the states it goes through, and the result
// that everything else stores, shows and compares. It imports the standard library only.
//
// Start with [Result], what is known of a run, and [State]. [Order] is a run as a master
// queues it. [MetricType], [Severity] and [Verdict] have an order or a list of their own:
// code switches over them, never over their text.
package run
