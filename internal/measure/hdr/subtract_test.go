package hdr

import (
	"math/rand/v2"
	"testing"
)

func TestSubtract(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var all, some, rest Histogram
		for range r.IntN(1000) {
			v := r.Int64N(1 << r.IntN(40))
			all.Record(v)
			if r.IntN(3) == 0 {
				some.Record(v)
			} else {
				rest.Record(v)
			}
		}
		all.Subtract(&some)
		if all.Count() != rest.Count() || all.sumLo != rest.sumLo || all.sumHi != rest.sumHi {
			t.Fatalf("count %d, sum %d; want %d, %d", all.Count(), all.sumLo, rest.Count(), rest.sumLo)
		}
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99} {
			if a, b := all.Quantile(q), rest.Quantile(q); float64(a) < float64(b)*0.992-1 || float64(a) > float64(b)*1.008+1 {
				t.Errorf("p%v is %d, want %d", q*100, a, b)
			}
		}
		if all.Max() < rest.Max() || float64(all.Max()) > float64(rest.Max())*1.008+1 || all.Min() > rest.Min() {
			t.Errorf("from %d to %d, want %d to %d", all.Min(), all.Max(), rest.Min(), rest.Max())
		}
	}
}

// What h lacks is not subtracted, as after ranges were gathered.
func TestSubtractMore(t *testing.T) {
	t.Parallel()
	var h, o Histogram
	for _, v := range []int64{1, 1, 5, 1000} {
		h.Record(v)
	}
	for _, v := range []int64{1, 1, 1, 7, 1 << 40} {
		o.Record(v)
	}
	h.Subtract(&o)
	if h.Count() != 2 || h.Min() != 5 || h.Max() != 1000 || h.Mean() < 500 || h.Mean() > 506 {
		t.Errorf("%d values from %d to %d, mean %v; want 5 and 1000", h.Count(), h.Min(), h.Max(), h.Mean())
	}
	h.Subtract(&h)
	if h.Count() != 0 || h.Max() != 0 || h.Mean() != 0 {
		t.Errorf("%d values are left", h.Count())
	}
}
