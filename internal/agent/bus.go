package agent

import (
	"context"
	"io"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// Bus connects an agent with its master. Its methods may be called by any number of
// goroutines. It reconnects whenever the connection is lost, without limit.
type Bus interface {
	// Beat puts the agent's entry in the registry. It makes one attempt.
	Beat(ctx context.Context, b *agentpb.Beat) error
	// Commands calls do with each command that the master has signed for this agent, and
	// sends the answers. Prepare, Arm, Begin and Control are done one at a time, all others
	// concurrently. It returns nil when ctx has ended and the last call of do has returned,
	// and an error if it cannot begin.
	Commands(ctx context.Context, do func(context.Context, *agentpb.Command) *agentpb.Answer) error
	// Deliver sends a delivery and returns once the bus has stored it. It is committed
	// later. It returns an error if ctx ends first, or at once if the delivery is too
	// large.
	Deliver(ctx context.Context, d *agentpb.Delivery) error
	// Committed calls f with each commit of the master, one at a time. It returns nil when
	// ctx has ended and the last call of f has returned, and an error if it cannot begin.
	Committed(ctx context.Context, f func(*agentpb.Committed)) error
	// Fetch copies a blob of the master to w, from an offset in bytes on. The caller must
	// check the digest. After an error w may have received a part.
	Fetch(ctx context.Context, b *agentpb.Blob, offset int64, w io.Writer) error
	// Serve sends the master the blobs that it requests, and closes each. It calls open
	// concurrently. It returns nil when ctx has ended, and an error if it cannot begin.
	Serve(ctx context.Context, open func(sha256 string) (Blob, error)) error
}

// Blob is a file that the master fetches.
type Blob = agentpb.File
