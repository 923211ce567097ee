package budget

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire"
)

// A batch is not larger than the bus takes: it loses samples and texts of failures, which a
// note says, and no counts.
func TestABatchFitsTheBus(t *testing.T) {
	t.Parallel()
	noise := rand.NewChaCha8([32]byte{})
	random := func(n int) string {
		b := make([]byte, n)
		_, _ = noise.Read(b) // it never fails
		return base64.StdEncoding.EncodeToString(b)[:n]
	}
	same := func(n int) string { return strings.Repeat("a", n) }
	for _, tt := range []struct {
		name              string
		samples, failures int // their numbers
		text              func(n int) string
		counters          int
		left              int    // of the samples
		note              string // "" for none
		err               bool
	}{
		{"small", 10, 10, random, 0, 10, "", false},
		{"compressed it is small", 300, 2000, same, 0, 300, "", false},
		{"samples", 400, 10, random, 0, 200, "missing are 200 samples of failures", false},
		{"texts", 0, 5000, random, 0, 0, "missing are the texts of failures beyond 256 bytes", false},
		{"both", 400, 20_000, random, 0, 0, "missing are 400 samples of failures and the texts of failures beyond 64 bytes", false},
		{"counts", 0, 0, random, 500_000, 0, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &wire.Batch{Seq: 1, ToNs: 1e9}
			for i := range tt.samples {
				b.Samples = append(b.Samples, &wire.Sample{Source: "home", Class: fmt.Sprint(i / 3), Text: tt.text(4000)})
			}
			for i := range tt.failures {
				b.Failures = append(b.Failures, &wire.Failure{Source: "home", Class: fmt.Sprint(i % 7), Text: fmt.Sprint(i) + tt.text(500), Count: 2})
			}
			for i := range tt.counters {
				b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(i), Add: rand.Int64()})
			}
			codec := newCodec(t)
			s, err := New(codec).Batch(b)
			if tt.err != (err != nil) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if n := size(s); n > largest {
				t.Errorf("%d bytes", n)
			}
			body := s.Body
			if s.Packed != nil {
				if body, err = codec.Unpack(s.Packed); err != nil {
					t.Fatal(err)
				}
			}
			var got wire.Batch
			if err := proto.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			var count int64
			for _, f := range got.Failures {
				count += f.Count
			}
			if count != 2*int64(tt.failures) || len(got.Samples) != tt.left || (tt.note == "") != (len(got.Notes) == 0) || !strings.Contains(strings.Join(got.Notes, ""), tt.note) {
				t.Errorf("%d failures, %d samples, notes %q", count, len(got.Samples), got.Notes)
			}
		})
	}
}
