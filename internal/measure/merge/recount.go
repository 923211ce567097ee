package merge

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Recount makes batches of one executor from the parts of a whole run's series, so that
// merging them gives the run's totals and series again. Make it with Merger.Recount, Add
// the parts in the order of their time, and Close.
type Recount struct {
	of   *Merger
	give func(*wire.Batch) error

	wait     []Part // of one time, not yet given
	last     *wire.Batch
	seq      uint64
	to       time.Duration
	counters map[uint32]int64
	counts   map[uint32]uint64
	sums     map[uint32]*hdr.Histogram // of the parts, without warm-ups
	kinds    []*wire.Failure           // that are left to be said of totals
}

// Recount begins a recount of what m, which merges nothing any more, had merged. give is
// called with each batch, in order.
func (m *Merger) Recount(give func(*wire.Batch) error) *Recount {
	r := &Recount{of: m, give: give, counters: map[uint32]int64{}, counts: map[uint32]uint64{}, sums: map[uint32]*hdr.Histogram{}}
	for _, f := range m.Failures() {
		r.kinds = append(r.kinds, &wire.Failure{Source: f.Source, Class: f.Class, Text: f.Text, Count: f.Count})
	}
	return r
}

// Add takes a part. What overlaps the part before it, as what came late does, or what an
// executor recorded that began within an interval, is counted with that.
func (r *Recount) Add(p Part) error {
	if n := len(r.wait); n > 0 {
		first, end := r.wait[0], r.wait[0].To
		for _, w := range r.wait {
			end = max(end, w.To)
		}
		if p.Warmup == first.Warmup && (p.From < end || p.From == first.From) {
			r.wait = append(r.wait, p)
			return nil
		}
		if err := r.flush(p.From); err != nil {
			return err
		}
	}
	r.wait = []Part{p}
	return nil
}

// flush makes one batch of the parts that wait; it ends at until at the latest.
func (r *Recount) flush(until time.Duration) error {
	data := make([][]byte, len(r.wait))
	for i, p := range r.wait {
		data[i] = p.Data
	}
	one, err := Fold(data)
	if err != nil {
		return err
	}
	b := new(wire.Batch)
	if err := proto.Unmarshal(one, b); err != nil {
		return err
	}
	r.wait = nil
	// Times follow each other. A time of which nothing is known is one in which nothing
	// was counted; what overlaps in spite of all is given what time there is left.
	from, to := time.Duration(b.FromNs), time.Duration(b.ToNs)
	if from > r.to {
		if err := r.batch(&wire.Batch{ToNs: int64(from), Warmup: b.Warmup}); err != nil {
			return err
		}
	}
	if until > r.to && to > until {
		to = until
	}
	b.ToNs = int64(max(to, r.to+1))
	return r.batch(b)
}

// batch numbers a batch and gives the one before it: the last one is to be told apart.
func (r *Recount) batch(b *wire.Batch) error {
	if r.last != nil {
		if err := r.give(r.last); err != nil {
			return err
		}
	}
	r.seq++
	b.Seq, b.FromNs = r.seq, int64(r.to)
	r.to = time.Duration(b.ToNs)
	if r.seq == 1 {
		b.Notes = r.of.notes
		if !r.of.began.IsZero() {
			b.GoUnixNs = r.of.began.UnixNano()
		}
		for _, t := range r.of.metrics {
			b.Declared = append(b.Declared, &wire.Metric{Title: t.Title, Type: string(t.Type), Group: t.Group, Graph: t.Graph, Unit: t.Unit})
		}
		for _, x := range r.of.Samples() {
			b.Samples = append(b.Samples, &wire.Sample{Source: x.Source, Class: x.Class, AtNs: int64(x.At * 1e9), Text: x.Text})
		}
	}
	for _, c := range b.Counters {
		r.counters[c.Metric] += c.Add
	}
	var h hdr.Sparse
	for _, x := range b.Histograms {
		if err := h.Decode(x.Counts); err != nil {
			return fmt.Errorf("a series at %v: %w", time.Duration(b.FromNs), err)
		}
		r.counts[x.Metric] += h.Count()
		if !b.Warmup {
			if r.sums[x.Metric] == nil {
				r.sums[x.Metric] = new(hdr.Histogram)
			}
			r.sums[x.Metric].Add(&h)
		}
	}
	r.name(b)
	r.last = b
	return nil
}

