package hdr

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/long"
)

// TestGather checks what Gather promises: a valid encoding, the same recordings in fewer
// ranges, quantiles within the width, and that it can be replaced.
func TestGather(t *testing.T) {
	seeds := uint64(60)
	if long.Run {
		seeds = 300
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var exact, gathered, again Sparse
		h := new(Histogram)
		for range 1 + rnd.IntN(5000) {
			switch seed % 3 {
			case 0:
				h.Record(rnd.Int64N(1 << (1 + rnd.IntN(62))))
			case 1:
				h.Record(int64(2e6 * math.Exp(rnd.NormFloat64())))
			default:
				h.Record(rnd.Int64N(40))
			}
		}
		if err := exact.Decode(h.Append(nil)); err != nil {
			t.Fatal(err)
		}
		width := 1 << rnd.IntN(8)
		exact.Gather(&gathered, width, 50)
		if err := again.Decode(gathered.Append(nil)); err != nil {
			t.Fatalf("seed %d, width %d: %v", seed, width, err)
		}
		got := new(Histogram)
		got.Add(&again)
		if got.Count() != h.Count() || got.Mean() != h.Mean() || got.Min() != h.Min() || got.Max() != h.Max() {
			t.Errorf("seed %d, width %d: %d from %d to %d, mean %v; want %d from %d to %d, mean %v", seed, width,
				got.Count(), got.Min(), got.Max(), got.Mean(), h.Count(), h.Min(), h.Max(), h.Mean())
		}
		if width == 1 && !got.Equal(h) || len(gathered.at) > len(exact.at) {
			t.Errorf("seed %d, width %d: %d ranges of %d", seed, width, len(gathered.at), len(exact.at))
		}
		for _, q := range []float64{0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999} {
			a, b := float64(got.Quantile(q)), float64(h.Quantile(q))
			if off := math.Abs(a - b); off > b*float64(width)/perOctave {
				t.Errorf("seed %d, width %d: the %v quantile is %.0f, want %.0f", seed, width, q, a, b)
			}
		}
		// A gathered histogram is replaced among other recordings too.
		other, want := new(Histogram), new(Histogram)
		for range rnd.IntN(100) {
			other.Record(rnd.Int64N(math.MaxInt64))
		}
		want.Merge(other)
		want.Merge(h)
		other.Add(&gathered)
		if err := other.Replaceable(&gathered, &exact); err != nil {
			t.Fatal(err)
		}
		if other.Replace(&gathered, &exact); !other.Equal(want) {
			t.Errorf("seed %d, width %d: replaced, it is another histogram", seed, width)
		}
	}
}

// Recordings that are not in a histogram, or others, are not replaced.
func TestReplaceable(t *testing.T) {
	sparse := func(values ...int64) *Sparse {
		h, s := new(Histogram), new(Sparse)
		for _, v := range values {
			h.Record(v)
		}
		if err := s.Decode(h.Append(nil)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	h := new(Histogram)
	h.Add(sparse(1, 5, 5, 9))
	for _, tt := range []struct {
		name       string
		old, exact *Sparse
		ok         bool
	}{
		{"the same", sparse(1, 5, 9), sparse(1, 5, 9), true},
		{"of one sum", sparse(1, 5, 5, 9), sparse(1, 4, 6, 9), true},
		{"not there", sparse(1, 4, 6, 9), sparse(1, 5, 5, 9), false},
		{"too many", sparse(5, 5, 5), sparse(5, 5, 5), false},
		{"in no page", sparse(1 << 40), sparse(1 << 40), false},
		{"other sum", sparse(1, 5, 9), sparse(1, 6, 9), false},
		{"other count", sparse(1, 9), sparse(1, 1, 8), false},
		{"other minimum", sparse(5, 5), sparse(4, 6), false},
	} {
		if err := h.Replaceable(tt.old, tt.exact); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
