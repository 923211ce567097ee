package threshold

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/suggest"
)

// binding is the metrics that a threshold is about.
type binding struct {
	metric run.Metric
	count  []string // counters whose sum is the count, and the numerator of a rate
	all    []string // counters whose sum is the denominator of a rate
	good   string   // histogram whose recordings are part of the denominator too
	lost   string   // counter of operations without an answer, which a percentile's histogram lacks
}

// errAbsent means that the metric is not declared yet.
var errAbsent = errors.New("no such metric")

// bind finds a threshold's metrics among those declared. It returns errAbsent if they are
// not declared yet; any other error is permanent: the metric cannot have this statistic or
// unit.
func (t Threshold) bind(metrics []run.Metric) (binding, error) {
	find := func(title string) *run.Metric {
		for i := range metrics {
			if metrics[i].Title == title {
				return &metrics[i]
			}
		}
		return nil
	}
	if t.Check {
		passed, failed := find("check."+t.Metric+".passed"), find("check."+t.Metric+".failed")
		if passed == nil || failed == nil {
			return binding{}, errAbsent
		}
		return binding{metric: *passed, count: []string{passed.Title}, all: []string{passed.Title, failed.Title}}, nil
	}
	m := find(t.Metric)
	if m == nil {
		return binding{}, errAbsent
	}
	b := binding{metric: *m, count: []string{m.Title}}
	switch {
	case t.Stat == "rate":
		b.all = outcomes(*m, metrics)
		prefix, client := strings.CutSuffix(m.Title, ".http_fail")
		if lost := prefix + ".http_other_fail"; client && slices.Contains(b.all, lost) {
			b.count = append(b.count, lost) // an operation without an answer is a failure too
		}
		if step, ok := strings.CutSuffix(m.Title, ".failed"); ok && strings.HasPrefix(step, "step.") {
			b.good = step + ".time" // it has the steps that did not fail
		}
	case ofDistribution(t.Stat):
		for _, title := range run.LostTitles(m.Title) {
			if find(title) != nil {
				b.lost = title
				break
			}
		}
	}
	return b, t.suits(*m)
}

// outcomes returns the counters that a rate of m is relative to: all of m's graph. Of
// gobench's own users the first counter of a graph is the total.
func outcomes(m run.Metric, metrics []run.Metric) (titles []string) {
	for _, o := range metrics {
		if o.Type != run.Counter || o.Group != m.Group || o.Graph != m.Graph {
			continue
		}
		titles = append(titles, o.Title)
		if strings.HasPrefix(o.Title, "vu.") {
			break
		}
	}
	return titles
}

// suits returns an error if m does not have t's statistic or unit.
func (t Threshold) suits(m run.Metric) error {
	var has string
	ok := false
	switch m.Type {
	case run.Counter:
		has, ok = "count, rps and rate", t.Stat == "count" || t.Stat == "rps" || t.Stat == "rate"
	case run.Gauge:
		has, ok = "value", t.Stat == "value"
	case run.Histogram:
		has, ok = "avg, min, max, stdev, percentiles, count and rps", t.Stat == "count" || t.Stat == "rps" || ofDistribution(t.Stat)
	}
	if !ok {
		return fmt.Errorf("%s is a %s: it has %s, not %s", m.Title, m.Type, has, t.Stat)
	}
	switch k := units[t.Unit].kind; {
	case t.Stat == "rate", k == plain && (t.Stat == "count" || t.Stat == "rps"):
		return nil
	case m.Unit == "ns" && k == plain:
		return fmt.Errorf("%s is a time: say in which unit, ns, us, ms, s or m", m.Title)
	case m.Unit == "ns" && k != duration, m.Unit == "B" && k == duration, m.Unit != "ns" && m.Unit != "B" && k != plain:
		return fmt.Errorf("%s is recorded in %s, not in %s", m.Title, m.Unit, cmp.Or(t.Unit, "plain numbers"))
	}
	return nil
}

// absent returns the text that a metric is missing, 'no metric is called "a"; the nearest
// metrics are b, c, d', with the nearest three of the names that there are.
func (t Threshold) absent(metrics []run.Metric) string {
	var names []string
	for _, m := range metrics {
		if !t.Check {
			names = append(names, m.Title)
		} else if name, ok := strings.CutPrefix(m.Title, "check."); ok {
			if name, ok = strings.CutSuffix(name, ".passed"); ok {
				names = append(names, name)
			}
		}
	}
	what, plural := "metric is called", "metrics are"
	if t.Check {
		what, plural = "check is called", "checks are"
	}
	if len(names) == 0 {
		return fmt.Sprintf("no %s %q: the run has none", what, t.Metric)
	}
	names = suggest.Sorted(t.Metric, names)[:min(3, len(names))]
	for i, name := range names {
		if t.Check || !bare(name) {
			names[i] = fmt.Sprintf("%q", name)
		}
	}
	return fmt.Sprintf("no %s %q; the nearest %s %s", what, t.Metric, plural, strings.Join(names, ", "))
}
