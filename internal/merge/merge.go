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

	"github.com/gobench-io/gobench/internal/hdr"
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
	scratch   hdr.Histogram
	declares  []run.Metric // of metrics, without their records
	each      func(Counts) // of OnInterval

	began time.Time      // of the executor that began first
	end   time.Duration  // of the last batch
	rows  map[int64]*row // by the moment they begin, ns; those not yet given out
}

// metric is one title over all executors.
type metric struct {
	run.Metric // without a record
	kind       kind
	number     int
	rates      hdr.Histogram  // of a counter: its rate in each whole interval, perMilli
	sum        int64          // counter
	hist       *hdr.Histogram // histogram
	gauges     map[int]int64  // gauge: last value by executor
}

type kind int

const (
	counter kind = iota
	histogram
	gauge
)

var kinds = map[string]kind{"counter": counter, "histogram": histogram, "gauge": gauge}

type failure struct{ source, class, text string }

// New makes the merger of a run with so many executors.
func New(executors int, interval time.Duration) *Merger {
	m := &Merger{interval: interval, byTitle: map[string]*metric{}, failures: map[failure]int64{}, samples: map[failure][]run.Sample{}, rows: map[int64]*row{}}
	for range executors {
		m.executors = append(m.executors, new(source))
	}
	return m
}

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
	if err := check(known, b, &m.scratch); err != nil {
		return err
	}
	m.declare(s, known)
	r := m.row(b)
	for _, c := range b.Counters {
		t := s.metrics[c.Metric]
		if !b.Warmup {
			t.sum += c.Add
		}
		s.counters[c.Metric] += c.Add
		r.counters[t.number] += c.Add
	}
	for _, h := range b.Histograms {
		t := s.metrics[h.Metric]
		_ = m.scratch.Decode(h.Counts) // check has
		if !b.Warmup {
			t.hist.Merge(&m.scratch)
		}
		s.counts[h.Metric] += m.scratch.Count()
		r.histogram(t.number).Merge(&m.scratch)
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
	m.notes = append(m.notes, b.Notes...)
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
		k, ok := kinds[d.Type]
		if !ok {
			return nil, fmt.Errorf("metric %q has type %q", d.Title, d.Type)
		}
		t := m.byTitle[d.Title]
		if t == nil {
			t = &metric{Metric: run.Metric{Title: d.Title, Type: d.Type, Group: d.Group, Graph: d.Graph, Unit: d.Unit}, kind: k}
		} else if t.Type != d.Type || t.Unit != d.Unit {
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
			switch t.kind {
			case histogram:
				t.hist = new(hdr.Histogram)
			case gauge:
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
		total.Record = t.record(t.sum, t.hist, m.Measured().Seconds())
		if lost := m.lostOf(t); lost != nil {
			total.Lost = counted(lost.sum)
		}
		total.Spread = t.spreadOf()
		if t.kind == histogram && t.hist.Count() > 0 {
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
