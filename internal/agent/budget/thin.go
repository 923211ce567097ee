// Package budget keeps what the batches of an executor take on the bus within a budget, so
// that it does not grow with the requests: docs/decisions/0017.
//
// A batch within its budget is sent as it is. A larger one is compressed; where that is not
// enough, its histograms have their counts gathered in ever fewer ranges until it is.
// Counts, sums, minima and maxima stay exact. The agent keeps what was counted, and gives
// the exact histograms when the executor ends.
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
	// perHistogram is the budget of the histograms of a batch: so many bytes for each. Those
	// that hold one value, as half of them do, leave the most of theirs to the others. It
	// is what a thousand requests over HTTP take as they are.
	perHistogram = 136

	// dense is the share of recordings, 1/dense, above which ranges are not gathered.
	dense = 50
)

// widths are how many ranges side by side are gathered, the fewest first. Two would save
// nothing, as they become two.
var widths = []int{4, 8, 16, 32, 64, 128}

// Thinner thins the batches of one executor. It is for one goroutine at a time.
type Thinner struct {
	codec   *compress.Codec
	through uint64           // the last batch
	of      map[uint32]*both // what was gathered, by metric
	given   bool             // Exact gave it
}

// both are the same recordings.
type both struct{ sent, counted hdr.Histogram }

// New makes a thinner. A codec may serve many.
func New(codec *compress.Codec) *Thinner { return &Thinner{codec: codec, of: map[uint32]*both{}} }

// Sent is a batch as it is sent.
type Sent struct {
	Batch  *wire.Batch
	Body   []byte // of Batch
	Packed []byte // Body compressed; nil: it is sent as it is
}

// Delivery gives it as one.
func (s *Sent) Delivery() *agentpb.Delivery {
	if s.Packed != nil {
		return &agentpb.Delivery{What: &agentpb.Delivery_Packed{Packed: s.Packed}}
	}
	return &agentpb.Delivery{What: &agentpb.Delivery_Batch{Batch: s.Body}}
}

// Batch gives the next batch as it is to be sent. b stays as it is. The last one, which
// comes when the exact histograms have been given, is not gathered.
func (t *Thinner) Batch(b *wire.Batch) (*Sent, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		return nil, err
	}
	t.through = b.Seq
	s := &Sent{Batch: b, Body: body}
	budget, raw := budgetOf(b, len(body))
	if raw <= perHistogram*len(b.Histograms) {
		return s, nil
	}
	if s.Packed = t.codec.Pack(body); len(s.Packed) <= budget || b.Final != nil {
		if len(s.Packed) >= len(body) {
			s.Packed = nil
		}
		return s, nil
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
	if !b.Warmup { // of which there are no totals
		t.note(b, sent, counted)
	}
	return s, nil
}

// budgetOf is what a batch of so many bytes may take, and what its histograms take. What
// else is in it, as the texts of failures, has bounds of its own.
func budgetOf(b *wire.Batch, size int) (budget, histograms int) {
	for _, h := range b.Histograms {
		histograms += len(h.Counts)
	}
	return size - histograms + perHistogram*len(b.Histograms), histograms
}

// gather gives a copy of b whose histograms are gathered.
func gather(b *wire.Batch, counted, sent []hdr.Sparse, width int) *wire.Batch {
	all := b.Histograms
	b.Histograms = nil // which are not to be copied
	out := proto.CloneOf(b)
	b.Histograms = all
	out.Gathered = uint32(width)
	for i, h := range all {
		counted[i].Gather(&sent[i], width, dense)
		out.Histograms = append(out.Histograms, &wire.Histogram{Metric: h.Metric, Counts: sent[i].Append(nil)})
	}
	return out
}

// note remembers what of a batch was sent, and what was counted.
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

// Exact gives the exact histograms of all batches so far, in parts of at most limit bytes
// where one histogram alone does not take more. Nothing: all was sent exactly, or it was
// given before.
func (t *Thinner) Exact(limit int) (all []*agentpb.Exact) {
	if t.given || len(t.of) == 0 {
		return nil
	}
	t.given = true
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
