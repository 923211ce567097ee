package client

import (
	"context"
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
)

// Result returns a run's result; if the run has not ended, the result so far.
func (c *Client) Result(ctx context.Context, id string) (*run.Result, error) {
	r, err := ask[*run.Result](ctx, c, request{method: "GET", path: runPath(id, "/result")})
	if err != nil {
		return nil, err
	}
	if err := r.Accept(); err != nil {
		return nil, fmt.Errorf("result of run %s: %w", id, err)
	}
	return r, nil
}
