package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	} {
		x := slices.Clone(tt.x)
		if got := median(x); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.x, got, tt.want)
		}
		if !slices.Equal(x, tt.x) {
			t.Errorf("median sorted its argument: %v", x)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v", got)
	}
}

// The levels are those of Conover's table A3 (binomial, p = 1/2).
func TestMedianInterval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n      int
		want   float64 // requested level
		lo, hi float64 // of the values 1 to n
		level  float64
	}{
		{1, 0.95, 1, 1, 0},
		{2, 0.95, 1, 2, 0.5},
		{5, 0.95, 1, 5, 0.9375},
		{6, 0.95, 1, 6, 0.96875},
		{7, 0.95, 1, 7, 0.984375},
		{8, 0.95, 1, 8, 0.9921875},
		{9, 0.95, 2, 8, 0.9609375},
		{10, 0.95, 2, 9, 0.978515625},
		{20, 0.95, 6, 15, 0.95861053},
		{7, 1, 1, 7, 0.984375}, // the greatest possible level: the range
		{4, 0.3, 2, 3, 0.375},
	} {
		x := make([]float64, tt.n)
		for i := range x {
			x[i] = float64(i + 1)
		}
		rand.Shuffle(tt.n, func(i, j int) { x[i], x[j] = x[j], x[i] })
		got := medianInterval(x, tt.want)
		if got.Lo != tt.lo || got.Hi != tt.hi || math.Abs(got.Level-tt.level) > 1e-6 {
			t.Errorf("%d values at %v: %+v, want [%v, %v] with %v", tt.n, tt.want, got, tt.lo, tt.hi, tt.level)
		}
	}
	if got := medianInterval(nil, 0.95); !math.IsNaN(got.Lo) || got.Level != 0 {
		t.Errorf("interval of nothing = %+v", got)
	}
}

// TestIntervalCovers draws from a skewed distribution: its true median lies
// within the interval as often as the level says.
func TestIntervalCovers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const tries = 20_000
	for _, n := range []int{5, 7, 9} {
		inside, x := 0, make([]float64, n)
		var level float64
		for range tries {
			for i := range x {
				x[i] = r.ExpFloat64()
			}
			i := medianInterval(x, 0.95)
			if i.Lo <= math.Ln2 && math.Ln2 <= i.Hi {
				inside++
			}
			level = i.Level
		}
		if got := float64(inside) / tries; math.Abs(got-level) > 0.008 { // five standard errors at most
			t.Errorf("%d values: inside %.4f of the time, level says %.4f", n, got, level)
		}
	}
}

// TestRatios: what affects both in one turn cancels out.
func TestRatios(t *testing.T) {
	t.Parallel()
	got := ratios([]float64{90, 45, 180}, []float64{100, 50, 200, 7})
	if !slices.Equal(got, []float64{0.9, 0.9, 0.9}) {
		t.Errorf("ratios = %v", got)
	}
}
