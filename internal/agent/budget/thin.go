// Package budget limits the size of an executor's batches on the bus, so that it does not
// grow with the number of requests: docs/decisions/0017.
//
// A batch within its budget is sent unchanged. A larger one is compressed. If that is not
// enough, the counts of its histograms are gathered in fewer and fewer ranges until it is.
// Counts, sums, minima and maxima stay exact. A [Thinner] retains the exact histograms,
// which the agent sends when the executor ends. A batch that is larger than the bus takes
// loses samples and texts of failures, which a note says, and no counts.
package budget

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

const (
	// perHistogram is the budget of a batch's histograms, in bytes for each. All share it:
	// half of them hold a single value and need little. A thousand requests over HTTP need
	// this much uncompressed.
	perHistogram = 136

	// dense is the share of recordings, 1/dense, above which ranges are not gathered.
	dense = 50

	// largest is the size of the largest Sent.Delivery, in bytes. The agent adds ids and numbers.
	largest = agentpb.MaxDelivery - 1024
)

// widths are the numbers of adjacent ranges that are gathered, in the order in which they
// are tried. Gathering two would save nothing, since the result has two ranges.
var widths = []int{4, 8, 16, 32, 64, 128}

// Thinner thins the batches of one executor. It must not be used concurrently.
type Thinner struct {
	codec   *compress.Codec
	through uint64           // number of the last batch
	of      map[uint32]*both // the gathered histograms, by metric
	done    bool             // Exact has returned them
}

// both are the same recordings, as sent and as counted.
type both struct{ sent, counted hdr.Histogram }

// New returns a thinner. Several may share a codec.
func New(codec *compress.Codec) *Thinner { return &Thinner{codec: codec, of: map[uint32]*both{}} }

// Sent is a batch in the form in which it is sent.
type Sent struct {
	Batch  *wire.Batch
	Body   []byte // Batch, encoded
	Packed []byte // Body, compressed; nil if Body is sent
}

// Delivery returns a delivery in which only the batch is set, compressed if Packed is.
func (s *Sent) Delivery() *agentpb.Delivery {
	if s.Packed != nil {
		return &agentpb.Delivery{What: &agentpb.Delivery_Packed{Packed: s.Packed}}
	}
	return &agentpb.Delivery{What: &agentpb.Delivery_Batch{Batch: s.Body}}
}

// Batch returns the next batch, b, in the form to send. b must not be used until it
// returns, and not be changed after that, as Sent.Batch may be b. The form may exceed the
// budget if the widest ranges are not enough. The final batch is never gathered; Exact must
// be called before it. Batch shortens texts of b that exceed what the bus takes. It returns
// an error if a batch above the budget has a damaged histogram, or counts too much for the bus.
func (t *Thinner) Batch(b *wire.Batch) (*Sent, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		return nil, err
	}
	t.through = b.Seq
	s := &Sent{Batch: b, Body: body}
	budget, raw := budgetOf(b, len(body))
	if raw <= perHistogram*len(b.Histograms) {
		return s, t.fit(s)
	}
	if s.Packed = t.codec.Pack(body); len(s.Packed) <= budget || b.Final != nil {
		if len(s.Packed) >= len(body) {
			s.Packed = nil
		}
		return s, t.fit(s)
	}
	counted := make([]hdr.Sparse, len(b.Histograms))
	for i, h := range b.Histograms {
		if err := counted[i].Decode(h.Counts); err != nil {
			return nil, fmt.Errorf("thin batch %d: %w", b.Seq, err)
		}
	}
	sent := make([]hdr.Sparse, len(counted))
	for _, width := range widths {
		s.Batch = gather(b, counted, sent, width)
		if s.Body, err = (proto.MarshalOptions{Deterministic: true}).Marshal(s.Batch); err != nil {
			return nil, err
		}
		if s.Packed = t.codec.Pack(s.Body); len(s.Packed) <= budget {
			break
		}
	}
	if !b.Warmup { // which is not part of the totals
		t.note(b, sent, counted)
	}
	return s, t.fit(s)
}

// budgetOf returns how many bytes a batch of size bytes may have, and how many its
// histograms have. Its other parts, such as the texts of failures, have separate limits.
func budgetOf(b *wire.Batch, size int) (budget, histograms int) {
	for _, h := range b.Histograms {
		histograms += len(h.Counts)
	}
	return size - histograms + perHistogram*len(b.Histograms), histograms
}

// gather returns a copy of b whose histograms are gathered in ranges of width, which it also
// stores in sent. counted are b's histograms, which it does not change. It changes b while it
// runs. counted and sent must be as long as b.Histograms.
func gather(b *wire.Batch, counted, sent []hdr.Sparse, width int) *wire.Batch {
	all := b.Histograms
	b.Histograms = nil // so that they are not copied
	out := proto.CloneOf(b)
	b.Histograms = all
	out.Gathered = uint32(width)
	for i, h := range all {
		counted[i].Gather(&sent[i], width, dense)
		out.Histograms = append(out.Histograms, &wire.Histogram{Metric: h.Metric, Counts: sent[i].Append(nil)})
	}
	return out
}

// note adds those histograms of a batch that gathering has changed, in both forms, to what
// Exact returns.
func (t *Thinner) note(b *wire.Batch, sent, counted []hdr.Sparse) {
	for i, h := range b.Histograms {
		if sent[i].Same(&counted[i]) {
			continue
		}
		of := t.of[h.Metric]
		if of == nil {
			of = new(both)
			t.of[h.Metric] = of
		}
		of.sent.Add(&sent[i])
		of.counted.Add(&counted[i])
	}
}

// Exact returns the exact histograms of all batches so far, in order of their metrics, in
// parts of at most limit bytes unless a single histogram is larger. All parts but the last
// have More set. It returns nil if all batches were sent exactly, and after it has returned
// histograms. Batches of the warm-up are not counted.
func (t *Thinner) Exact(limit int) (all []*agentpb.Exact) {
	if t.done || len(t.of) == 0 {
		return nil
	}
	t.done = true
	size := limit
	for _, n := range slices.Sorted(maps.Keys(t.of)) {
		h := &wire.Recounted{Metric: n, Sent: t.of[n].sent.Append(nil), Counted: t.of[n].counted.Append(nil)}
		one := proto.Size(h) + 8
		if size += one; size > limit {
			all = append(all, &agentpb.Exact{Through: t.through, More: true})
			size = one
		}
		last := all[len(all)-1]
		last.Histograms = append(last.Histograms, h)
	}
	all[len(all)-1].More = false
	t.of = nil
	return all
}
