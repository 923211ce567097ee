package master

import (
	"context"
	"sync"
)

// errands are functions that run concurrently with one context. The caller must call wait.
type errands struct {
	ctx context.Context
	wg  sync.WaitGroup
}

func newErrands(ctx context.Context) *errands { return &errands{ctx: ctx} }

func (e *errands) do(f func(context.Context)) { e.wg.Go(func() { f(e.ctx) }) }

func (e *errands) wait() { e.wg.Wait() }
