package check

import (
	"fmt"
	"slices"
	"strings"
)

// keys checks I2 and the first part of I3: the merged batches of each executor are those
// from 1 to the last, each once.
func (c *checker) keys(r *stored1) {
	high := map[[2]uint64]uint64{} // of an executor's epoch
	for _, b := range r.ranges {
		high[[2]uint64{uint64(b.executor), b.epoch}] = b.high
	}
	for _, b := range r.batches {
		of := [2]uint64{uint64(b.executor), b.epoch}
		switch last := high[of]; {
		case b.seq <= last:
			c.fault("I2", r.id, "batch %d of executor %d (epoch %d) was taken in twice", b.seq, b.executor, b.epoch)
		case b.seq != last+1:
			c.fault("I3", r.id, "batch %d of executor %d (epoch %d) follows batch %d", b.seq, b.executor, b.epoch, last)
		}
		high[of] = max(high[of], b.seq)
	}
	for _, e := range r.executors {
		of := [2]uint64{uint64(e.executor), e.epoch}
		if e.seq != high[of] || e.state.Seq != e.seq {
			c.fault("I3", r.id, "the batches of executor %d (epoch %d) go to %d, its row says %d, its state %d", e.executor, e.epoch, high[of], e.seq, e.state.Seq)
		}
		delete(high, of)
		if e.executor >= len(r.placements) {
			c.fault("I3", r.id, "executor %d is not among the %d of the run", e.executor, len(r.placements))
			continue
		}
		if p := r.placements[e.executor]; p.Agent != e.agent || p.Epoch != e.epoch {
			c.fault("I3", r.id, "executor %d is of agent %s (epoch %d), its batches came from %s (epoch %d)", e.executor, p.Agent, p.Epoch, e.agent, e.epoch)
		}
	}
	for of := range high {
		c.fault("I2", r.id, "batches of executor %d in epoch %d were taken in, in which it was not", of[0], of[1])
	}
}

// whole returns the reasons why an executor's sums are not exactly what it counted; nil if
// they are.
func (r *stored1) whole(executor int) (why []string) {
	i := slices.IndexFunc(r.executors, func(e *executorState) bool { return e.executor == executor })
	if i < 0 {
		return []string{"nothing came of it"}
	}
	s := &r.executors[i].state
	if s.Final == nil {
		return []string{"its last batch did not come"}
	}
	if s.Gathered {
		why = append(why, "its exact histograms did not come")
	}
	for _, want := range s.Final.Counters {
		if int(want.Metric) >= len(s.Counters) || s.Counters[want.Metric] != want.Add {
			why = append(why, fmt.Sprintf("counter %d does not add up to %d", want.Metric, want.Add))
		}
	}
	for _, want := range s.Final.Histograms {
		if int(want.Metric) >= len(s.Counts) || s.Counts[want.Metric] != want.Count {
			why = append(why, fmt.Sprintf("histogram %d does not add up to %d recordings", want.Metric, want.Count))
		}
	}
	return why
}

// names reports whether the result names something of an executor as missing; false without a
// result.
func (r *stored1) names(executor int) bool {
	if r.result == nil {
		return false
	}
	name := fmt.Sprintf("executor %d", executor)
	return slices.ContainsFunc(r.result.Missing, func(text string) bool {
		rest, ok := strings.CutPrefix(text, name)
		return ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " on "))
	})
}

// complete checks the rest of I3, of a final run with executors: its result exists, and is
// complete exactly if it has all that the executors counted.
func (c *checker) complete(r *stored1) {
	if !r.final || len(r.placements) == 0 {
		return
	}
	if r.result == nil {
		c.fault("I3", r.id, "it had %d executors and has no result", len(r.placements))
		return
	}
	if r.result.Complete != (len(r.result.Missing) == 0) {
		c.fault("I3", r.id, "it is complete: %v, and this is missing: %q", r.result.Complete, r.result.Missing)
	}
	for n := range r.placements {
		why := r.whole(n)
		switch named := r.names(n); {
		case named && len(why) == 0:
			c.fault("I3", r.id, "all of executor %d is there, and the result reports some of it missing", n)
		case !named && len(why) > 0 && len(r.executors) > 0:
			c.fault("I3", r.id, "the result does not report that part of executor %d is missing: %s", n, strings.Join(why, ", "))
		}
	}
}
