package health

import (
	"sync"
	"time"
)

// Every is how often an executor takes a sample.
const Every = time.Second

// shortest is the time below which a sample means nothing.
const shortest = Every / 10

// Sampler reads figures of the machine and of this process. It must not be used by several
// goroutines at once.
type Sampler struct {
	last    time.Time
	host    host
	runtime goRuntime
	clock   stepClock
	canary  canary
	stop    chan struct{}
	running sync.WaitGroup
}

// NewSampler returns a sampler, which begins to measure at once: the first Sample covers
// the time since this call. The caller must Close it.
func NewSampler(inFlight func() int64) *Sampler {
	s := &Sampler{last: time.Now(), stop: make(chan struct{})}
	s.clock.step(s.last)
	s.host.open()
	s.host.read(0, func(Metric, int64) {})
	s.runtime.open()
	s.runtime.read(func(Metric, int64) {})
	s.running.Go(func() { s.canary.run(s.stop, inFlight) })
	return s
}

// Close stops the sampler's goroutine and waits for it. The caller must call it only once.
func (s *Sampler) Close() {
	close(s.stop)
	s.running.Wait()
	s.host.close()
}

// Sample calls record with the figures of the time since the last sample; those that this
// machine does not provide are left out. It does nothing if less than 0.1 s has passed.
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

// stepClock detects jumps of the wall clock.
type stepClock struct{ last time.Time }

// step returns by how much, 0 or more, the wall clock advanced more or less than the
// monotonic one since the last call; 0 in the first. now must have both readings, as
// time.Now returns it.
func (c *stepClock) step(now time.Time) time.Duration {
	defer func() { c.last = now }()
	if c.last.IsZero() {
		return 0
	}
	return stepOf(now.Round(0).Sub(c.last.Round(0)), now.Sub(c.last))
}

// stepOf compares how far two clocks advanced.
func stepOf(wall, monotonic time.Duration) time.Duration { return (wall - monotonic).Abs() }
