package executor

import (
	"context"

	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/uuid"
)

// Seq returns a number that no other call of it returns in the run, on any host: from 0, below
// 2^53, on one executor without gaps, on several in blocks of 10,000, so that a sample by % 100
// is even on each. Any number of goroutines may call it at once. {{seq}} of a built-in is the
// number of a request, and not one of these.
func Seq(ctx context.Context) int64 {
	r := From(ctx)
	return (*meter.Scope)(r).Registry.Numbers().Seq(r.names().sequence.Add(1) - 1)
}

// UUID returns a random UUID (version 4), such as "f81d4fae-7dec-41d0-a765-00a0c91e6bf6". It is
// drawn from [Rand], so that a run can be repeated, and like that only the user's own goroutine
// may call it.
func UUID(ctx context.Context) string { return string(uuid.Append(nil, Rand(ctx))) }
