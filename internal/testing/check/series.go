package check

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// steps holds the interval of each level of series; level 0 has the run's own.
var steps = []time.Duration{0, 10 * time.Second, time.Minute, 3 * time.Minute, 15 * time.Minute}

// series checks I5: in the series of each level, merged and by agent, no counter is
// negative, and they add up to the executors' states, including the warm-up.
func (c *checker) series(r *stored1) {
	titles := r.titlesOf()
	for _, p := range r.parts {
		for _, n := range p.batch.Counters {
			if n.Add < 0 {
				c.fault("I5", r.id, "part %d of the series has a counter that goes down by %d", p.id, -n.Add)
				return
			}
		}
	}
	if !r.final || r.totals == nil {
		return // the merged series lacks intervals that are not complete yet
	}
	byAgent, all := map[string]*tallied{}, newTallied()
	for _, e := range r.executors {
		if byAgent[e.agent] == nil {
			byAgent[e.agent] = newTallied()
		}
		for own, number := range e.state.Metrics {
			if int(number) >= len(titles) || own >= len(e.state.Counters) {
				c.fault("I5", r.id, "executor %d has metric number %d, and the run has %d", e.executor, number, len(titles))
				return
			}
			if run.MetricType(titles[number].Type) == run.Counter {
				if e.state.Counters[own] < 0 {
					c.fault("I5", r.id, "counter %q of executor %d is %d", titles[number].Title, e.executor, e.state.Counters[own])
				}
				byAgent[e.agent].counters[titles[number].Title] += e.state.Counters[own]
				all.counters[titles[number].Title] += e.state.Counters[own]
			}
		}
	}
	byAgent[""] = all
	for agent, right := range byAgent {
		c.eachLevel(r, agent, func(level int, got *tallied) {
			counts, _ := (&tallied{counters: got.counters}).differ(&tallied{counters: right.counters})
			for _, text := range counts {
				c.fault("I5", r.id, "the series %s: %s", seriesName(agent, level), text)
			}
		})
	}
	for _, p := range r.parts {
		if byAgent[p.agent] == nil {
			c.fault("I5", r.id, "part %d of the series is of agent %s, of which nothing was taken in", p.id, p.agent)
		}
	}
}

// seriesName returns "of agent ID at level N", or for an empty agent, which means the merged
// series, "of all agents at level N".
func seriesName(agent string, level int) string {
	if agent == "" {
		agent = "of all agents"
	} else {
		agent = "of agent " + agent
	}
	return fmt.Sprintf("%s at level %d", agent, level)
}

// eachLevel adds up each level of a series that is stored from the run's start on, and calls
// each with the sum: the level's own parts, and those of lower levels that are not folded into
// it yet. Levels above 0 whose interval is not longer than the run's are left out. agent is ""
// for the merged series. It stops at a part that cannot be added, a violation of I5.
func (c *checker) eachLevel(r *stored1, agent string, each func(level int, got *tallied)) {
	titles := r.titlesOf()
	for level, step := range steps {
		if level > 0 && int64(step) <= r.step || level < len(r.kept) && r.kept[level] > 0 {
			continue
		}
		got := newTallied()
		for _, p := range r.parts {
			if p.agent != agent || p.level > level || p.level < level && p.folded {
				continue
			}
			if err := got.add(&p.batch, titles); err != nil {
				c.fault("I5", r.id, "part %d of the series: %v", p.id, err)
				return
			}
		}
		each(level, got)
	}
}

// levels checks I5 of a final run against the ledgers: histograms bucket by bucket, and
// failures. right has the warm-up too.
func (c *checker) levels(r *stored1, right *tallied) {
	if !r.final {
		return
	}
	c.eachLevel(r, "", func(level int, got *tallied) {
		counts, histograms := got.differ(right)
		for _, text := range append(counts, histograms...) {
			c.fault("I5", r.id, "the series %s beside the ledgers: %s", seriesName("", level), text)
		}
		if got.failed != right.failed {
			c.fault("I5", r.id, "the series %s has %d failures, the ledgers %d", seriesName("", level), got.failed, right.failed)
		}
	})
}

// How long after its end a run may still count.
const (
	flush    = 10 * time.Second
	leaseEnd = 15*time.Second + 35*time.Second // a lease, and the drain after it
)

// times checks I10: parts of the series are within the run's time, no longer than their level
// allows, and end when the run's row says.
func (c *checker) times(r *stored1) {
	newest, same := int64(0), map[string]int64{}
	for _, p := range r.parts {
		newest = max(newest, p.stop)
		switch {
		case p.start < 0 || p.stop <= p.start:
			c.fault("I10", r.id, "part %d of the series is from %v to %v", p.id, time.Duration(p.start), time.Duration(p.stop))
		case p.batch.FromNs != p.start || p.batch.ToNs != p.stop || p.batch.Warmup != p.warmup:
			c.fault("I10", r.id, "part %d of the series is from %v to %v, and what is in it from %v to %v", p.id, time.Duration(p.start), time.Duration(p.stop),
				time.Duration(p.batch.FromNs), time.Duration(p.batch.ToNs))
		case p.level > 0 && p.start/int64(steps[p.level]) != (p.stop-1)/int64(steps[p.level]) && p.stop-p.start > int64(steps[p.level])+r.step:
			c.fault("I10", r.id, "part %d of level %d of the series is %v long", p.id, p.level, time.Duration(p.stop-p.start))
		case p.level == 0 && p.stop-p.start > r.step:
			c.fault("I10", r.id, "part %d of the series is %v long, and an interval is %v", p.id, time.Duration(p.stop-p.start), time.Duration(r.step))
		}
		same[p.agent] = max(same[p.agent], p.stop)
	}
	if len(r.parts) > 0 && newest != r.newest {
		c.fault("I10", r.id, "its series goes to %v, and its row says %v", time.Duration(newest), time.Duration(r.newest))
	}
	began := r.totals.GetBeganUnixNs()
	if began == 0 || !r.final {
		return
	}
	late := flush
	if r.state != "finished" || r.result != nil && len(r.result.Missing) > 0 {
		late = leaseEnd // the master could not know when it ended
	}
	if end := began + newest; end > r.ended+int64(late) {
		c.fault("I10", r.id, "its series goes to %s, and it ended at %s", at(end), at(r.ended))
	}
	if r.started > 0 && began < r.created {
		c.fault("I10", r.id, "its load began at %s, before it was asked for at %s", at(began), at(r.created))
	}
}
