package compress

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/gobench-io/gobench/internal/measure/hdr"
)

// second is what a second of latencies takes in a part of a series.
func second(n int) []byte {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var h hdr.Histogram
	for range n {
		h.Record(int64(2e6 + 1e6*random.ExpFloat64()))
	}
	return h.Append(nil)
}

// What is packed comes back, whatever it is; and a byte that the disk has changed is found.
func TestCodec(t *testing.T) {
	t.Parallel()
	c, err := New(Largest)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, data := range map[string][]byte{"nothing": nil, "a byte": {7}, "one over and over": bytes.Repeat([]byte{1}, 3000), "a second": second(10_000),
		"noise": noise, "all that fits": bytes.Repeat(second(2000), 200)[:maxHuffed], "more": bytes.Repeat(second(2000), 200)[:maxHuffed+1]} {
		packed := c.PackCounts(data)
		if got, err := c.Unpack(packed); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %d bytes come back as %d, %v", name, len(data), len(got), err)
		}
		if name == "a second" && (packed[0] != huffed || len(packed) > len(data)*7/10) {
			t.Errorf("a second of %d bytes takes %d", len(data), len(packed))
		}
		for i := 0; i < len(packed); i += max(1, len(packed)/500) {
			for _, cut := range []bool{false, true} {
				bad := bytes.Clone(packed)
				if bad[i] ^= 0x10; cut {
					bad = packed[:max(1, i)] // zstd takes no bytes for no data
				}
				if got, err := c.Unpack(bad); err == nil && !bytes.Equal(got, data) {
					t.Errorf("%s: with byte %d of %d changed (cut off there: %v) it is another value", name, i, len(packed), cut)
				}
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	c, err := New(Largest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.PackCounts(second(100)))
	f.Add(c.Pack(second(100)))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = c.Unpack(b) }) // it does not panic
}
