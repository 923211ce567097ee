package run

import (
	"math"
	"strconv"
)

// Quantile is a percentile of a distribution, in the unit of its other figures. It has no value,
// as NaN and in JSON null, if its rank is that of an operation that got no answer: those rank
// after all that did. Record.AtLeast then has what is known of it.
type Quantile float64

// NoAnswer is a Quantile without a value.
var NoAnswer = Quantile(math.NaN())

// Known reports whether q has a value.
func (q Quantile) Known() bool { return !math.IsNaN(float64(q)) }

// MarshalJSON writes q as a number, or as null.
func (q Quantile) MarshalJSON() ([]byte, error) {
	if !q.Known() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(q), 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (q *Quantile) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*q = NoAnswer
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err == nil {
		*q = Quantile(v)
	}
	return err
}

// QuantileNames are the names of the percentiles of Times and Sizes, and the quantile that each
// is, in ascending order.
var QuantileNames = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}}

// Quantiles returns the percentiles of r, in the order of QuantileNames; ok is false if r has none.
func (r Record) Quantiles() (all [5]Quantile, ok bool) {
	switch {
	case r.Times != nil:
		return [5]Quantile{r.Times.P50, r.Times.P90, r.Times.P95, r.Times.P99, r.Times.P999}, true
	case r.Sizes != nil:
		return [5]Quantile{r.Sizes.P50, r.Sizes.P90, r.Sizes.P95, r.Sizes.P99, r.Sizes.P999}, true
	}
	return all, false
}
