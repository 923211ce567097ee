// Package merge merges what the executors of a run counted: it adds the counters,
// histograms and gauges of their batches by title, and returns the totals and the series of
// the run.
//
// Counts are merged first and percentiles taken after. Every batch counts once, identified
// by its executor and number; at the end the sums must equal those of each executor's last
// batch, or Missing names the difference. What belongs to a warm-up is in the series
// but not in the totals.
package merge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Merger merges the batches of one run. It must not be used by several goroutines at once.
// Methods that take an executor's number panic if it has none of that number; Add returns
// an error.
type Merger struct {
	interval  time.Duration
	executors []*source
	metrics   []*metric
	byTitle   map[string]*metric
	byCounts  map[run.Counts]*metric // the first of each
	failures  map[failure]int64
	samples   map[failure][]run.Sample // by source and class
	notes     []string
	decoded   []hdr.Sparse // histograms of the batch that is being added
	declares  []run.Metric // of metrics, without their records
	each      func(Counts) // set by OnInterval
	parts     func(Part)   // set by OnPart

	part wire.Batch // of PartOf, reused

	slowest   *source // the executor that the others are waiting for
	slowestTo int64   // the time up to which it had reported

	began    time.Time      // of the executor that began first
	end      time.Duration  // of the last batch
	rows     map[int64]*row // by the time they begin, ns; those not yet returned by Intervals
	returned int64          // rows that begin before it have been returned, ns
	closed   bool           // see RunOver
}

// metric is one title over all executors.
type metric struct {
	run.Metric // without a record
	number     int
	rates      hdr.Histogram    // of a counter: its rate in each whole interval of the load, perMilli
	sum        int64            // counter
	warm       int64            // counted, or recorded, in the time of warm-ups, of both phases
	hist       *hdr.Histogram   // histogram
	spare      []*hdr.Histogram // of returned rows, empty
	gauges     map[int]int64    // gauge: last value by executor
}

type failure struct{ source, class, text string }

// New returns a Merger for a run of executors 0 to executors-1, whose series has this
// interval.
func New(executors int, interval time.Duration) *Merger {
	m := &Merger{interval: interval, byTitle: map[string]*metric{}, byCounts: map[run.Counts]*metric{}, failures: map[failure]int64{}, samples: map[failure][]run.Sample{}, rows: map[int64]*row{}}
	for range executors {
		m.executors = append(m.executors, new(source))
	}
	return m
}

// Join adds an executor that begins at begin, since the begin of the load, and returns its
// number. Its first batch must begin then. Its name is for people; it may be empty.
func (m *Merger) Join(name string, begin time.Duration) int {
	m.executors = append(m.executors, &source{name: name, to: int64(begin)})
	m.slowest = nil
	return len(m.executors) - 1
}

// Lose marks an executor as lost: intervals no longer wait for it, and its gauges count as 0.
// Batches of it that come later are still merged, their gauges too. It does nothing for an
// executor that has sent its last batch.
func (m *Merger) Lose(executor int) {
	s := m.executors[executor]
	if s.final != nil {
		return
	}
	s.lost = true
	for _, t := range s.metrics {
		if t.Type == run.Gauge {
			delete(t.gauges, executor)
		}
	}
}

// Seq returns the number of an executor's last batch that was merged, 0 before the first,
// and whether that was its final one.
func (m *Merger) Seq(executor int) (seq uint64, over bool) {
	s := m.executors[executor]
	return s.seq, s.final != nil
}

// Has reports whether a batch of an executor was merged before, or comes after the final one,
// so that Add ignores it.
func (m *Merger) Has(executor int, b *wire.Batch) bool {
	seq, over := m.Seq(executor)
	return over || b.Seq != 0 && b.Seq <= seq
}

// CountOf returns the sum of the executor's counter of what counts, warm-up included; 0 if it
// has no such counter.
func (m *Merger) CountOf(executor int, counts run.Counts) int64 {
	s := m.executors[executor]
	for n, t := range s.metrics {
		if t.Counts == counts {
			return s.counters[n]
		}
	}
	return 0
}

// Reported returns the time, since the begin of the load, up to which an executor has
// reported, and whether more batches are expected: not after its last one, nor while it is
// lost.
func (m *Merger) Reported(executor int) (to time.Duration, awaited bool) {
	s := m.executors[executor]
	return time.Duration(s.to), s.awaited()
}

// Lost reports whether an executor is lost.
func (m *Merger) Lost(executor int) bool { return m.executors[executor].lost }

