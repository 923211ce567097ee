package runner

import (
	"time"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/wire"
)

// phase returns the phase of what begins, or was to begin, at a time of the class's clock; no
// phase if the run has no warm-up, and before the load begins.
func (c *class) phase(at time.Duration) meter.Phase {
	if len(c.warmups) == 0 || !c.underway.Load() { // the clock of the set-up is not the load's
		return meter.NoPhase
	}
	if warm, _ := c.warmups.at(at); warm {
		return meter.Warmup
	}
	return meter.Measured
}

// phaseNow sets the phase of a scope whose operations belong to no iteration, so that each has
// the phase in which it begins; none before the load begins.
func (c *class) phaseNow(s *meter.Scope) {
	if len(c.warmups) == 0 {
		return
	}
	s.PhaseNow = func() meter.Phase { return c.phase(c.now()) }
}

// numbered reports whether users are busy with the last of a number of iterations: the load of
// such a class ends when that has ended, not when it has begun.
func (r *Runner) numbered() bool {
	for _, c := range r.classes {
		switch c.vu.Load.(type) {
		case nil, scenario.Times, scenario.Shared:
			if going, _ := c.going(); going > 0 {
				return true
			}
		}
	}
	return false
}

// endMeasured ends the measured time, at the first call: it lasts until now, and not longer than length.
func (r *Runner) endMeasured(length time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return
	}
	now := min(clock()-r.zero, length)
	r.loadEnd = now
	r.ended = &wire.Ended{MeasuredNs: int64(r.warmups.outside(now) - r.paused(now))}
	for i, c := range r.registry.Sums() {
		switch c.Type {
		case metrics.Counter:
			r.ended.Counters = append(r.ended.Counters, &wire.Counter{Metric: uint32(i), Add: c.N})
		case metrics.Histogram:
			r.ended.Histograms = append(r.ended.Histograms, &wire.Counted{Metric: uint32(i), Count: uint64(c.N)})
		case metrics.Gauge: // a gauge does not add up
		}
	}
}

// paused returns for how long, up to now, the load was paused outside of warm-ups. The caller
// must hold r.mu.
func (r *Runner) paused(now time.Duration) (sum time.Duration) {
	for _, p := range r.pauses {
		sum += r.warmups.outside(min(p.to, now)) - r.warmups.outside(min(p.from, now))
	}
	return sum
}

// pause notes that a pause begins now, unless one has begun, or that it ends.
func (r *Runner) pause(begins bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, last := clock()-r.zero, len(r.pauses)-1
	paused := last >= 0 && r.pauses[last].to == forever
	switch {
	case r.zero == 0 || begins == paused:
	case begins:
		r.pauses = append(r.pauses, window{now, forever})
	default:
		r.pauses[last].to = now
	}
}
