// Package wire holds the messages that executors, agents and the master exchange.
// It does no I/O. wire.proto is the source; docs/formats/wire.md tells the order of
// the messages and what a receiver may refuse.
package wire

// Protocol is the major version of the messages. Both sides must agree on it.
const Protocol = 1

// MaxSeen is how many exchanges are shown of a run whose Start says once, MaxRemarks how
// many checks and steps.
const (
	MaxSeen    = 100
	MaxRemarks = 1000
)

// MaxMessage is the greatest size of one message, in bytes. A batch of 1,000
// histograms stays far below it.
const MaxMessage = 16 << 20
