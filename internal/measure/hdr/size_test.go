package hdr

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A histogram's encoding grows with the number of ranges in use, not of recordings: a
// thousand times as many recordings take a few times as much, and never more than its
// ranges can take (docs/decisions/0017 limits it further).
func TestSizeOfAnEncodedHistogram(t *testing.T) {
	t.Parallel()
	size := map[int]int{}
	for _, n := range []int{1000, 50_000, 1_000_000} {
		random := rand.New(rand.NewPCG(1, 2))
		var h Histogram
		for range n {
			h.Record(int64(2e6 * math.Exp(random.NormFloat64()*0.3)))
		}
		b := h.Append(nil)
		var s Sparse
		if err := s.Decode(b); err != nil {
			t.Fatal(err)
		}
		if size[n] = len(b); size[n] > 40+4*len(s.at) { // a gap of one byte and a count of three
			t.Errorf("%d recordings take %d bytes, in %d ranges", n, size[n], len(s.at))
		}
	}
	t.Logf("bytes by recordings: %v", size)
	if size[1_000_000] > 4*size[1000] {
		t.Errorf("bytes by recordings: %v", size)
	}
}
