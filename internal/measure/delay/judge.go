package delay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// Finding is a percentile that may be off by more than is allowed.
type Finding struct {
	Title  string // of the metric
	Name   string // "p99"
	Value  time.Duration
	Least  time.Duration // it may be as low
	Level  run.Severity  // amber: the run is SUSPECT; red: INVALID
	beyond float64       // its bound as a multiple of what is allowed
}

// What a percentile may be off by: a part of it or a time, whichever is more, and what another run
// would not repeat either (see noise).
const (
	allowedShare = 0.05
	allowedTime  = time.Millisecond / 2
	grossShare   = 0.20 // of p50 and p90: they are not even roughly right
	grossTime    = 2 * time.Millisecond
)

// Judge returns the percentiles of a metric, p50 to p99, that are off by more than is allowed, the
// worst first; nil if they stand. Percentiles of too few values are left out.
func Judge(title string, t Times) (all []Finding) {
	if !t.Any() {
		return nil
	}
	least, n := t.Least(), int64(t.All.Count())
	for _, x := range run.QuantileNames {
		if x.Q > 0.99 || !run.Answered(x.Q, n, t.Lost) || !run.Enough(x.Q, n+t.Lost) {
			continue
		}
		v, low := t.All.QuantileAmong(x.Q, t.Lost), least.QuantileAmong(x.Q, t.Lost)
		spread := min(noise(t.All, x.Q, t.Lost, 0), noise(least, x.Q, t.Lost, 1)) // gobench's own delays are no noise
		limit := func(share float64, time time.Duration) float64 {
			return max(share*float64(v), float64(time)) + spread
		}
		off := float64(v - low)
		f := Finding{Title: title, Name: x.Name, Value: time.Duration(v), Least: time.Duration(low), beyond: off / limit(allowedShare, allowedTime)}
		switch {
		case x.Q <= 0.9 && off > limit(grossShare, grossTime):
			f.Level = run.Red
		case f.beyond > 1:
			f.Level = run.Amber
		default:
			continue
		}
		all = append(all, f)
	}
	Sort(all)
	return all
}

// Sort sorts findings, the worst first.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(b.beyond, a.beyond))
	})
}

// noise returns by how much a percentile of these many values varies between equal runs: the
// distance from the one that is two standard deviations of its rank below it, to the one that is
// above times as many above it.
func noise(h *hdr.Histogram, q float64, lost int64, above float64) float64 {
	deviation := math.Sqrt(q * (1 - q) / (float64(h.Count()) + float64(lost)))
	return float64(h.QuantileAmong(min(1, q+2*above*deviation), lost) - h.QuantileAmong(max(0, q-2*deviation), lost))
}

// rateShare is the share of its rate by which a closed load may be too low at most.
const rateShare = 0.20

// RateIsOff reports whether a closed load's rate, of n operations, may be too low by more than is
// allowed: by more than a fifth of it and what the rate of so few operations varies by from run to
// run.
func RateIsOff(missing float64, n int64) bool {
	return missing > rateShare+2/math.Sqrt(float64(max(n, 1)))
}