// DeclaredBy returns the metrics of an executor, in the order of its own numbers beginning
// with from, without their records. from is at most the number of its metrics; then it
// returns nil.
func (m *Merger) DeclaredBy(executor, from int) (all []run.Metric) {
	for _, t := range m.executors[executor].metrics[from:] {
		all = append(all, t.Metric)
	}
	return all
}

// Decoded returns the histograms of the batch that Add merged last, in the batch's order;
// the slice may be longer than the batch. They are valid until the next call of Add.
func (m *Merger) Decoded() []hdr.Sparse { return m.decoded }

// Executors returns the number of executors.
func (m *Merger) Executors() int { return len(m.executors) }

// Add merges a batch of an executor. It returns nil and does nothing for a batch that it
// has merged before, and after the executor's final one. It returns an error, and the
// totals and series are unchanged, if a batch is missing before this one, if it does not
// begin where the previous one ended, or if it has values that no executor can have
// counted. It retains b's Final.
func (m *Merger) Add(executor int, b *wire.Batch) error {
	if executor < 0 || executor >= len(m.executors) {
		return fmt.Errorf("executor %d is not of this run", executor)
	}
	s := m.executors[executor]
	switch {
	case m.Has(executor, b):
		return nil
	case b.Seq != s.seq+1:
		return fmt.Errorf("batch %d follows batch %d", b.Seq, s.seq)
	case b.FromNs != s.to || b.ToNs <= b.FromNs:
		return fmt.Errorf("a batch from %d to %d ns follows one that ends at %d", b.FromNs, b.ToNs, s.to)
	case b.More && (b.Final != nil || len(b.Gauges) > 0):
		return fmt.Errorf("batch %d is followed by one of the same time, and has more than counts", b.Seq)
	}
	known, err := m.declared(s, b)
	if err != nil {
		return err
	}
	if err := m.check(known, b); err != nil {
		return err
	}
	changes, err := m.exact(known, b.Exact, b)
	if err != nil {
		return err
	}
	m.declare(s, known)
	s.gathered = s.gathered || b.Gathered > 1 && !b.Warmup
	r := m.row(b)
	to := &r.phases[phase(b.Warmup)]
	for _, c := range b.Counters {
		t := s.metrics[c.Metric]
		if !b.Warmup {
			t.sum += c.Add
		}
		if b.InWarmup() {
			t.warm += c.Add
		}
		s.counters[c.Metric] += c.Add
		to.add(t.number, c.Add)
	}
	for i, h := range b.Histograms {
		t, of := s.metrics[h.Metric], &m.decoded[i] // by check
		if !b.Warmup {
			t.hist.Add(of)
		}
		if b.InWarmup() {
			t.warm += int64(of.Count())
		}
		s.counts[h.Metric] += of.Count()
		to.histogramOf(t).Add(of)
	}
	replace(changes) // only archives have some, and no gathered histograms: s.gathered stays
	for _, g := range b.Gauges {
		s.metrics[g.Metric].gauges[executor] = g.Value
	}
	for _, f := range b.Failures {
		if !b.Warmup {
			m.failures[failure{f.Source, f.Class, f.Text}] += f.Count
		}
		to.failures += f.Count
	}
	for _, x := range b.Samples {
		m.sample(x)
	}
	for _, text := range b.Notes {
		m.Note(text)
	}
	if b.GoUnixNs != 0 {
		if began := time.Unix(0, b.GoUnixNs); m.began.IsZero() || began.Before(m.began) {
			m.began = began
		}
	}
	s.seq, s.final = b.Seq, b.Final
	if b.More {
		return nil // the next one has the same time
	}
	if b.Warmup {
		s.warmup += b.ToNs - b.FromNs
	}
	s.to = b.ToNs
	m.end = max(m.end, time.Duration(b.ToNs))
	return nil
}

// declared returns the metrics of an executor by its own numbers, with those that b
// declares. It changes nothing. It returns an error if their numbers do not follow the
// known ones, a type is unknown, or a title has another type or unit in this run.
func (m *Merger) declared(s *source, b *wire.Batch) ([]*metric, error) {
	if len(b.Declared) > 0 && int(b.First) != len(s.metrics) {
		return nil, fmt.Errorf("metrics are declared from number %d on, but %d are known", b.First, len(s.metrics))
	}
	known := slices.Clip(s.metrics)
	for _, d := range b.Declared {
		typ := run.MetricType(d.Type)
		if !typ.Known() {
			return nil, fmt.Errorf("metric %q has type %q", d.Title, d.Type)
		}
		t := m.byTitle[d.Title]
		if t == nil {
			t = &metric{Metric: d.Metric()}
			if !t.Role.Fits(typ) {
				return nil, fmt.Errorf("metric %q is a %s with the role %q", d.Title, d.Type, d.Role)
			}
		} else if t.Type != typ || t.Unit != d.Unit {
			return nil, fmt.Errorf("metric %q is a %s in %s on one executor and a %s in %s on another", d.Title, t.Type, t.Unit, d.Type, d.Unit)
		} else if c := d.Metric().Counts; t.Counts != c {
			return nil, fmt.Errorf("metric %q counts %v on one executor and %v on another", d.Title, t.Counts, c)
		}
		known = append(known, t)
	}
	return known, nil
}

