// Package merge makes one whole of what the executors of a run counted: it takes
// their batches, adds counters, histograms and gauges by title, and gives the
// totals and the series of the run.
//
// Counts are merged first and percentiles taken after. Every batch counts once,
// by its executor and number; at the end the sums must be what each executor's
// last batch says, or Missing names the difference. What was recorded in a warm-up
// is in the series and not in the totals.
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

// Merger merges the batches of one run. It is for one goroutine at a time.
type Merger struct {
	interval  time.Duration
	executors []*source
	metrics   []*metric
	byTitle   map[string]*metric
	failures  map[failure]int64
	samples   map[failure][]run.Sample // by source and class
	notes     []string
	decoded   []hdr.Sparse // histograms of the batch that is added
	declares  []run.Metric // of metrics, without their records
	each      func(Counts) // of OnInterval
	parts     func(Part)   // of OnPart

	part wire.Batch // of PartOf, used again

	slowest   *source // the executor that all wait for
	slowestTo int64   // up to when it had reported

	began time.Time      // of the executor that began first
	end   time.Duration  // of the last batch
	rows  map[int64]*row // by the moment they begin, ns; those not yet given out
	given int64          // rows that begin before it have been given out, ns
}

// metric is one title over all executors.
type metric struct {
	run.Metric // without a record
	number     int
	rates      hdr.Histogram    // of a counter: its rate in each whole interval, perMilli
	sum        int64            // counter
	hist       *hdr.Histogram   // histogram
	spare      []*hdr.Histogram // of rows that were given out, empty
	gauges     map[int]int64    // gauge: last value by executor
}

type failure struct{ source, class, text string }

// New makes the merger of a run with so many executors.
func New(executors int, interval time.Duration) *Merger {
	m := &Merger{interval: interval, byTitle: map[string]*metric{}, failures: map[failure]int64{}, samples: map[failure][]run.Sample{}, rows: map[int64]*row{}}
	for range executors {
		m.executors = append(m.executors, new(source))
	}
	return m
}

// Join adds an executor that begins when the run has gone on for some time, and gives its
// number. Its name is for people.
func (m *Merger) Join(name string, begin time.Duration) int {
	m.executors = append(m.executors, &source{name: name, to: int64(begin)})
	m.slowest = nil
	return len(m.executors) - 1
}

// Lose has intervals no longer wait for an executor: nothing is known of it. What comes
// of it later is still merged. One that has sent its last batch is not lost.
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

// Found undoes Lose.
func (m *Merger) Found(executor int) {
	m.executors[executor].lost = false
	m.slowest = nil
}

// Seq is the number of an executor's last batch that was merged, and Over whether that
// was its final one.
func (m *Merger) Seq(executor int) (seq uint64, over bool) {
	s := m.executors[executor]
	return s.seq, s.final != nil
}

// CountOf is what an executor's counter has come to, warm-up and all; 0 where it has none
// of that title.
func (m *Merger) CountOf(executor int, title string) int64 {
	s := m.executors[executor]
	for n, t := range s.metrics {
		if t.Title == title {
			return s.counters[n]
		}
	}
	return 0
}

// Reported tells up to when an executor has reported, and whether more of it is awaited:
// not after its last batch, nor while it is lost.
func (m *Merger) Reported(executor int) (to time.Duration, awaited bool) {
	s := m.executors[executor]
	return time.Duration(s.to), s.awaited()
}

// Lost tells whether an executor is lost.
func (m *Merger) Lost(executor int) bool { return m.executors[executor].lost }

// DeclaredBy gives the metrics of an executor, by its own numbers from one on, without
// their records.
func (m *Merger) DeclaredBy(executor, from int) (all []run.Metric) {
	for _, t := range m.executors[executor].metrics[from:] {
		all = append(all, t.Metric)
	}
	return all
}

// Decoded are the histograms of the batch that Add took last, by their place in it, until
// it takes the next.
func (m *Merger) Decoded() []hdr.Sparse { return m.decoded }

// Executors is how many there are.
func (m *Merger) Executors() int { return len(m.executors) }

