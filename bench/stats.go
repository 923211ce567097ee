package main

import (
	"math"
	"slices"
)

// median returns the middle of x, or the mean of the two middle values; NaN for no values.
// It does not change x, which need not be sorted.
func median(x []float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(n-1)/2] + x[n/2]) / 2
}

// An interval contains the true median with the probability Level, from 0 to 1.
type interval struct{ Lo, Hi, Level float64 }

// medianInterval returns the narrowest pair of values of x, equally far from both ends,
// that contains the true median with at least the given probability; the whole range of x
// if it has too few values for that. Its Level is the real probability; without values it
// is 0 and the bounds are NaN.
//
// It is the interval of the sign test. Each value lies below the true median with
// probability 1/2, whatever the distribution, so the true one lies outside the k-th value
// from either end only when fewer than k of n fair coins show heads, or tails: with
// probability 2*P(Bin(n, 1/2) < k). Of 7 values the range holds it with 98.4 %, of 5 with
// 93.8 %. (W. J. Conover, Practical Nonparametric Statistics, chapter 3.2.)
func medianInterval(x []float64, level float64) interval {
	n := len(x)
	if n == 0 {
		return interval{math.NaN(), math.NaN(), 0}
	}
	x = slices.Sorted(slices.Values(x))
	best := interval{x[0], x[n-1], 0}
	chance := math.Pow(0.5, float64(n)) // of exactly k-1 heads; n is at most some hundreds
	outside := 0.0
	for k := 1; k <= (n+1)/2; k++ {
		outside += 2 * chance
		chance *= float64(n-k+1) / float64(k)
		if best.Level > 0 && 1-outside < level {
			break
		}
		best = interval{x[k-1], x[n-k], max(0, 1-outside)}
	}
	return best
}

// ratios returns a[i] / b[i], turn by turn. Both are in the order of their turns; values
// that only the longer one has are ignored.
func ratios(a, b []float64) []float64 {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}

// column returns f of each element of xs, in order.
func column[T, U any](xs []T, f func(T) U) []U {
	out := make([]U, len(xs))
	for i, x := range xs {
		out[i] = f(x)
	}
	return out
}
