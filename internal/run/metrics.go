package run

import "strings"

// Answered reports whether the quantile q, 0 to 1, of a histogram belongs to an answered
// operation: count operations were answered, and lost were not and may have been the
// slowest. It is true if both are 0.
func Answered(q float64, count, lost int64) bool {
	const rounding = 1e-9
	return float64(lost) <= (1-q+rounding)*float64(count+lost)
}

// Enough reports whether a distribution of n values has a quantile q, 0 to 1, of its own: at least
// one value is to lie above it. The p99 of fewer than 100 values would be their maximum.
func Enough(q float64, n int64) bool {
	const rounding = 1e-9
	return (1-q+rounding)*float64(n) >= 1
}

// SourceName returns the name of a Failure's Source for people: of a class, its name.
func SourceName(source string) string { return strings.TrimPrefix(source, ClassSource) }

// ClassSource begins the Source of failures of a class, before its name.
const ClassSource = "vu."
