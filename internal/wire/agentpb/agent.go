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

// WithAgent is the Ended.how of an executor that ended with its agent's previous process.
const WithAgent = "ended with its agent"
