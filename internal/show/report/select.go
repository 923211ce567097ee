package report

import (
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Prefixes of titles.
const (
	classPrefix = "vu."      // the users' own metrics
	ownPrefix   = "gobench." // the generator's own figures: the verdict covers them
	checkPrefix = "check."   // counters of checks, which have a table of their own
)

func own(m run.Metric) bool { return strings.HasPrefix(m.Title, ownPrefix) }

// details are parts of the titles of clients' metrics that a short report leaves out:
// components of a latency, or what the table of errors shows too.
var details = []string{".ttfb", ".connect", ".dns", ".tls", ".connections_open", ".connections_reused", ".tls_handshakes", ".tls_resumed", ".error.", ".peer.",
	".status.1xx", ".status.2xx", ".status.3xx", ".status.4xx", ".status.5xx", ".status.other"}

// detail reports whether a short report leaves m out; never a metric of a class.
func detail(m run.Metric) bool {
	return !strings.HasPrefix(m.Title, classPrefix) && slices.ContainsFunc(details, func(s string) bool {
		return strings.HasSuffix(m.Title, s) || strings.HasSuffix(s, ".") && strings.Contains(m.Title, s)
	})
}

// aside reports whether m is a secondary distribution of a class, beside its response
// times, of which percentiles suffice.
func aside(m run.Metric) bool {
	return strings.HasPrefix(m.Title, classPrefix) && (strings.HasSuffix(m.Title, ".start_lag") || strings.HasSuffix(m.Title, ".queue_wait") || strings.HasSuffix(m.Title, ".failure"))
}

// shown returns the metrics that a report shows, in the order of their declaration, and how
// many details it leaves out, 0 if entire. It always leaves out the generator's own, checks,
// metrics that recorded nothing, except a counter that is the first of a group, and those that
// only repeat another row.
func shown(r *run.Result, entire bool) (metrics []run.Metric, more int) {
	above := map[string][]run.Metric{} // by group, whose metrics need not be adjacent
	once := iterated(r)
	for _, m := range r.Metrics {
		if own(m) || strings.HasPrefix(m.Title, checkPrefix) {
			continue
		}
		group, seen := above[m.Group]
		above[m.Group] = group
		if class, ok := strings.CutPrefix(m.Title, classPrefix); ok {
			if !ofClass(m, class, once, entire) {
				continue
			}
		} else if repeats(m, group) || !recorded(m) && (seen || m.Type != run.Counter) {
			continue
		}
		above[m.Group] = append(group, m)
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

// ofClass reports whether a metric of a class of users has a row; name is its title without
// the prefix, once what iterated returned. The number of users is described in words.
func ofClass(m run.Metric, name string, once map[string]bool, entire bool) bool {
	switch {
	case !recorded(m) || m.Type == run.Gauge:
		return false
	case m.Type == run.Histogram:
		return !once[m.Title]
	case strings.HasSuffix(name, ".iterations"):
		return entire || !once[m.Title]
	}
	return strings.Contains(name, ".task.")
}

// iterated returns, by title, whether a metric of a class repeats another one: under a
// closed load response time is service time, and an iteration that is one operation of a
// client and little else is counted and timed as that.
func iterated(r *run.Result) map[string]bool {
	again := map[string]bool{}
	leading := run.Leading(r.Metrics)
	single := func(of run.Metric) bool {
		return recorded(of) && slices.ContainsFunc(r.Metrics, func(m run.Metric) bool {
			if !leading[m.Title] || own(m) || strings.HasPrefix(m.Title, classPrefix) || m.Count == nil {
				return false
			}
			if of.Times == nil {
				return *of.Count == *m.Count || m.Lost != nil && *of.Count == *m.Count+*m.Lost
			}
			return m.Times != nil && *of.Count == *m.Count && of.Times.Avg-m.Times.Avg <= of.Times.Avg/10
		})
	}
	for _, c := range r.Config.Classes {
		title := classPrefix + c.Name
		again[title+".response"] = c.Closed
		for _, m := range r.Metrics {
			if m.Title == title+".iterations" || m.Title == title+".service" && c.Closed {
				again[m.Title] = single(m)
			}
		}
	}
	return again
}

// repeats reports whether m counted, in the whole run and in each second, the same as a metric
// above whose title has fewer parts: as when all of a client's answers have one status, or all
// of its requests go to one address. It is false for the status of failures.
func repeats(m run.Metric, above []run.Metric) bool {
	if m.Count == nil || strings.Contains(m.Title, ".status.4") || strings.Contains(m.Title, ".status.5") {
		return false
	}
	steady := func(a run.Metric) bool { // as m; a run shorter than an interval has no spread
		return a.Spread == m.Spread || a.Spread != nil && m.Spread != nil && *a.Spread == *m.Spread
	}
	return slices.ContainsFunc(above, func(a run.Metric) bool {
		return a.Count != nil && *a.Count == *m.Count && a.Unit == m.Unit && a.Type == m.Type && steady(a) &&
			strings.Count(a.Title, ".") < strings.Count(m.Title, ".")
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
		name, ok := strings.CutPrefix(m.Title, checkPrefix)
		if !ok || m.Count == nil {
			continue
		}
		dot := max(0, strings.LastIndexByte(name, '.'))
		name, outcome := name[:dot], name[dot:]
		i, known := at[name]
		if !known {
			i = len(all)
			at[name], all = i, append(all, check{name: name})
		}
		switch outcome {
		case ".passed":
			all[i].passed = *m.Count
		case ".failed":
			all[i].failed = *m.Count
		}
	}
	return slices.DeleteFunc(all, func(c check) bool { return c.passed+c.failed == 0 })
}
