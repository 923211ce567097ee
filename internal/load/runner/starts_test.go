package runner

import (
	"math"
	"slices"
	"testing"
	"time"
)

// S0-3: 12 users at 100/s are all started after 0.12 s on average, and the gaps are
// those of a Poisson process.
func TestStartsAreAPoissonProcess(t *testing.T) {
	var last, first []float64
	for seed := range uint64(1000) {
		s := newStarts(100, seed, 0)
		var at time.Duration
		for n := range 12 {
			next := s.nth(int64(n))
			if next < at {
				t.Fatalf("seed %d: a start at %v follows one at %v", seed, next, at)
			}
			if at = next; n == 0 {
				first = append(first, at.Seconds())
			}
		}
		last = append(last, at.Seconds())
	}
	// The sum of 12 gaps of mean 10 ms: mean 120 ms, deviation 34.6 ms; of 1,000 such, 1.1 ms.
	if m := mean(last); math.Abs(m-0.12) > 4*0.0011 {
		t.Errorf("all 12 users are started after %.4f s on average, want 0.12", m)
	}
	// Kolmogorov-Smirnov: the first gap is exponential. 1.95/sqrt(n) is the bound for p = 0.001.
	slices.Sort(first)
	var distance float64
	for i, x := range first {
		f := 1 - math.Exp(-100*x)
		distance = max(distance, math.Abs(f-float64(i)/1000), math.Abs(f-float64(i+1)/1000))
	}
	if distance > 1.95/math.Sqrt(1000) {
		t.Errorf("the gaps are not exponential: distance %.4f", distance)
	}
	if s := newStarts(0, 1, 0); s.nth(0)+s.nth(1) != 0 {
		t.Error("rate 0 does not start all at once")
	}
	if a, b := newStarts(100, 7, 0), newStarts(100, 7, 1); a.nth(0) == b.nth(0) {
		t.Error("two classes share their random source")
	}
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}
