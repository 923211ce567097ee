// Package wire holds the messages that executors, agents and the master exchange.
// It does no I/O. wire.proto is the source; docs/formats/wire.md describes the order of
// the messages and what a receiver may refuse.
package wire

import "github.com/gobench-io/gobench/internal/run"

// Protocol is the major version of the messages. Both sides must agree on it.
const Protocol = 1

// Values of Control.what.
const (
	Pause  = "pause"
	Resume = "resume"
	Scale  = "scale"
)

// MaxSeen is the most exchanges, and MaxRemarks the most checks and steps, that a run sends
// as Seen if its Start sets once.
const (
	MaxSeen    = 100
	MaxRemarks = 1000
)

// MaxKnown is the most metrics that a Hello names.
const MaxKnown = 1000

// MaxMessage is the greatest size of one message, in bytes. A batch of 1,000 histograms is
// far smaller.
const MaxMessage = 16 << 20

// InWarmup reports whether b's time is of a warm-up; b itself may belong to the other phase.
func (b *Batch) InWarmup() bool { return b.GetWarmup() != b.GetMore() }

// MetricOf returns m, without its record, as batches declare it.
func MetricOf(m run.Metric) *Metric {
	d := &Metric{Title: m.Title, Type: string(m.Type), Group: m.Group, Graph: m.Graph, Unit: m.Unit}
	d.SetCounts(m.Counts)
	return d
}

// SetCounts sets what d counts.
func (d *Metric) SetCounts(c run.Counts) {
	d.Role, d.Of, d.By, d.Part = string(c.Role), c.Of, c.By, c.Part
}

// Metric returns d without a record.
func (d *Metric) Metric() run.Metric {
	return run.Metric{Title: d.Title, Type: run.MetricType(d.Type), Group: d.Group, Graph: d.Graph, Unit: d.Unit,
		Counts: run.Counts{Role: run.Role(d.Role), Of: d.Of, By: d.By, Part: d.Part}}
}
