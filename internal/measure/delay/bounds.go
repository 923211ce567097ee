package delay

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// Times is what a metric recorded of operations: all of their times, and for those that differ
// from what they took at least (see Own.Least), both.
type Times struct {
	All                  *hdr.Histogram
	Disturbed, Corrected *hdr.Histogram // nil: none
	Lost                 int64          // operations without a time, which rank after all others
}

// Any reports whether an operation was disturbed.
func (t Times) Any() bool { return t.Disturbed != nil && t.Disturbed.Count() > 0 }

// Least returns the distribution of what the operations took at least: All, itself, if no time was
// disturbed.
func (t Times) Least() *hdr.Histogram {
	if !t.Any() {
		return t.All
	}
	h := new(hdr.Histogram)
	h.Merge(t.All)
	h.Subtract(t.Disturbed)
	if t.Corrected != nil {
		h.Merge(t.Corrected)
	}
	return h
}

// Own returns the sum of what was gobench's own in the times.
func (t Times) Own() time.Duration {
	if !t.Any() {
		return 0
	}
	own := sum(t.Disturbed)
	if t.Corrected != nil {
		own -= sum(t.Corrected)
	}
	return time.Duration(max(0, own))
}

// Sum returns the sum of all times.
func (t Times) Sum() time.Duration {
	if t.All == nil {
		return 0
	}
	return time.Duration(sum(t.All))
}

func sum(h *hdr.Histogram) float64 { return h.Mean() * float64(h.Count()) }

// Bounds are by how much figures may be too high, in nanoseconds.
type Bounds struct {
	Quantiles [5]int64 // in the order of run.QuantileNames; 0 for those without a value
	Max       int64
	Avg       float64
}

// Of returns the bounds of the figures of t.
func Of(t Times) (b Bounds) {
	if !t.Any() {
		return b
	}
	least, n := t.Least(), int64(t.All.Count())
	for i, x := range run.QuantileNames {
		if run.Answered(x.Q, n, t.Lost) {
			b.Quantiles[i] = max(0, t.All.QuantileAmong(x.Q, t.Lost)-least.QuantileAmong(x.Q, t.Lost))
		}
	}
	b.Max = max(0, t.All.Max()-least.Max())
	b.Avg = max(0, t.All.Mean()-least.Mean())
	return b
}

// MissingRate returns by which share of it the rate of a closed load may be too low: own is gobench's
// own part of the time of its users' iterations, and busy that time. It is at most 99: more means
// that nothing of the time was the target's, or the scenario's.
func MissingRate(own, busy time.Duration) float64 {
	const most = 99
	switch {
	case own <= 0:
		return 0
	case float64(busy-own)*most <= float64(own):
		return most
	}
	return float64(own) / float64(busy-own)
}
