package hdr

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/long"
)

// latencies makes n values like a service's: 2 ms log-normal, a tail of 0.1 % x 50.
func latencies(r *rand.Rand, n int) []int64 {
	vs := make([]int64, n)
	for i := range vs {
		v := 2e6 * math.Exp(0.5*r.NormFloat64())
		if r.IntN(1000) == 0 {
			v *= 50
		}
		vs[i] = int64(v)
	}
	return vs
}

func of(vs ...int64) *Histogram {
	h := new(Histogram)
	for _, v := range vs {
		h.Record(v)
	}
	return h
}

func TestRangesJoinWithoutGapOrOverlap(t *testing.T) {
	next := int64(0)
	for i := range ranges {
		lo, hi := bounds(i)
		if lo != next || hi < lo {
			t.Fatalf("range %d is %d to %d, want it to begin at %d", i, lo, hi, next)
		}
		for _, v := range []int64{lo, hi} {
			if n, place := locate(uint64(v)); int(n)*perOctave+int(place) != i {
				t.Fatalf("locate(%d) = page %d place %d, want range %d", v, n, place, i)
			}
		}
		if lo >= perOctave && float64(hi-lo+1) > float64(lo)/perOctave {
			t.Fatalf("range %d to %d is wider than 1/128 of its values", lo, hi)
		}
		next = hi + 1
	}
	if next != math.MinInt64 { // one past the greatest int64
		t.Fatalf("the last range ends at %d, want the greatest int64", next-1)
	}
}

func TestQuantilesAreWithinTheBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() int64{
		"latencies":   func() int64 { return latencies(r, 1)[0] },
		"small":       func() int64 { return r.Int64N(200) },
		"uniform":     func() int64 { return r.Int64N(math.MaxInt64) },
		"all octaves": func() int64 { return r.Int64() >> r.IntN(63) },
		"one value":   func() int64 { return 1_000_003 },
	}
	for name, next := range kinds {
		for _, n := range []int{1, 2, 10, 999, 20_000} {
			vs := make([]int64, n)
			for i := range vs {
				vs[i] = next()
			}
			h := of(vs...)
			slices.Sort(vs)
			for _, q := range []float64{0, 0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1} {
				truth := vs[max(int(math.Ceil(q*float64(n))), 1)-1]
				got := h.Quantile(q)
				if off := math.Abs(float64(got-truth)) / math.Max(float64(truth), 1); off > 0.004 {
					t.Errorf("%s, n=%d: Quantile(%v) = %d, truth %d, off by %.2f %%", name, n, q, got, truth, off*100)
				}
			}
			if h.Quantile(1) != vs[n-1] || h.Max() != vs[n-1] || h.Min() != vs[0] || h.Quantile(0) != vs[0] {
				t.Errorf("%s, n=%d: extremes %d %d, want %d %d", name, n, h.Min(), h.Quantile(1), vs[0], vs[n-1])
			}
		}
	}
}

// I4: counts, sum, extremes and quantiles do not depend on how the recordings were
// split over executors, nor on the order of merging.
func TestAnySplitMergesToTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	vs := latencies(r, 5000)
	whole := of(vs...)
	var sum big.Int
	for _, v := range vs {
		sum.Add(&sum, big.NewInt(v))
	}
	parts := make([]*Histogram, 50)
	for i := range parts {
		parts[i] = new(Histogram)
	}
	got, back := new(Histogram), new(Histogram)
	splits := 1000
	if long.Run {
		splits = 10_000
	}
	for split := range splits {
		n := 1 + r.IntN(50)
		some := vs[:100+split%400]
		if split%100 == 0 {
			some = vs
		}
		whole.Reset()
		for i := range n {
			parts[i].Reset()
		}
		for _, v := range some {
			whole.Record(v)
			parts[r.IntN(n)].Record(v)
		}
		got.Reset()
		back.Reset()
		for i := range n {
			got.Merge(parts[i])
			back.Merge(parts[n-1-i])
		}
		if !got.Equal(whole) || !back.Equal(whole) {
			t.Fatalf("split %d over %d parts differs from the whole", split, n)
		}
		for _, q := range []float64{0.5, 0.99, 0.999} {
			if got.Quantile(q) != whole.Quantile(q) {
				t.Fatalf("split %d: Quantile(%v) differs", split, q)
			}
		}
	}
	all := of(vs...)
	if hi, lo := all.Sum(); new(big.Int).SetUint64(lo).Cmp(&sum) != 0 || hi != 0 {
		t.Errorf("sum = %d, %d, want %v", hi, lo, &sum)
	}
}