// name says of what kind the failures of a batch are. A series has their number only, so
// kinds are taken in turn: their sums are right, and how many there are at each time.
func (r *Recount) name(b *wire.Batch) {
	if b.Warmup { // totals do not know of its kinds
		return
	}
	var n int64
	for _, f := range b.Failures {
		n += f.Count
	}
	b.Failures = nil
	for n > 0 && len(r.kinds) > 0 {
		k := r.kinds[0]
		take := min(n, k.Count)
		b.Failures = append(b.Failures, &wire.Failure{Source: k.Source, Class: k.Class, Text: k.Text, Count: take})
		k.Count -= take
		n -= take
		if k.Count == 0 {
			r.kinds = r.kinds[1:]
		}
	}
	if n > 0 {
		b.Failures = append(b.Failures, &wire.Failure{Count: n})
	}
}

// Close gives what is left. The last batch has the sums.
func (r *Recount) Close() error {
	if len(r.wait) > 0 {
		if err := r.flush(0); err != nil {
			return err
		}
	}
	if r.last == nil {
		return nil
	}
	f := &wire.Final{LoadNs: int64(r.of.Load()), Refused: r.of.Refused()}
	for _, n := range slices.Sorted(maps.Keys(r.counters)) {
		f.Counters = append(f.Counters, &wire.Counter{Metric: n, Add: r.counters[n]})
	}
	for _, n := range slices.Sorted(maps.Keys(r.counts)) {
		f.Histograms = append(f.Histograms, &wire.Counted{Metric: n, Count: r.counts[n]})
	}
	for class, users := range r.of.Interrupted() {
		f.Interrupted = append(f.Interrupted, &wire.Interrupted{Class: class, Users: users})
	}
	r.last.Final, r.last.Exact = f, r.exact()
	return r.give(r.last)
}

// exact gives the totals that are finer than the series.
func (r *Recount) exact() (all []*wire.Recounted) {
	for _, n := range slices.Sorted(maps.Keys(r.sums)) {
		if int(n) >= len(r.of.metrics) || r.of.metrics[n].hist == nil {
			continue // which whoever reads it refuses
		}
		if total := r.of.metrics[n].hist; !total.Equal(r.sums[n]) {
			all = append(all, &wire.Recounted{Metric: n, Sent: r.sums[n].Append(nil), Counted: total.Append(nil)})
		}
	}
	return all
}

// Agrees makes sure that a result that says that it is complete has the figures of what
// was merged: an archive's are not believed when it has others beside them. The error
// wraps run.ErrArchive.
func (m *Merger) Agrees(r *run.Result) error {
	if !r.Complete {
		return nil // it says what is missing
	}
	counted := m.Metrics()
	if len(counted) != len(r.Metrics) {
		return fmt.Errorf("%w: its result has %d metrics, and its batches %d", run.ErrArchive, len(r.Metrics), len(counted))
	}
	for _, want := range r.Metrics {
		i := slices.IndexFunc(counted, func(c run.Metric) bool { return c.Title == want.Title && c.Type == want.Type && c.Unit == want.Unit })
		if i < 0 {
			return fmt.Errorf("%w: its batches have no metric %q", run.ErrArchive, want.Title)
		}
		got := counted[i]
		if n, m := got.Count, want.Count; (n == nil) != (m == nil) || n != nil && *n != *m || !bytes.Equal(got.Histogram, want.Histogram) {
			return fmt.Errorf("%w: its result and its batches differ in metric %q", run.ErrArchive, want.Title)
		}
	}
	return nil
}
