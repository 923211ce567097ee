// Package wire holds the messages that executors, agents and the master exchange.
// It does no I/O. wire.proto is the source; docs/formats/wire.md describes the order of
// the messages and what a receiver may refuse.
package wire

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

// MaxMessage is the greatest size of one message, in bytes. A batch of 1,000 histograms is
// far smaller.
const MaxMessage = 16 << 20
