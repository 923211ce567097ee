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

// Recount turns the series of a whole run into batches of one executor, so that merging
// these results in the same totals and series. Create it with Merger.Recount, Add the parts
// in the order of their time, and Close it. After an error it must not be used any more.
type Recount struct {
	of   *Merger
	emit func(*wire.Batch) error

	wait     []Part // of times that overlap, not yet written
	last     *wire.Batch
	seq      uint64
	to       time.Duration
	counters map[uint32]int64
	counts   map[uint32]uint64
	sums     map[uint32]*hdr.Histogram // of the parts, without warm-ups
	kinds    []*wire.Failure           // failures not yet assigned to a batch
}

// Recount begins a recount of what m has merged; m must not merge any more. Add and Close
// call emit with each batch, in order, which emit may retain, and return its error.
func (m *Merger) Recount(emit func(*wire.Batch) error) *Recount {
	r := &Recount{of: m, emit: emit, counters: map[uint32]int64{}, counts: map[uint32]uint64{}, sums: map[uint32]*hdr.Histogram{}}
	for _, f := range m.Failures() {
		r.kinds = append(r.kinds, &wire.Failure{Source: f.Source, Class: f.Class, Text: f.Text, Count: f.Count})
	}
	return r
}

// Add adds a part, whose Data must stay unchanged until Close. A part that overlaps the
// previous one, because it was late, or of the other phase, or its executor began within an
// interval, is counted with it. It returns emit's error, or one if a part cannot be decoded.
func (r *Recount) Add(p Part) error {
	if n := len(r.wait); n > 0 {
		end := r.wait[0].To
		for _, w := range r.wait {
			end = max(end, w.To)
		}
		if p.From < end || p.From == r.wait[0].From {
			r.wait = append(r.wait, p)
			return nil
		}
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.wait = []Part{p}
	return nil
}

// flush makes one batch, or one of each phase, of the waiting parts, of which there must be one,
// after an empty one for a gap before them. Errors are those of Add.
func (r *Recount) flush() error {
	data := make([][]byte, len(r.wait))
	for i, p := range r.wait {
		data[i] = p.Data
	}
	one := new(row)
	if _, _, err := one.read(data); err != nil {
		return err
	}
	r.wait = nil
	// Batches must be contiguous. A gap becomes a time in which nothing was counted; a part
	// that still overlaps is shortened to the time that is left.
	if one.from > r.to {
		if err := r.batch(&wire.Batch{ToNs: int64(one.from), Warmup: one.warmup}); err != nil {
			return err
		}
	}
	one.to = max(one.to, r.to+1)
	for _, p := range one.parts() {
		b := new(wire.Batch)
		if err := proto.Unmarshal(p.Data, b); err != nil {
			return err
		}
		if err := r.batch(b); err != nil {
			return err
		}
	}
	return nil
}

// batch numbers a batch, which begins where the previous one ended, and emits the previous
// one: the last batch needs its mark. The first has the declarations, notes and samples of the
// run. It returns emit's error, or one if a histogram of b cannot be decoded.
func (r *Recount) batch(b *wire.Batch) error {
	if r.last != nil {
		if err := r.emit(r.last); err != nil {
			return err
		}
	}
	r.seq++
	b.Seq, b.FromNs = r.seq, int64(r.to)
	if !b.More {
		r.to = time.Duration(b.ToNs)
	}
	if r.seq == 1 {
		b.Notes = r.of.notes
		if !r.of.began.IsZero() {
			b.GoUnixNs = r.of.began.UnixNano()
		}
		for _, t := range r.of.metrics {
			b.Declared = append(b.Declared, wire.MetricOf(t.Metric))
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

// name assigns the failures of a batch to kinds. A series has only their number, so kinds
// are used up in order: their sums are right, and so is the number of failures at each
// time. Failures of a warm-up, or beyond all kinds, stay nameless.
func (r *Recount) name(b *wire.Batch) {
	if b.Warmup { // totals do not include its kinds
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

// Close emits what is waiting and the last batch, which has the sums; nothing if no part
// was added. Errors are those of Add.
func (r *Recount) Close() error {
	if len(r.wait) > 0 {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if r.last == nil {
		return nil
	}
	f := &wire.Final{LoadNs: int64(r.of.Load()), Refused: r.of.Refused(), Ended: r.ended()}
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
	return r.emit(r.last)
}

// ended returns what all executors had counted when the measured time ended.
func (r *Recount) ended() *wire.Ended {
	e := &wire.Ended{MeasuredNs: int64(r.of.Measured())}
	for i, n := range r.of.ended() {
		switch r.of.metrics[i].Type {
		case run.Counter:
			e.Counters = append(e.Counters, &wire.Counter{Metric: uint32(i), Add: n})
		case run.Histogram:
			e.Histograms = append(e.Histograms, &wire.Counted{Metric: uint32(i), Count: uint64(n)})
		case run.Gauge: // a gauge does not add up
		}
	}
	return e
}

// exact returns the totals of histograms that differ from the sums of the series, by metric
// number.
func (r *Recount) exact() (all []*wire.Recounted) {
	for _, n := range slices.Sorted(maps.Keys(r.sums)) {
		if int(n) >= len(r.of.metrics) || r.of.metrics[n].hist == nil {
			continue // which the reader would refuse
		}
		if total := r.of.metrics[n].hist; !total.Equal(r.sums[n]) {
			all = append(all, &wire.Recounted{Metric: n, Sent: r.sums[n].Append(nil), Counted: total.Append(nil)})
		}
	}
	return all
}

// Agrees returns an error, which wraps run.ErrArchive, if a complete result has other
// metrics than were merged, or another count or histogram of one. An archive's figures are
// not trusted then. Values of gauges are not compared, and a result that is not complete
// always agrees: it lists what is missing.
func (m *Merger) Agrees(r *run.Result) error {
	if !r.Complete {
		return nil // it lists what is missing
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
