package local

import (
	"context"
	"errors"

	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire"
)

// Parameters returns the parameters that the scenario in an executor, the path of a program,
// declares; nil if it has none. It starts the executor, waits for its hello and ends it before
// any load. Without a hello the error is that of process.Process.Run.
func Parameters(ctx context.Context, executor string) ([]*wire.Param, error) {
	var declared []*wire.Param
	seen := errors.New("declared")
	err := process.New(process.Spec{Path: executor, Hello: func(h *wire.Hello) error {
		declared = h.Params
		return seen
	}}).Run(ctx)
	if !errors.Is(err, seen) {
		return nil, err
	}
	return declared, nil
}
