package report

import (
	"slices"

	"github.com/gobench-io/gobench/internal/run"
)

// own reports whether m is a figure of gobench itself: the verdict covers them.
func own(m run.Metric) bool { return m.Role == run.Own }

// ofCheck reports whether m counts the calls of a check, which have a table of their own.
func ofCheck(m run.Metric) bool { return m.Role == run.CheckPassed || m.Role == run.CheckFailed }

// detail reports whether a short report leaves m out: components of a latency, what the table
// of errors shows too, and the number of operations that began, which is that of their ends.
func detail(m run.Metric) bool {
	return m.Role == run.Detail || m.Role == run.OpBegun || m.Role == run.Connections && m.Type == run.Gauge || m.Role == run.OpUnanswered && m.By == "error"
}

// aside reports whether m is a secondary distribution of a class, beside its response
// times, of which percentiles suffice.
func aside(m run.Metric) bool {
	return m.Role == run.ClassLag || m.Role == run.ClassWait || m.Role == run.ClassFailure
}

// shown returns the metrics that a report shows, in the order of their declaration, and how
// many details it leaves out, 0 if entire. It always leaves out the generator's own, checks,
// metrics that recorded nothing, except a counter that is the first of a group, and those that
// only repeat another row.
func shown(r *run.Result, entire bool) (metrics []run.Metric, more int) {
	above := map[string][]run.Metric{} // by group, whose metrics need not be adjacent
	once := iterated(r)
	for _, m := range r.Metrics {
		if own(m) || ofCheck(m) || m.Role.Companion() { // bounds stand for companions
			continue
		}
		group, seen := above[m.Group]
		above[m.Group] = group
		if m.Role.OfClass() {
			if !ofClass(m, once, entire) {
				continue
			}
		} else if repeats(m, group) || !recorded(m) && (seen || m.Type != run.Counter) {
			continue
		}
		above[m.Group] = append(group, m)
		if !entire && ofName(m) { // it has a table
			continue
		}
		if !entire && detail(m) {
			more++
			continue
		}
		metrics = append(metrics, m)
	}
	return metrics, more
}

func recorded(m run.Metric) bool {
	return m.Count != nil && *m.Count != 0 || m.Value != nil && *m.Value != 0
}

// ofClass reports whether a metric of a class of users has a row; once is what iterated
// returned. The number of users is described in words.
func ofClass(m run.Metric, once map[string]bool, entire bool) bool {
	switch {
	case !recorded(m) || m.Type == run.Gauge:
		return false
	case m.Type == run.Histogram:
		return !once[m.Title]
	case m.Role == run.ClassDone:
		return entire || !once[m.Title]
	}
	return false
}

// iterated returns, by title, whether a metric of a class repeats another one: under a
// closed load response time is service time, and an iteration that is one operation of a
// client and little else is counted and timed as that.
func iterated(r *run.Result) map[string]bool {
	again := map[string]bool{}
	leading := run.Leading(r.Metrics)
	single := func(of run.Metric) bool {
		return recorded(of) && slices.ContainsFunc(r.Metrics, func(m run.Metric) bool {
			if !leading[m.Title] || m.Count == nil {
				return false
			}
			if of.Times == nil {
				return *of.Count == *m.Count || m.Lost != nil && *of.Count == *m.Count+*m.Lost
			}
			return m.Times != nil && *of.Count == *m.Count && of.Times.Avg-m.Times.Avg <= of.Times.Avg/10
		})
	}
	for _, c := range r.Config.Classes {
		for _, m := range r.Metrics {
			switch {
			case m.Of != c.Name:
			case m.Role == run.ClassResponse:
				again[m.Title] = c.Closed
			case m.Role == run.ClassDone, m.Role == run.ClassService && c.Closed:
				again[m.Title] = single(m)
			}
		}
	}
	return again
}

// repeats reports whether m is a part that counted, in the whole run and in each second, the
// same as a whole above it: as when all of a client's answers have one status, or all of its
// requests go to one address. It is false for the status of failures.
func repeats(m run.Metric, above []run.Metric) bool {
	if m.Count == nil || m.Whole() || m.Role == run.OpFailed {
		return false
	}
	steady := func(a run.Metric) bool { // as m; a run shorter than an interval has no spread
		return a.Spread == m.Spread || a.Spread != nil && m.Spread != nil && *a.Spread == *m.Spread
	}
	return slices.ContainsFunc(above, func(a run.Metric) bool {
		return a.Count != nil && *a.Count == *m.Count && a.Unit == m.Unit && a.Type == m.Type && steady(a) && a.Whole() && a.Of == m.Of
	})
}

// check is the outcome of a check of the scenario.
type check struct {
	name           string
	passed, failed int64
}

// rate is the share of its calls that passed.
func (c check) rate() float64 { return float64(c.passed) / float64(max(1, c.passed+c.failed)) }

// checks returns the checks that were called, in the order of their first call; without
// any, it is empty.
func checks(r *run.Result) (all []check) {
	at := map[string]int{}
	for _, m := range r.Metrics {
		if !ofCheck(m) || m.Count == nil {
			continue
		}
		i, known := at[m.Of]
		if !known {
			i = len(all)
			at[m.Of], all = i, append(all, check{name: m.Of})
		}
		if m.Role == run.CheckPassed {
			all[i].passed = *m.Count
		} else {
			all[i].failed = *m.Count
		}
	}
	return slices.DeleteFunc(all, func(c check) bool { return c.passed+c.failed == 0 })
}
