package run

import (
	"cmp"
	"slices"
)

// Outcome is what became of what a run began. It is the one source of these counts for every
// screen, report and comparison: nothing in it is counted twice. (Rates have no share of what was lost
// with an executor, which has no time.)
type Outcome struct {
	Operations Ended   // of all clients together; zero without any
	Iterations Ended   // of all classes together
	Planned    int64   // iterations of open loads
	Dropped    int64   // of these, given up because no user was free
	Unserved   int64   // of these, still waiting when the load ended
	Void       int64   // iterations that found no data left
	Unprepared int64   // iterations that did not begin, as their preparation failed
	Panics     int64   // users that a panic ended
	Slowed     int64   // waits of users whose calls failed before the network
	Causes     []Cause // why operations failed, the most frequent first
	Worst      *Named  // of the parts that operations have by name, as URLs, the one of which most failed; nil if none did

	clients    bool // operations are declared
	iterations bool // iterations are declared
}

// Ended counts operations or iterations by their end.
type Ended struct {
	Begun      int64
	OK         int64 // ended well
	Failed     int64 // answered with a failure; of iterations: with an error
	Unanswered int64 // without an answer; of iterations: cut short by the run's end, or lost with their executor
}

// All returns how many have ended.
func (e Ended) All() int64 { return e.OK + e.Failed + e.Unanswered }

// Bad returns how many did not end well.
func (e Ended) Bad() int64 { return e.Failed + e.Unanswered }

// Cause is a reason for which operations failed, as a status or a class of errors.
type Cause struct {
	Of    string // the operation
	By    string // "status", "error"
	Part  string // "500", "timeout"
	Count int64
}

// Named is what became of the operations of one name, a part of a client's.
type Named struct {
	Of, By, Part string
	Ended
}

// OutcomeOf returns the outcome that counters add up to; count returns the count of one, over
// the whole run or an interval.
func OutcomeOf(metrics []Metric, count func(Metric) int64) Outcome {
	var o Outcome
	var parts []Named
	for _, m := range metrics {
		if m.Type != Counter || m.Role == Other {
			continue
		}
		n := count(m)
		if !m.Whole() {
			switch {
			case m.By != "status" && m.By != "error":
				parts = addNamed(parts, m, n)
			case n > 0 && (m.Role == OpFailed && m.By == "status" || m.Role == OpUnanswered && m.By == "error"):
				o.Causes = append(o.Causes, Cause{m.Of, m.By, m.Part, n})
			}
			continue
		}
		o.clients = o.clients || m.Role == OpOK
		switch m.Role {
		case OpBegun:
			o.Operations.Begun += n
		case OpOK:
			o.Operations.OK += n
		case OpFailed:
			o.Operations.Failed += n
		case OpUnanswered:
			o.Operations.Unanswered += n
		case ClassBegun:
			o.Iterations.Begun += n
		case ClassDone: // with those that failed
			o.iterations = true
			o.Iterations.OK += n
		case ClassFailed:
			o.Iterations.Failed += n
			o.Iterations.OK -= n
		case ClassCut, ClassLost:
			o.Iterations.Unanswered += n
		case ClassPlanned:
			o.Planned += n
		case ClassDropped:
			o.Dropped += n
		case ClassUnserved:
			o.Unserved += n
		case ClassVoid:
			o.Void += n
		case ClassUnprepared:
			o.Unprepared += n
		case ClassPanics:
			o.Panics += n
		case ClassSlowed:
			o.Slowed += n
		}
	}
	for i := range parts {
		if bad := parts[i].Bad(); bad > 0 && (o.Worst == nil || bad > o.Worst.Bad()) {
			o.Worst = &parts[i]
		}
	}
	slices.SortStableFunc(o.Causes, func(a, b Cause) int { return cmp.Compare(b.Count, a.Count) })
	return o
}

// addNamed adds the count of m, a part, to those of its name.
func addNamed(all []Named, m Metric, n int64) []Named {
	if m.Role != OpOK && m.Role != OpFailed && m.Role != OpUnanswered {
		return all
	}
	i := slices.IndexFunc(all, func(x Named) bool { return x.Of == m.Of && x.By == m.By && x.Part == m.Part })
	if i < 0 {
		i = len(all)
		all = append(all, Named{Of: m.Of, By: m.By, Part: m.Part})
	}
	switch m.Role {
	case OpOK:
		all[i].OK += n
	case OpFailed:
		all[i].Failed += n
	default:
		all[i].Unanswered += n
	}
	return all
}

// Outcome returns the outcome of the whole run, without its warm-up.
func (r *Result) Outcome() Outcome {
	return OutcomeOf(r.Metrics, func(m Metric) int64 {
		if m.Count == nil {
			return 0
		}
		return *m.Count
	})
}

// Outcome returns the outcome of the interval, of a run with these metrics.
func (i Interval) Outcome(metrics []Metric) Outcome {
	return OutcomeOf(metrics, func(m Metric) int64 {
		if n := i.Metrics[m.Title].Count; n != nil {
			return *n
		}
		return 0
	})
}

// NothingMeasured reports whether a run with a warm-up ended before it was over.
func (r *Result) NothingMeasured() bool {
	return !r.Start.IsZero() && r.Warmup > 0 && r.Measured <= 0
}

// NothingAnswered reports whether there was nothing that the run could measure: operations ended,
// and none of them with an answer; or iterations were to be made, and none ended or was cut, or all
// failed before a client of theirs did anything.
func (o Outcome) NothingAnswered() bool {
	if o.Operations.All() > 0 {
		return o.Operations.OK+o.Operations.Failed == 0
	}
	return o.iterations && (o.Iterations.All() == 0 || o.clients && o.Iterations.OK+o.Iterations.Unanswered == 0)
}

// Clients reports whether there are operations to count: a client has declared them.
func (o Outcome) Clients() bool { return o.clients }

// Main returns what a run is about: its operations or, without a client, its iterations.
func (o Outcome) Main() Ended {
	if o.clients {
		return o.Operations
	}
	return o.Iterations
}
