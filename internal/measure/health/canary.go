package health

import (
	"slices"
	"sync"
	"time"
)

// nap is how long the canary sleeps.
const nap = 10 * time.Millisecond

// canary sleeps for short times and notes how much longer they took. Whatever stops this
// process delays the canary: a SIGSTOP, a suspended virtual machine, neighbours that use
// the CPUs.
type canary struct {
	mu    sync.Mutex
	overs []time.Duration // since the last call of take, at most maxNaps; guarded by mu
	spare []time.Duration
}

const maxNaps = 1 << 12

// run sleeps nap at a time until stop is closed. Between two calls of take it notes at most
// maxNaps sleeps. Only one goroutine may run it.
func (c *canary) run(stop <-chan struct{}) {
	timer := time.NewTimer(nap)
	defer timer.Stop()
	for began := time.Now(); ; {
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		now := time.Now()
		c.mu.Lock()
		if len(c.overs) < maxNaps {
			c.overs = append(c.overs, max(0, now.Sub(began)-nap))
		}
		c.mu.Unlock()
		began = now
		timer.Reset(nap)
	}
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