// declare stores what declared returned for s; metrics that are new to the run get its next
// numbers.
func (m *Merger) declare(s *source, known []*metric) {
	for _, t := range known[len(s.metrics):] {
		if m.byTitle[t.Title] == nil {
			t.number = len(m.metrics)
			switch t.Type {
			case run.Counter: // its sum begins at 0
			case run.Histogram:
				t.hist = new(hdr.Histogram)
			case run.Gauge:
				t.gauges = map[int]int64{}
			}
			m.metrics = append(m.metrics, t)
			m.declares = append(m.declares, t.Metric)
			m.byTitle[t.Title] = t
			if m.byCounts[t.Counts] == nil {
				m.byCounts[t.Counts] = t
			}
		}
		s.counters = append(s.counters, 0)
		s.counts = append(s.counts, 0)
	}
	s.metrics = known
}

// Began returns the wall clock time at which the load began, from the first batch; the zero
// time before that.
func (m *Merger) Began() time.Time { return m.began }

// End returns the time from the begin of the load to the end of the last batch.
func (m *Merger) End() time.Duration { return m.end }

// Warmup returns the length of the warm-up so far, the longest of all executors, which the
// totals leave out.
func (m *Merger) Warmup() time.Duration {
	var longest int64
	for _, s := range m.executors {
		longest = max(longest, s.warmup)
	}
	return time.Duration(longest)
}

// Load returns how long the load lasted, its drain included: the longest of all executors.
// It is End until all of them have sent their last batch, or if one of those has no valid
// length.
func (m *Merger) Load() time.Duration {
	var load int64
	for _, s := range m.executors {
		if s.final == nil || s.final.LoadNs <= 0 || s.final.LoadNs > s.to {
			return m.end
		}
		load = max(load, s.final.LoadNs)
	}
	return time.Duration(load)
}

// Notes returns the events that executors reported and the texts of Note, in order. The
// slice is the Merger's own.
func (m *Merger) Notes() []string { return m.notes }

// Metrics returns every metric with its record over the run so far, without warm-ups, in
// the order of declaration, but no companion of another (run.Role.Companions) that is empty. A
// histogram that is not empty has its encoding as well (hdr). A gauge's value is the sum of the
// executors' last ones. Rates are those within the measured time. After RunOver, counts have what
// was lost.
func (m *Merger) Metrics() []run.Metric {
	all := make([]run.Metric, 0, len(m.metrics))
	ended, sums, seconds := m.ended(), m.sums(), m.Measured().Seconds()
	rest := m.unended()
	for _, t := range m.metrics {
		total := t.Metric
		sum := t.sum + rest[t]
		if t.Type == run.Gauge {
			sum = t.value()
		}
		lost := m.unmeasuredOf(t, func(t *metric) int64 { return t.sum + rest[t] }, func(t *metric) *hdr.Histogram { return t.hist })
		if t.Role.Companion() && t.hist.Count() == 0 {
			continue // nothing was delayed
		}
		total.Record = t.record(sum, t.hist, lost, 0)
		if t.Type == run.Histogram {
			total.Bounds = boundsOf(m.timesOf(t, lost.n, func(t *metric) *hdr.Histogram { return t.hist }), t.unit())
		}
		if t.Type != run.Gauge {
			within := max(0, ended[t.number]-t.warm)
			total.RPS = per(float64(within), seconds)
			total.Later = counted(sums[t.number] - ended[t.number])
			total.Spread = t.spreadOf(*total.RPS)
		}
		if t.Type == run.Histogram && t.hist.Count() > 0 {
			total.Histogram = t.hist.Append(nil)
		}
		all = append(all, total)
	}
	return all
}

// Failures returns the kinds of failure, without those of warm-ups, the most frequent
// first; kinds as frequent are sorted by source, class and text.
func (m *Merger) Failures() []run.Failure {
	all := make([]run.Failure, 0, len(m.failures))
	for f, n := range m.failures {
		all = append(all, run.Failure{Source: f.source, Class: f.class, Text: f.text, Count: n})
	}
	slices.SortFunc(all, func(a, b run.Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Text, b.Text))
	})
	return all
}
