// Package agentpb holds the messages that a master and its agents exchange. It does no
// I/O. agent.proto is the source; docs/formats/cluster.md describes the order of the
// messages and the subjects of the bus.
package agentpb

// Protocol is the major version of the messages: both sides must agree on it. Minor is
// raised by a change that the other side may ignore.
const (
	Protocol = 1
	Minor    = 0
)

// Codes of an Answer's error that the master distinguishes.
const (
	CodeScenario = "scenario" // the scenario itself cannot run
	CodeUnknown  = "unknown"  // the run is not here, and all other reasons
)

// PhaseOver is the Beat.phase of a run of which nothing is left but deliveries.
const PhaseOver = "over"

// WithAgent is the Ended.how of an executor that ended with its agent's previous process.
const WithAgent = "ended with its agent"

// BySignal is the Ended.how of an executor whose load a signal from elsewhere has ended. It
// sent its last batch then.
const BySignal = "ended its load by a signal"
