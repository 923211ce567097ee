// Package master runs what is submitted: it keeps the queue, compiles, shares a run out
// among agents, begins it on all of them at once, merges what they count and gives the
// result. It speaks with agents over a Bus and keeps what it knows in a Store.
package master

import (
	"context"
	"io"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Bus is how the master speaks with its agents. All its methods may be called at once by
// any goroutine. Functions that are given to it are called one after the other for each
// agent; those of different agents at once.
type Bus interface {
	// Join answers requests to join until ctx ends.
	Join(ctx context.Context, answer func(*agentpb.Join) *agentpb.Joined) error
	// Watch calls beat with each beat of an agent, and gone when its entry in the registry
	// has expired, until ctx ends.
	Watch(ctx context.Context, beat func(*agentpb.Beat), gone func(agent string)) error
	// Command signs a command, sends it to its agent and returns the answer. The end of ctx
	// gives up. ErrAway: nobody is there to answer.
	Command(ctx context.Context, c *agentpb.Command) (*agentpb.Answer, error)
	// Deliveries calls take with what agents send of their runs, in each agent's order,
	// until ctx ends: those that came while no master listened first. One is sent again
	// until Committed has named it; take says with an error that it wants it again soon.
	Deliveries(ctx context.Context, take func(*agentpb.Delivery, Receipt) error) error
	// Committed tells an agent what is kept and need not be sent again.
	Committed(ctx context.Context, agent string, c *agentpb.Committed) error
	// Serve gives agents the blobs they ask for, until ctx ends.
	Serve(ctx context.Context, open func(sha256 string) (Blob, error)) error
	// Fetch copies a blob of an agent to w and checks its digest.
	Fetch(ctx context.Context, agent string, b *agentpb.Blob, w io.Writer) error
	// Kick cuts an agent's connections; what it may do is asked again when it comes back.
	Kick(agent string)
	// Available tells whether messages get through at present: not while the bus has no
	// leader. Agents are not judged as lost for that time.
	Available() bool
}

// ErrAway means that nobody is there to answer a command.
var ErrAway = agentpb.ErrAway

// Receipt is of one delivery, Blob a file to be fetched.
type (
	Receipt = agentpb.Receipt
	Blob    = agentpb.File
)
