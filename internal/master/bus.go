package master

import (
	"context"
	"io"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Bus connects the master with its agents. Its methods are safe for concurrent use. They
// call the functions they receive sequentially for each agent, and concurrently for
// different agents. Those that run until ctx ends return nil then, and an error if they
// can't continue.
type Bus interface {
	// Join answers requests to join until ctx ends.
	Join(ctx context.Context, answer func(*agentpb.Join) *agentpb.Joined) error
	// Watch calls beat with each beat of an agent, and gone when an agent's entry in the
	// registry has expired, until ctx ends.
	Watch(ctx context.Context, beat func(*agentpb.Beat), gone func(agent string)) error
	// Command signs a command, sends it to its agent and returns the answer. It returns an
	// error that wraps ErrNotConnected if the agent is not connected, and ctx's error if ctx ends first.
	Command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error)
	// Deliveries calls take with the deliveries of agents, in each agent's order, until ctx
	// ends. It begins with those that arrived while no master was connected. A delivery is
	// redelivered until its Receipt.Done is called, and soon if take returns an error.
	Deliveries(ctx context.Context, take func(*agentpb.Delivery, Receipt) error) error
	// Committed notifies an agent of what is stored, which it need not send again.
	Committed(ctx context.Context, agent string, c *agentpb.Committed) error
	// Serve answers agents' requests for blobs until ctx ends. It closes what open returns.
	Serve(ctx context.Context, open func(sha256 string) (Blob, error)) error
	// Fetch copies a blob of an agent to w and checks its digest.
	Fetch(ctx context.Context, agent string, b *agentpb.Blob, w io.Writer) error
	// Kick closes an agent's connections. It is authorized again when it reconnects.
	Kick(agent string)
	// Available reports whether the bus delivers messages. It does not while it has no
	// leader; agents do not become lost during that time.
	Available() bool
}

// ErrNotConnected means that the agent a command is for is not connected.
var ErrNotConnected = agentpb.ErrNotConnected

// Receipt acknowledges one delivery. Blob is an open file that an agent fetches.
type (
	Receipt = agentpb.Receipt
	Blob    = agentpb.File
)
