package budget

import (
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

func newCodec(t testing.TB) *compress.Codec {
	t.Helper()
	c, err := compress.New(wire.MaxMessage)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// batches makes the batches of an executor as a run over HTTP has them: histograms of
// times with so many recordings a second each, log-normal, and as many of one value.
type batches struct {
	rnd    *rand.Rand
	n      int
	sigma  float64
	seq    uint64
	counts [kinds]uint64
}

const kinds = 6

func newBatches(n int, sigma float64) *batches {
	return &batches{rnd: rand.New(rand.NewPCG(1, 2)), n: n, sigma: sigma}
}

func (s *batches) next(final bool) *wire.Batch {
	s.seq++
	b := &wire.Batch{Seq: s.seq, FromNs: int64(s.seq-1) * 1e9, ToNs: int64(s.seq) * 1e9}
	var of [kinds]hdr.Histogram
	for range s.n {
		lag, wait, service := s.time(2e4), s.time(3e5), s.time(3e5)
		of[0].Record(lag)
		of[1].Record(wait)
		of[2].Record(lag + wait + service)
		of[3].Record(service)
		of[4].Record(service - service/50) // latency, which is the time to the first byte, too
		of[5].Record(service - service/50)
	}
	for i := range uint32(kinds) {
		if s.seq == 1 {
			b.Declared = append(b.Declared, &wire.Metric{Title: "times " + string('a'+rune(i)), Type: "histogram", Unit: "ns"})
		}
		h := &of[i]
		s.counts[i] += h.Count()
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: i, Counts: h.Append(nil)})
	}
	for i := range uint32(14) {
		if s.seq == 1 {
			b.Declared = append(b.Declared, &wire.Metric{Title: "signal " + string('a'+rune(i)), Type: "histogram"})
		}
		var h hdr.Histogram
		h.Record(int64(i) * 1000)
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: kinds + i, Counts: h.Append(nil)})
	}
	if final {
		b.Final = &wire.Final{LoadNs: b.ToNs}
		for i, n := range s.counts {
			b.Final.Histograms = append(b.Final.Histograms, &wire.Counted{Metric: uint32(i), Count: n})
		}
	}
	return b
}

// time is log-normal, about a median.
func (s *batches) time(median float64) int64 {
	return int64(median * math.Exp(s.rnd.NormFloat64()*s.sigma))
}

// size is what a batch takes as it is sent.
func size(s *Sent) int { return proto.Size(s.Delivery()) }

// TestBytesDoNotGrow is S0-14: what an executor sends does not grow with its requests, and
// what is given up for that is bounded.
func TestBytesDoNotGrow(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	for _, tt := range []struct {
		name  string
		sigma float64
		width uint32 // at most, of the most requests
	}{{"a quiet server", 0.3, 4}, {"a server at its limit", 1.2, 16}} {
		sizes := map[int]int{}
		counts := []int{1000, 50_000}
		if long.Run {
			counts = []int{1000, 5000, 50_000, 500_000}
		}
		for _, n := range counts {
			one, thinner := newBatches(n, tt.sigma), New(codec)
			var s *Sent
			for range 3 { // the first declares
				var err error
				if s, err = thinner.Batch(one.next(false)); err != nil {
					t.Fatal(err)
				}
			}
			sizes[n] = size(s)
			budget := perHistogram*len(s.Batch.Histograms) + 200 // numbers, times and lengths
			if sizes[n] > budget {
				t.Errorf("%s, %d requests: %d bytes, the budget is %d", tt.name, n, sizes[n], budget)
			}
			if s.Batch.Gathered > tt.width {
				t.Errorf("%s, %d requests: counts of %d ranges are gathered", tt.name, n, s.Batch.Gathered)
			}
			t.Logf("%s, %d requests: %d bytes, gathered from %d ranges", tt.name, n, sizes[n], s.Batch.Gathered)
		}
	}
}

// TestExact: totals are in the end what was counted, even if batches were gathered; until
// then Missing reports the difference.
func TestExact(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	all, thinner, m, want := newBatches(10_000, 1.2), New(codec), merge.New(1, 1e9), merge.New(1, 1e9)
	add := func(b *wire.Batch) *Sent {
		t.Helper()
		s, err := thinner.Batch(b)
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Batch
		body := s.Body
		if s.Packed != nil {
			if body, err = codec.Unpack(s.Packed); err != nil {
				t.Fatal(err)
			}
		}
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if err := m.Add(0, &got); err != nil {
			t.Fatal(err)
		}
		if err := want.Add(0, b); err != nil {
			t.Fatal(err)
		}
		return s
	}
	warm := all.next(false)
	warm.Warmup = true
	if s := add(warm); s.Batch.Gathered == 0 {
		t.Error("the warm-up was not gathered")
	}
	for range 5 {
		if s := add(all.next(false)); s.Batch.Gathered == 0 {
			t.Error("a batch was not gathered")
		}
	}
	if missing := m.Missing(); len(missing) != 2 {
		t.Errorf("missing: %q", missing)
	}
	last := all.next(true)
	parts := thinner.Exact(8 << 10)
	if len(parts) < 2 || len(thinner.Exact(8<<10)) != 0 {
		t.Errorf("the exact histograms come in %d parts", len(parts))
	}
	for i, x := range parts {
		if x.More != (i < len(parts)-1) {
			t.Errorf("part %d of %d: more %v", i, len(parts), x.More)
		}
		if err := m.Exact(0, x.Through+1, x.Histograms, x.More); err == nil {
			t.Error("histograms of other batches were taken")
		}
		if err := m.Exact(0, x.Through, x.Histograms, x.More); err != nil {
			t.Fatal(err)
		}
		if err := m.Exact(0, x.Through, x.Histograms, x.More); err == nil {
			t.Error("they were taken twice")
		}
	}
	if s := add(last); s.Batch.Gathered != 0 {
		t.Error("the last batch was gathered")
	}
	if missing := m.Missing(); len(missing) != 0 {
		t.Errorf("missing: %q", missing)
	}
	got, right := m.Metrics(), want.Metrics()
	for i := range right {
		if string(got[i].Histogram) != string(right[i].Histogram) {
			t.Errorf("%s is another one", right[i].Title)
		}
	}
}

// BenchmarkBatch thins a second of 50,000 requests.
func BenchmarkBatch(b *testing.B) {
	codec := newCodec(b)
	all := newBatches(50_000, 1.2)
	all.next(false)
	batch := all.next(false)
	thinner := New(codec)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := thinner.Batch(batch); err != nil {
			b.Fatal(err)
		}
	}
}
