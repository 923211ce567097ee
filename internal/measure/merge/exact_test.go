package merge

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/wire"
)

// A batch whose exact histograms replace some of those that were gathered loses no counts, and
// hides nothing: the others are still reported as missing.
func TestExactOfABatch(t *testing.T) {
	var h hdr.Histogram
	for v := range int64(1000) {
		h.Record(1e6 + v*v)
	}
	var counted, sent hdr.Sparse
	must(t, counted.Decode(h.Append(nil)))
	counted.Gather(&sent, 8, 1)
	coarse := sent.Append(nil)
	m := New(1, time.Second)
	must(t, m.Add(0, &wire.Batch{Seq: 1, ToNs: 1e9, Declared: declared, Gathered: 8,
		Histograms: []*wire.Histogram{{Metric: 1, Counts: coarse}, {Metric: 3, Counts: coarse}}}))
	must(t, m.Add(0, &wire.Batch{Seq: 2, FromNs: 1e9, ToNs: 2e9, Exact: []*wire.Recounted{{Metric: 1, Sent: coarse, Counted: h.Append(nil)}},
		Final: &wire.Final{Histograms: []*wire.Counted{{Metric: 1, Count: 1000}, {Metric: 3, Count: 1000}}}}))
	if missing := m.Missing(); len(missing) != 1 || !strings.Contains(missing[0], "exact histograms") {
		t.Errorf("missing %q, want the exact histograms of home.size", missing)
	}
	all := m.Metrics()
	if latency, size := all[1].Histogram, all[3].Histogram; !bytes.Equal(latency, h.Append(nil)) || !bytes.Equal(size, coarse) {
		t.Errorf("the histograms have %d and %d recordings, want one exact and one as it was sent", *all[1].Count, *all[3].Count)
	}
}
