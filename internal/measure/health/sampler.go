package health

import (
	"sync"
	"time"
)

// Every is how often an executor takes a sample.
const Every = time.Second

// shortest is the time below which a sample says nothing.
const shortest = Every / 10

// Sampler reads what the machine and this process do. It is for one goroutine.
type Sampler struct {
	last    time.Time
	host    host
	runtime goRuntime
	clock   stepClock
	canary  canary
	stop    chan struct{}
	running sync.WaitGroup
}

// NewSampler makes a sampler, which begins to watch at once. Close ends it.
func NewSampler() *Sampler {
	s := &Sampler{last: time.Now(), stop: make(chan struct{})}
	s.clock.step(s.last)
	s.host.open()
	s.host.read(0, func(Metric, int64) {})
	s.runtime.open()
	s.runtime.read(func(Metric, int64) {})
	s.running.Go(func() { s.canary.run(s.stop) })
	return s
}

// Close ends what the sampler runs.
func (s *Sampler) Close() {
	close(s.stop)
	s.running.Wait()
	s.host.close()
}

// Sample gives record the figures of the time since the last sample; those that
// this machine does not tell are left out. Less than 0.1 s after it, it does nothing.
func (s *Sampler) Sample(record func(Metric, int64)) {
	now := time.Now()
	elapsed := now.Sub(s.last)
	if elapsed < shortest {
		return
	}
	s.last = now
	record(ClockStep, int64(s.clock.step(now)))
	s.host.read(elapsed, record)
	s.runtime.read(record)
	if p99, ok := s.canary.take(); ok {
		record(Canary, int64(p99))
	}
}

// stepClock notices jumps of the wall clock.
type stepClock struct{ last time.Time }

// step is how far the wall clock went beyond the monotonic one, or stayed behind it,
// since the last call. Each now carries both, as time.Now gives it.
func (c *stepClock) step(now time.Time) time.Duration {
	defer func() { c.last = now }()
	if c.last.IsZero() {
		return 0
	}
	return stepOf(now.Round(0).Sub(c.last.Round(0)), now.Sub(c.last))
}

// stepOf compares how far two clocks went.
func stepOf(wall, monotonic time.Duration) time.Duration { return (wall - monotonic).Abs() }
