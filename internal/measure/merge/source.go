package merge

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// source is one executor as seen in its batches.
type source struct {
	name     string // for people; if empty, its number is shown
	lost     bool   // not waited for
	seq      uint64
	to       int64
	warmup   int64 // in the batches so far, ns
	final    *wire.Final
	metrics  []*metric // by the executor's own numbers
	counters []int64   // sums, by the executor's own numbers
	counts   []uint64  // number of recordings of histograms, by the same
	gathered bool      // it sent gathered histograms, and the exact ones have not arrived
}

// awaited reports whether more batches are expected.
func (s *source) awaited() bool { return s.final == nil && !s.lost }

// ended returns, by metric number, how much the executors had counted, or recorded, of both
// phases when the measured time ended; all of it of those that have not sent that.
func (m *Merger) ended() []int64 {
	all := make([]int64, len(m.metrics))
	for _, s := range m.executors {
		if e := s.final.GetEnded(); e != nil {
			for _, c := range e.Counters {
				if int(c.Metric) < len(s.metrics) { // else Missing has it
					all[s.metrics[c.Metric].number] += c.Add
				}
			}
			for _, h := range e.Histograms {
				if int(h.Metric) < len(s.metrics) {
					all[s.metrics[h.Metric].number] += int64(h.Count)
				}
			}
			continue
		}
		for n, t := range s.metrics {
			all[t.number] += s.counters[n] + int64(s.counts[n])
		}
	}
	return all
}

// sums returns, by metric number, how much the executors have counted, or recorded, of both
// phases so far.
func (m *Merger) sums() []int64 {
	all := make([]int64, len(m.metrics))
	for _, s := range m.executors {
		for n, t := range s.metrics {
			all[t.number] += s.counters[n] + int64(s.counts[n])
		}
	}
	return all
}

// Measured returns how long the measured time lasted, without warm-ups and pauses: the divisor
// of rates. It is the longest of all executors.
func (m *Merger) Measured() time.Duration {
	var longest int64
	for _, s := range m.executors {
		to := s.to
		switch e := s.final.GetEnded(); {
		case e != nil:
			longest = max(longest, e.MeasuredNs)
			continue
		case s.final != nil && s.final.LoadNs > 0 && s.final.LoadNs <= s.to: // of an older gobench
			to = s.final.LoadNs
		}
		longest = max(longest, to-s.warmup)
	}
	return time.Duration(longest)
}

// check returns an error if b has values that no executor with these metrics can have
// counted. It decodes the batch's histograms into m.decoded, in the batch's order; after an
// error, perhaps only some.
func (m *Merger) check(known []*metric, b *wire.Batch) error {
	of := func(n uint32, typ run.MetricType) error {
		if int(n) >= len(known) {
			return fmt.Errorf("metric number %d is not declared", n)
		}
		if known[n].Type != typ {
			return fmt.Errorf("metric %q is a %s", known[n].Title, known[n].Type)
		}
		return nil
	}
	for _, c := range b.Counters {
		if err := of(c.Metric, run.Counter); err != nil {
			return err
		}
		if c.Add < 0 {
			return fmt.Errorf("counter %q goes down by %d", known[c.Metric].Title, -c.Add)
		}
	}
	for _, g := range b.Gauges {
		if err := of(g.Metric, run.Gauge); err != nil {
			return err
		}
	}
	for len(m.decoded) < len(b.Histograms) {
		m.decoded = append(m.decoded, hdr.Sparse{})
	}
	for i, h := range b.Histograms {
		if err := of(h.Metric, run.Histogram); err != nil {
			return err
		}
		if err := m.decoded[i].Decode(h.Counts); err != nil {
			return fmt.Errorf("histogram %q: %w", known[h.Metric].Title, err)
		}
	}
	return nil
}

// Missing returns the reasons why the totals are not exactly what the executors counted,
// each with the executor's name; nil if they are.
func (m *Merger) Missing() (missing []string) {
	for i, s := range m.executors {
		add := func(format string, args ...any) {
			missing = append(missing, s.of(i)+": "+fmt.Sprintf(format, args...))
		}
		if s.final == nil {
			add("its last batch has not come; what it counted after %.1f s is missing", float64(s.to)/1e9)
		}
		if s.gathered {
			add("its exact histograms did not come; percentiles are those of what it sent each second")
		}
		if s.final == nil {
			continue
		}
		for _, c := range s.final.Counters {
			if int(c.Metric) >= len(s.metrics) {
				add("it counted metric number %d, which no batch has declared", c.Metric)
			} else if s.counters[c.Metric] != c.Add {
				add("counter %q adds up to %d, and it counted %d", s.metrics[c.Metric].Title, s.counters[c.Metric], c.Add)
			}
		}
		for _, h := range s.final.Histograms {
			if int(h.Metric) >= len(s.metrics) {
				add("it recorded metric number %d, which no batch has declared", h.Metric)
			} else if s.counts[h.Metric] != h.Count {
				add("histogram %q adds up to %d recordings, and it made %d", s.metrics[h.Metric].Title, s.counts[h.Metric], h.Count)
			}
		}
	}
	return missing
}

// of returns the name of executor i for people, "executor 0 on HOST"; without a name,
// "executor 0".
func (s *source) of(i int) string {
	if s.name == "" {
		return fmt.Sprintf("executor %d", i)
	}
	return fmt.Sprintf("executor %d on %s", i, s.name)
}

// Interrupted returns, by class, the number of users still running after their context had
// ended. It counts only executors that have sent their last batch.
func (m *Merger) Interrupted() map[string]int64 {
	users := map[string]int64{}
	for _, s := range m.executors {
		if s.final != nil {
			for _, i := range s.final.Interrupted {
				users[i.Class] += i.Users
			}
		}
	}
	return users
}

// Refused returns the number of recordings refused because of a negative value, on the
// executors that have sent their last batch.
func (m *Merger) Refused() (n int64) {
	for _, s := range m.executors {
		if s.final != nil {
			n += s.final.Refused
		}
	}
	return n
}
