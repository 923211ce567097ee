package agent

import (
	"context"
	"io"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Bus is how an agent speaks with its master. All its methods may be called at once by
// any goroutine. The connection is made again for ever when it is lost.
type Bus interface {
	// Beat puts the agent's entry in the registry.
	Beat(ctx context.Context, b *agentpb.Beat) error
	// Commands calls do with each command that the master has signed for this agent, those
	// of Prepare, Arm, Begin and Control one after the other and all others at once, until
	// ctx ends.
	Commands(ctx context.Context, do func(context.Context, *agentpb.Command) *agentpb.Answer) error
	// Deliver sends a delivery and returns when the bus has it safe: it need not be
	// committed yet.
	Deliver(ctx context.Context, d *agentpb.Delivery) error
	// Committed calls f with what the master has committed, until ctx ends.
	Committed(ctx context.Context, f func(*agentpb.Committed)) error
	// Fetch copies the rest of a blob of the master, from an offset on, to w. The digest is
	// the caller's to check.
	Fetch(ctx context.Context, b *agentpb.Blob, offset int64, w io.Writer) error
	// Serve gives the master the blobs it asks for, until ctx ends.
	Serve(ctx context.Context, open func(sha256 string) (Blob, error)) error
}

// Blob is a file to be fetched.
type Blob = agentpb.File
