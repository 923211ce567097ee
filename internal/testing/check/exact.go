package check

import (
	"hash/crc64"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// sumsOf returns the counts of s, a run's stored totals, which must not be nil: without the
// warm-up and gauges. Histograms that cannot be read are violations (I4), and empty; totals of
// undeclared metrics are violations (I1).
func (c *checker) sumsOf(r *stored1, s *merge.RunState) *tallied {
	t := newTallied()
	for i, total := range s.Totals {
		if i >= len(s.Declared) {
			c.fault("I1", r.id, "there are %d totals of %d metrics", len(s.Totals), len(s.Declared))
			break
		}
		switch m := s.Declared[i]; run.MetricType(m.Type) {
		case run.Counter:
			t.counters[m.Title] = total.Sum
		case run.Histogram:
			h := new(hdr.Histogram)
			if len(total.Counts) > 0 {
				if err := h.Decode(total.Counts); err != nil {
					c.fault("I4", r.id, "histogram %q can't be read: %v", m.Title, err)
				}
			}
			t.histograms[m.Title] = h
		case run.Gauge: // it has no total
		}
	}
	for _, f := range s.Failures {
		t.failures[failure{f.Source, f.Class, f.Text}] += f.Count
		t.failed += f.Count
	}
	return t
}

// shown returns the totals of a run's result, which must exist, without gauges. Histograms
// that cannot be read (they are empty then) or do not fit the result's figures are violations
// (I4).
func (c *checker) shown(r *stored1) *tallied {
	t := newTallied()
	for _, m := range r.result.Metrics {
		switch m.Type {
		case run.Counter:
			if m.Count != nil {
				t.counters[m.Title] = *m.Count
			}
		case run.Histogram:
			h := new(hdr.Histogram)
			if len(m.Histogram) > 0 {
				if err := h.Decode(m.Histogram); err != nil {
					c.fault("I4", r.id, "histogram %q of the result can't be read: %v", m.Title, err)
				}
			}
			t.histograms[m.Title] = h
			if m.Count == nil || uint64(*m.Count) != h.Count() {
				c.fault("I4", r.id, "the result's count of histogram %q is not that of its %d recordings", m.Title, h.Count())
			}
			lost := int64(0) // which rank after all recordings
			if m.Lost != nil {
				lost = *m.Lost
			}
			right := func(q float64, got run.Quantile) bool {
				if !run.Answered(q, int64(h.Count()), lost) {
					return !got.Known()
				}
				return float64(got) == float64(h.QuantileAmong(q, lost))*1e-6
			}
			if m.Times != nil && h.Count() > 0 && (!right(0.5, m.Times.P50) || !right(0.99, m.Times.P99) || m.Times.Max != float64(h.Max())*1e-6) {
				c.fault("I4", r.id, "the result's percentiles of %q are not those of its histogram", m.Title)
			}
		case run.Gauge: // it has no total
		}
	}
	for _, f := range r.result.Errors {
		t.failures[failure{f.Source, f.Class, f.Text}] += f.Count
		t.failed += f.Count
	}
	return t
}

// same checks that got has the counts of right (I1) and its histograms (I4). what begins the
// text of each violation.
func (c *checker) same(r *stored1, what string, got, right *tallied) {
	counts, histograms := got.differ(right)
	for _, text := range append(counts, got.differFailures(right)...) {
		c.fault("I1", r.id, "%s: %s", what, text)
	}
	for _, text := range histograms {
		c.fault("I4", r.id, "%s: %s", what, text)
	}
}

var table = crc64.MakeTable(crc64.ECMA)

// ledgers checks I1 and I4: the store has what the ledgers have up to each executor's last
// merged batch, and the result names what is beyond it as missing. It also checks I2 and I5 as
// far as that needs the ledgers. accounts are the run's own. Last it checks what targets
// counted.
func (c *checker) ledgers(r *stored1, accounts []*account) {
	right := newSums()
	one := map[int]*account{} // the one with batches, by executor
	for _, a := range accounts {
		if len(a.batches) == 0 {
			continue
		}
		if other := one[a.executor]; other != nil {
			c.fault("I1", r.id, "executor %d has two ledgers: %s and %s", a.executor, other.file, a.file)
			continue
		}
		one[a.executor] = a
	}
	for n, a := range one {
		i := slices.IndexFunc(r.executors, func(e *executorState) bool { return e.executor == n })
		taken, exact := uint64(0), true
		if i >= 0 {
			taken, exact = r.executors[i].seq, !r.executors[i].state.Gathered
			if r.executors[i].agent != a.agent {
				c.fault("I1", r.id, "executor %d is of agent %s, its ledger of %s", n, r.executors[i].agent, a.agent)
			}
		}
		last := uint64(len(a.batches))
		if taken > last {
			c.fault("I1", r.id, "%d batches of executor %d were taken in, and its ledger has %d", taken, n, last)
		}
		if taken < last && r.final && !r.names(n) {
			c.fault("I1", r.id, "executor %d counted %d batches, %d were taken in, and the result does not report anything missing", n, last, taken)
		}
		if err := a.upTo(taken, exact, right); err != nil {
			c.fault("I1", r.id, "%v", err)
		}
		c.hashes(r, n, a)
	}
	for _, e := range r.executors {
		if e.seq > 0 && one[e.executor] == nil {
			c.fault("I1", r.id, "%d batches of executor %d were taken in, and it has no ledger", e.seq, e.executor)
		}
	}
	if r.totals != nil {
		c.same(r, "the totals", c.sumsOf(r, r.totals), right.measured)
		c.levels(r, right.whole)
	}
	if r.final && r.result != nil && len(r.executors) > 0 {
		c.same(r, "the result", c.shown(r), right.measured.withLost(r))
	}
	c.targets(r, right.measured)
}

// hashes checks that the merged batches have the checksums of the ledger's, as far as the
// store still has checksums.
func (c *checker) hashes(r *stored1, executor int, a *account) {
	for _, b := range r.batches {
		if b.executor != executor || b.seq < 1 || b.seq > uint64(len(a.batches)) {
			continue
		}
		data, err := proto.Marshal(a.sent[b.seq-1])
		if err != nil || crc64.Checksum(data, table) != b.sum {
			c.fault("I2", r.id, "batch %d of executor %d was taken in with other bytes than the ledger's", b.seq, executor)
		}
	}
}

// targets checks I1 against what targets counted: right, a run's counts, must have the same, 0
// if it lacks a title. A run that did not drain may have sent more requests than it counted
// answers.
func (c *checker) targets(r *stored1, right *tallied) {
	for title, seen := range c.o.Targets[r.id] {
		if title == "users" {
			continue
		}
		n := right.counters[title]
		if n > seen || r.state == "finished" && r.result != nil && r.result.Complete && n != seen {
			c.fault("I1", r.id, "counter %q is %d, and the target has seen %d", title, n, seen)
		}
	}
}

// users checks I8 of a final run, for runs and classes that ended as planned. Without totals
// or a result it checks nothing.
func (c *checker) users(r *stored1) {
	if r.result == nil || !r.final || r.totals == nil {
		return
	}
	own := c.sumsOf(r, r.totals)
	all := int64(0)
	for _, class := range r.result.Config.Classes {
		all += class.Users
		started, ok := own.counters["vu."+class.Name+".started"]
		if ok && r.byItself() && started != class.Users {
			c.fault("I8", r.id, "%d users of class %s began, and %d were asked for", started, class.Name, class.Users)
		}
	}
	if seen, ok := c.o.Targets[r.id]["users"]; ok && r.byItself() && seen != all {
		c.fault("I8", r.id, "the target has seen %d users, and %d were asked for", seen, all)
	}
}

// byItself reports whether a run ended as planned, so that all users of all classes have
// started: it has no duration, warm-up, loop or arrivals, and no stop, change of the load or
// lost agent cut it short. The run must have a result.
func (r *stored1) byItself() bool {
	if r.state != "finished" || r.cause != "" || !r.result.Complete || r.result.Config.Duration > 0 || r.result.Warmup > 0 {
		return false
	}
	for _, class := range r.result.Config.Classes {
		if class.Load != "" && !strings.HasPrefix(class.Load, "once") && !strings.HasPrefix(class.Load, "times") {
			return false
		}
	}
	for _, h := range r.result.Hosts {
		if h.Lost > 0 {
			return false
		}
	}
	return len(r.placements) == len(r.executors) && !slices.ContainsFunc(r.result.Notes, func(n string) bool { return strings.Contains(n, " set to ") })
}

// titlesOf returns a run's metrics by their numbers.
func (r *stored1) titlesOf() []*wire.Metric { return r.totals.GetDeclared() }