func TestSumIsExactBeyond64Bits(t *testing.T) {
	h := new(Histogram)
	for range 5 {
		h.Record(math.MaxInt64)
	}
	want := new(big.Int).Mul(big.NewInt(math.MaxInt64), big.NewInt(5))
	hi, lo := h.Sum()
	got := new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64)
	if got.Add(got, new(big.Int).SetUint64(lo)); got.Cmp(want) != 0 {
		t.Errorf("sum = %v, want %v", got, want)
	}
	if h.Mean() != math.MaxInt64 || h.StdDev() > math.MaxInt64/128 {
		t.Errorf("mean %g, deviation %g", h.Mean(), h.StdDev())
	}
}

func TestCodec(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	second := of(latencies(r, 10_000)...)
	for name, h := range map[string]*Histogram{
		"empty": {}, "zero": of(0), "greatest": of(math.MaxInt64, math.MaxInt64, math.MaxInt64), "two": of(1, 1e9), "a second": second,
	} {
		b := h.Append(nil)
		got := of(7, 7e12) // Decode replaces the previous contents
		if err := got.Decode(b); err != nil || !got.Equal(h) {
			t.Errorf("%s: decoded differs (err %v)", name, err)
		}
	}
	if n := len(second.Append(nil)); n > 1536 {
		t.Errorf("a second of 10,000 samples takes %d B, want at most 1536", n)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := of(1000, 2000, 2000).Append(nil)
	for name, b := range map[string][]byte{
		"nothing":             {},
		"another version":     {2},
		"no counts":           {1, 5, 5, 0, 5},
		"cut":                 good[:len(good)-1],
		"trailing byte":       append(slices.Clone(good), 0),
		"empty range":         {1, 5, 5, 0, 5, 5, 0},
		"range too high":      {1, 5, 5, 0, 5, 0x80, 0x40, 1},
		"minimum outside":     {1, 4, 5, 0, 5, 5, 1},
		"min above max":       {1, 6, 5, 0, 5, 5, 1},
		"sum impossible":      {1, 5, 5, 0, 6, 5, 1},
		"long form of 5":      {1, 0x85, 0, 5, 0, 5, 5, 1},
		"counts overflow":     {1, 0, 1, 0, 5, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 1},
		"one with two values": {1, 0x80, 2, 0x81, 2, 0, 0x80, 2, 0x80, 2, 1},
	} {
		h := of(9)
		if err := h.Decode(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if !h.Equal(new(Histogram)) {
			t.Errorf("%s: leaves something behind", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	f.Add(new(Histogram).Append(nil))
	f.Add(of(0).Append(nil))
	f.Add(of(latencies(r, 1000)...).Append(nil))
	f.Add(of(math.MaxInt64, 0, 128, 127, 255, 256).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := new(Histogram)
		if h.Decode(b) != nil {
			return
		}
		if again := h.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes, but encodes as %x", b, again)
		}
		if q := h.Quantile(0.99); h.Count() > 0 && (q < h.Min() || q > h.Max()) {
			t.Fatalf("p99 %d outside %d to %d", q, h.Min(), h.Max())
		}
	})
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := of(1, 1e3, 1e6, 2e6, 1e9)
	if n := testing.AllocsPerRun(1000, func() { h.Record(1_500_000) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
	h.Reset()
	if n := testing.AllocsPerRun(1000, func() { h.Record(1_500_000) }); n != 0 {
		t.Errorf("Record after Reset allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	vs := latencies(rand.New(rand.NewPCG(9, 10)), 1<<14)
	h := of(vs...)
	for i := 0; b.Loop(); i++ {
		h.Record(vs[i&(1<<14-1)])
	}
}

func BenchmarkMerge(b *testing.B) {
	vs := latencies(rand.New(rand.NewPCG(9, 10)), 10_000)
	to, from := of(vs...), of(vs...)
	for b.Loop() {
		to.Merge(from)
	}
}

func BenchmarkAppend(b *testing.B) {
	h := of(latencies(rand.New(rand.NewPCG(9, 10)), 10_000)...)
	buf := h.Append(nil)
	b.ReportMetric(float64(len(buf)), "B")
	for b.Loop() {
		buf = h.Append(buf[:0])
	}
}

func BenchmarkDecode(b *testing.B) {
	h := of(latencies(rand.New(rand.NewPCG(9, 10)), 10_000)...)
	buf := h.Append(nil)
	for b.Loop() {
		if err := h.Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
