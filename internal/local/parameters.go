package local

import (
	"context"
	"errors"

	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/wire"
)

// Parameters returns the parameters that the scenario in an executor declares. It starts
// the executor and ends it before any load.
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
