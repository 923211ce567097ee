// Package agentpb holds the messages that a master and its agents exchange. It does no
// I/O. agent.proto is the source; docs/formats/cluster.md tells the order of the
// messages and the subjects of the bus.
package agentpb

// Protocol is the major version of the messages: both sides must agree on it. Minor is
// raised by what the other side may ignore.
const (
	Protocol = 1
	Minor    = 0
)

// WithAgent is how an executor has ended of which an agent says that an earlier life of its
// own had it: Ended.how.
const WithAgent = "ended with its agent"
