package hdr

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A histogram that is decoded as a Sparse and added equals the encoded one, whatever it is
// added to.
func TestSparse(t *testing.T) {
	var list Sparse
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		a, b := new(Histogram), new(Histogram)
		for range rnd.IntN(300) {
			a.Record(rnd.Int64N(1 << (1 + rnd.IntN(62))))
		}
		for range rnd.IntN(50) {
			b.Record(rnd.Int64N(math.MaxInt64))
		}
		if err := list.Decode(a.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if list.Count() != a.Count() {
			t.Errorf("seed %d: %d recordings, want %d", seed, list.Count(), a.Count())
		}
		sum, want := new(Histogram), new(Histogram)
		sum.Merge(b)
		sum.Add(&list)
		want.Merge(b)
		want.Merge(a)
		if !sum.Equal(want) || string(sum.Append(nil)) != string(want.Append(nil)) {
			t.Errorf("seed %d: the sums differ", seed)
		}
	}
	if err := list.Decode([]byte{9}); err == nil || list.Count() != 0 {
		t.Errorf("after an error: %v, %d recordings", err, list.Count())
	}
}

// BenchmarkSparse decodes a second of 2,000 latencies and adds them to two histograms.
func BenchmarkSparse(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h, to, other Histogram
	for range 2000 {
		h.Record(int64(2e6 * math.Exp(rnd.NormFloat64()*0.6)))
	}
	encoded := h.Append(nil)
	b.SetBytes(int64(len(encoded)))
	var s Sparse
	for b.Loop() {
		if err := s.Decode(encoded); err != nil {
			b.Fatal(err)
		}
		to.Add(&s)
		other.Add(&s)
	}
}
