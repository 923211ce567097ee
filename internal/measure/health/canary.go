package health

import (
	"slices"
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// canary notes how much longer the sleeps of delay.Watch took. Whatever stops this process
// delays them: a SIGSTOP, a suspended virtual machine, neighbours that use the CPUs.
type canary struct {
	mu    sync.Mutex
	overs []time.Duration // since the last call of take, at most maxNaps; guarded by mu
	spare []time.Duration
}

const maxNaps = 1 << 12

// run watches this process, of whose operations inFlight are in flight, until stop is closed. Between two calls of take it notes at most
// maxNaps sleeps. Only one goroutine may run it.
func (c *canary) run(stop <-chan struct{}, inFlight func() int64) {
	delay.Watch(stop, inFlight, func(over time.Duration) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.overs) < maxNaps {
			c.overs = append(c.overs, over)
		}
	})
}

// take returns the 99th percentile of the delays of the sleeps since the last call; with
// fewer than 100 sleeps, the longest delay. ok is false if no sleep has ended. It may run
// beside run, but not beside itself.
func (c *canary) take() (p99 time.Duration, ok bool) {
	c.mu.Lock()
	c.overs, c.spare = c.spare[:0], c.overs
	c.mu.Unlock()
	return percentile99(c.spare)
}

// percentile99 sorts values, in place, and returns the smallest that 99 % do not exceed; ok
// is false if values is empty.
func percentile99(values []time.Duration) (time.Duration, bool) {
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return values[(len(values)*99+99)/100-1], true
}
