package merge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Part is what was recorded of one phase in a part of a run's time, in the form in which a
// store stores it. Data is an encoded wire.Batch whose metrics have the run's numbers, with one
// failure, without a source, that counts all.
type Part struct {
	From, To time.Duration // since the load began
	Warmup   bool
	Data     []byte
}

// OnPart sets a function that Intervals calls with what all executors recorded in each
// interval that it returns, and with what arrived late for an earlier one: such a part adds
// to that interval. An interval in which both phases recorded something has two parts. f must
// not call m.
func (m *Merger) OnPart(f func(Part)) { m.parts = f }

// parts returns a row as parts of the run's series, their metrics in ascending order: the
// other phase's first if it has recorded something, and that of the row's time.
func (r *row) parts() (all []Part) {
	if other := &r.phases[phase(!r.warmup)]; !other.empty() {
		all = append(all, r.part(other, nil, !r.warmup))
	}
	return append(all, r.part(&r.phases[phase(r.warmup)], r.gauges, r.warmup))
}

// part returns the counts of a phase as a part of the row's time.
func (r *row) part(c *counts, gauges map[int]int64, warmup bool) Part {
	b := &wire.Batch{FromNs: int64(r.from), ToNs: int64(r.to), Warmup: warmup, More: warmup != r.warmup}
	for _, n := range slices.Sorted(maps.Keys(c.counters)) {
		b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(n), Add: c.counters[n]})
	}
	for _, n := range slices.Sorted(maps.Keys(gauges)) {
		b.Gauges = append(b.Gauges, &wire.Gauge{Metric: uint32(n), Value: gauges[n]})
	}
	for _, n := range slices.Sorted(maps.Keys(c.histograms)) {
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: uint32(n), Counts: c.histograms[n].Append(nil)})
	}
	return newPart(b, c.failures)
}

// newPart adds the number of failures to b, if it is above 0, and encodes it. It panics if a
// text of b is not valid UTF-8.
func newPart(b *wire.Batch, failures int64) Part {
	if failures > 0 {
		b.Failures = []*wire.Failure{{Count: failures}}
	}
	data, err := proto.Marshal(b)
	if err != nil {
		panic(err) // its texts have been checked or come from this package
	}
	return Part{From: time.Duration(b.FromNs), To: time.Duration(b.ToNs), Warmup: b.Warmup, Data: data}
}

// PartOf returns a batch that Add has merged as a part of the executor's own series. The
// batch stays unchanged.
func (m *Merger) PartOf(executor int, b *wire.Batch) Part {
	s, part := m.executors[executor], &m.part
	number := func(n uint32) uint32 { return uint32(s.metrics[n].number) }
	part.FromNs, part.ToNs, part.Warmup, part.More, part.Failures = b.FromNs, b.ToNs, b.Warmup, b.More, nil
	part.Counters = sized(part.Counters, len(b.Counters))
	for i, c := range b.Counters {
		part.Counters[i].Metric, part.Counters[i].Add = number(c.Metric), c.Add
	}
	part.Gauges = sized(part.Gauges, len(b.Gauges))
	for i, g := range b.Gauges {
		part.Gauges[i].Metric, part.Gauges[i].Value = number(g.Metric), g.Value
	}
	part.Histograms = sized(part.Histograms, len(b.Histograms))
	for i, h := range b.Histograms {
		part.Histograms[i].Metric, part.Histograms[i].Counts = number(h.Metric), h.Counts
	}
	var failures int64
	for _, f := range b.Failures {
		failures += f.Count
	}
	return newPart(part, failures)
}

// sized returns a slice of n elements, none nil, that reuses those of of with what they
// hold.
func sized[T any](of []*T, n int) []*T {
	of = of[:min(n, cap(of))]
	for i := range of {
		if of[i] == nil {
			of[i] = new(T)
		}
	}
	for len(of) < n {
		of = append(of, new(T))
	}
	return of
}

// Fold adds up the data of parts of one series and one phase and returns that of one part,
// from the earliest begin to the latest end: counts are exact, of a gauge's values the last in
// time counts, and values of the same time are added. It returns an error if one of parts
// cannot be decoded.
func Fold(parts [][]byte) ([]byte, error) {
	sum := new(row)
	warmup, own, err := sum.read(parts)
	if err != nil {
		return nil, err
	}
	if own {
		sum.warmup = warmup
	}
	all := sum.all()
	return sum.part(&all, sum.gauges, warmup).Data, nil
}