// Add merges a batch of an executor. A batch that it has merged before is ignored.
// A batch that an executor cannot have meant is refused as a whole, with an error:
// the merger is then as before.
func (m *Merger) Add(executor int, b *wire.Batch) error {
	if executor < 0 || executor >= len(m.executors) {
		return fmt.Errorf("executor %d is not of this run", executor)
	}
	s := m.executors[executor]
	switch {
	case s.final != nil || b.Seq != 0 && b.Seq <= s.seq:
		return nil // redelivered
	case b.Seq != s.seq+1:
		return fmt.Errorf("batch %d follows batch %d", b.Seq, s.seq)
	case b.FromNs != s.to || b.ToNs <= b.FromNs:
		return fmt.Errorf("a batch from %d to %d ns follows one that ends at %d", b.FromNs, b.ToNs, s.to)
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
	for _, c := range b.Counters {
		t := s.metrics[c.Metric]
		if !b.Warmup {
			t.sum += c.Add
		}
		s.counters[c.Metric] += c.Add
		r.counters[t.number] += c.Add
	}
	for i, h := range b.Histograms {
		t, of := s.metrics[h.Metric], &m.decoded[i] // by check
		if !b.Warmup {
			t.hist.Add(of)
		}
		s.counts[h.Metric] += of.Count()
		r.histogramOf(t).Add(of)
	}
	if len(changes) > 0 {
		replace(changes)
		s.gathered = false
	}
	for _, g := range b.Gauges {
		s.metrics[g.Metric].gauges[executor] = g.Value
	}
	for _, f := range b.Failures {
		if !b.Warmup {
			m.failures[failure{f.Source, f.Class, f.Text}] += f.Count
		}
		r.failures += f.Count
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
	if b.Warmup {
		s.warmup += b.ToNs - b.FromNs
	}
	s.seq, s.to, s.final = b.Seq, b.ToNs, b.Final
	m.end = max(m.end, time.Duration(b.ToNs))
	return nil
}

// declared gives the metrics of an executor by its own numbers, those that b tells
// of among them. It changes nothing.
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
			t = &metric{Metric: run.Metric{Title: d.Title, Type: typ, Group: d.Group, Graph: d.Graph, Unit: d.Unit}}
		} else if t.Type != typ || t.Unit != d.Unit {
			return nil, fmt.Errorf("metric %q is a %s in %s on one executor and a %s in %s on another", d.Title, t.Type, t.Unit, d.Type, d.Unit)
		}
		known = append(known, t)
	}
	return known, nil
}

// declare takes what declared gave.
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
		}
		s.counters = append(s.counters, 0)
		s.counts = append(s.counts, 0)
	}
	s.metrics = known
}

// Began is the wall clock time at which the load began, by the first batch; zero
// before that.
func (m *Merger) Began() time.Time { return m.began }

// End is how long after the begin the last batch ended.
func (m *Merger) End() time.Duration { return m.end }

// Warmup is how much of the load was warm-up, which the totals leave out.
func (m *Merger) Warmup() time.Duration {
	var longest int64
	for _, s := range m.executors {
		longest = max(longest, s.warmup)
	}
	return time.Duration(longest)
}

// Measured is how long the load lasted without its warm-up: the time that rates are
// taken over.
func (m *Merger) Measured() time.Duration { return max(0, m.Load()-m.Warmup()) }

// Load is how long the load lasted, its drain included. Until all executors have
// sent their last batch it is End.
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

// Notes are the events that executors told of, in order.
func (m *Merger) Notes() []string { return m.notes }

// Metrics gives every metric's record over the run so far, in the order of their
// declaration.
func (m *Merger) Metrics() []run.Metric {
	all := make([]run.Metric, 0, len(m.metrics))
	for _, t := range m.metrics {
		total := t.Metric
		sum := t.sum
		if t.Type == run.Gauge {
			sum = t.value()
		}
		total.Record = t.record(sum, t.hist, m.Measured().Seconds())
		if lost := m.lostOf(t); lost != nil {
			total.Lost = counted(lost.sum)
		}
		total.Spread = t.spreadOf()
		if t.Type == run.Histogram && t.hist.Count() > 0 {
			total.Histogram = t.hist.Append(nil)
		}
		all = append(all, total)
	}
	return all
}

// Failures gives the kinds of failure, the most frequent first.
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
