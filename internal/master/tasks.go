package master

import (
	"context"
	"sync"
)

// tasks are functions that run concurrently with one context. The caller must call wait.
type tasks struct {
	ctx context.Context
	wg  sync.WaitGroup
}

func newTasks(ctx context.Context) *tasks { return &tasks{ctx: ctx} }

func (e *tasks) do(f func(context.Context)) { e.wg.Go(func() { f(e.ctx) }) }

func (e *tasks) wait() { e.wg.Wait() }