// read adds the data of parts to r, and sets r.from to the earliest begin of parts, and
// r.warmup if the time of one of them is of a warm-up; gauges count as in Fold. It returns
// whether one of them belongs to the warm-up, and whether one has the phase of its time. If it
// returns an error, because a part cannot be decoded, r has some of them.
func (r *row) read(parts [][]byte) (warmup, own bool, err error) {
	var scratch hdr.Sparse
	at := map[int]int64{} // when a gauge's value began
	for i, data := range parts {
		var b wire.Batch
		if err := proto.Unmarshal(data, &b); err != nil {
			return false, false, fmt.Errorf("part %d of a series: %w", i, err)
		}
		if i == 0 || time.Duration(b.FromNs) < r.from {
			r.from = time.Duration(b.FromNs)
		}
		r.to = max(r.to, time.Duration(b.ToNs))
		r.warmup = r.warmup || b.InWarmup()
		warmup, own = warmup || b.Warmup, own || !b.More
		to := &r.phases[phase(b.Warmup)]
		for _, c := range b.Counters {
			to.add(int(c.Metric), c.Add)
		}
		for _, g := range b.Gauges {
			if r.gauges == nil {
				r.gauges = map[int]int64{}
			}
			n := int(g.Metric)
			switch since, known := at[n]; {
			case !known || b.FromNs > since:
				r.gauges[n], at[n] = g.Value, b.FromNs
			case b.FromNs == since:
				r.gauges[n] += g.Value
			}
		}
		for _, h := range b.Histograms {
			if err := scratch.Decode(h.Counts); err != nil {
				return false, false, fmt.Errorf("part %d of a series: %w", i, err)
			}
			to.histogram(int(h.Metric)).Add(&scratch)
		}
		for _, f := range b.Failures {
			to.failures += f.Count
		}
	}
	return warmup, own, nil
}

// Reopen adds an executor's stored part to its interval, which had not been returned when
// the State that Restore received was taken: counts, not gauges. The caller must call it
// once for each part of the executors' own series that begins at Returned or later, before
// Intervals. It returns an error if data cannot be decoded; part of it may then be in the
// interval. It does not check that the metrics are declared.
func (m *Merger) Reopen(data []byte) error {
	var b wire.Batch
	if err := proto.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("reopen an interval: %w", err)
	}
	r := m.row(&b)
	b.Gauges = nil // the current ones are taken when the interval is returned
	data = marshal(&b)
	from, to, warmup := r.from, r.to, r.warmup
	if _, _, err := r.read([][]byte{data}); err != nil {
		return err
	}
	r.from, r.to, r.warmup = from, max(to, r.to), warmup
	return nil
}

// Returned returns the time since the begin of the load before which all intervals have been
// returned; at that time or later begin those that have not.
func (m *Merger) Returned() time.Duration { return time.Duration(m.returned) }

// ErrUndeclared means that parts have metrics which the Merger has not declared: they are
// newer than it.
var ErrUndeclared = errors.New("a series has a metric that the run has not declared")

// IntervalOf returns the interval of parts of the same time, as Intervals would have
// returned it. Its error wraps ErrUndeclared if a metric's number is unknown, else a part
// cannot be decoded. It panics if a part counts a histogram as a counter.
func (m *Merger) IntervalOf(parts [][]byte) (run.Interval, error) {
	r := new(row)
	if _, _, err := r.read(parts); err != nil {
		return run.Interval{}, err
	}
	for _, numbers := range []int{most(r.gauges), most(r.phases[0].counters), most(r.phases[0].histograms), most(r.phases[1].counters), most(r.phases[1].histograms)} {
		if numbers >= len(m.metrics) {
			return run.Interval{}, fmt.Errorf("%w: number %d of %d", ErrUndeclared, numbers, len(m.metrics))
		}
	}
	return m.recordOf(r), nil
}

// most returns the greatest key of a map; -1 if it is empty.
func most[V any](of map[int]V) int {
	n := -1
	for k := range of {
		n = max(n, k)
	}
	return n
}
