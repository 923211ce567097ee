package merge

import (
	"math"
	"slices"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
)

// RunOver declares that the run has ended: what an executor began and did not end, because it died,
// or what it counted of that did not arrive, is lost. Metrics counts it from here on: operations
// as unanswered, by the error "lost"; iterations as lost; planned starts as unserved. No
// interval has them, since it is unknown when they would have ended. Batches may still be added:
// then less is lost.
func (m *Merger) RunOver() { m.closed = true }

// Unended returns, by title, how much of the counters in Metrics was lost, and is in no interval;
// nil if nothing was.
func (m *Merger) Unended() map[string]int64 {
	var all map[string]int64
	for t, n := range m.unended() {
		if all == nil {
			all = map[string]int64{}
		}
		all[t.Title] = n
	}
	return all
}

// unended returns what was lost, by the metrics that count it; nil if nothing was.
func (m *Merger) unended() map[*metric]int64 {
	if !m.closed || !slices.ContainsFunc(m.executors, func(s *source) bool { return s.final == nil }) {
		return nil
	}
	rest := map[*metric]int64{}
	// lack is how many of what t counts have no end that others, of the same owner, count.
	lack := func(t *metric, others ...run.Role) int64 {
		n := t.sum
		for _, r := range others {
			if o := m.byCounts[t.Counts.As(r)]; o != nil {
				n -= o.sum
			}
		}
		return max(n, 0)
	}
	add := func(c run.Counts, n int64) {
		if t := m.byCounts[c]; t != nil && n > 0 {
			rest[t] = n
		}
	}
	for _, t := range m.metrics {
		if !t.Whole() {
			continue
		}
		switch t.Role {
		case run.OpBegun:
			n := lack(t, run.OpOK, run.OpFailed, run.OpUnanswered)
			add(t.Counts.As(run.OpUnanswered), n)
			add(run.Counts{Role: run.OpUnanswered, Of: t.Of, By: "error", Part: run.PartLost}, n)
		case run.ClassBegun:
			add(t.Counts.As(run.ClassLost), lack(t, run.ClassDone, run.ClassCut, run.ClassVoid))
		case run.ClassPlanned:
			add(t.Counts.As(run.ClassUnserved), lack(t, run.ClassBegun, run.ClassDropped, run.ClassUnserved))
		}
	}
	return rest
}

// unmeasured is what a histogram lacks: n, and their ages, of which there are n, or nil if those of
// some are unknown.
type unmeasured struct {
	n    int64
	ages *hdr.Histogram
}

// unmeasuredOf returns what t, a histogram, lacks (run.Role.Missing, Ages), with the count of a counter
// as count returns it, and the recordings of a histogram as of does, which may be nil.
func (m *Merger) unmeasuredOf(t *metric, count func(*metric) int64, of func(*metric) *hdr.Histogram) (l unmeasured) {
	for _, missing := range t.Role.Missing() {
		if counter := m.byCounts[t.Counts.As(missing)]; counter != nil {
			l.n += count(counter)
		}
	}
	if l.n == 0 {
		return l
	}
	ages := new(hdr.Histogram)
	for _, role := range t.Role.Ages() {
		if x := m.byCounts[t.Counts.As(role)]; x != nil && of(x) != nil {
			ages.Merge(of(x))
		}
	}
	if int64(ages.Count()) == l.n {
		l.ages = ages
	}
	return l
}

// atLeast returns the ages of those percentiles, of n answered operations and l, that are of an
// operation of l; nil without one, or if the ages are unknown.
func (l unmeasured) atLeast(n int64, unit float64) map[string]float64 {
	if l.ages == nil {
		return nil
	}
	var all map[string]float64
	for _, x := range run.QuantileNames {
		if run.Answered(x.Q, n, l.n) {
			continue
		}
		if all == nil {
			all = map[string]float64{}
		}
		rank := math.Ceil(x.Q*float64(n+l.n)) - float64(n) // among the ages
		all[x.Name] = float64(l.ages.Quantile(max(rank, 1)/float64(l.n))) * unit
	}
	return all
}
