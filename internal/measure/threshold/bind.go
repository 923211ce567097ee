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
	metric               run.Metric
	count                []string // counters whose sum is the count, and the numerator of a rate: of failures, with those without an answer
	all                  []string // counters whose sum is the denominator of a rate
	good                 string   // histogram whose recordings are part of the denominator too
	disturbed, corrected string   // the companions of a histogram of times
	lost                 []string // counters of what a percentile's histogram lacks, because it did not end well
}

// errAbsent means that the metric is not declared yet.
var errAbsent = errors.New("no such metric")

// bind finds a threshold's metrics among those declared. It returns errAbsent if they are
// not declared yet; any other error is permanent: the metric cannot have this statistic or
// unit.
func (t Threshold) bind(metrics []run.Metric) (binding, error) {
	if t.Check {
		passed := run.Find(metrics, run.Counts{Role: run.CheckPassed, Of: t.Metric})
		failed := run.Find(metrics, run.Counts{Role: run.CheckFailed, Of: t.Metric})
		if passed == nil || failed == nil {
			return binding{}, errAbsent
		}
		return binding{metric: *passed, count: []string{passed.Title}, all: []string{passed.Title, failed.Title}}, nil
	}
	m, ok := find(metrics, t.Metric)
	if !ok {
		return binding{}, errAbsent
	}
	b := binding{metric: m, count: []string{m.Title}}
	other := func(r run.Role) *run.Metric { return run.Find(metrics, m.As(r)) }
	if lost := other(run.OpUnanswered); m.Role == run.OpFailed && lost != nil {
		b.count = append(b.count, lost.Title) // an operation without an answer is a failure too
	}
	switch {
	case t.Stat == "rate":
		b.all = outcomes(m, metrics)
		if good := other(run.StepTime); m.Role == run.StepFailed && good != nil {
			b.good = good.Title // it has the steps that did not fail
		}
	case ofDistribution(t.Stat):
		if disturbed, corrected, has := m.Role.Companions(); has && other(disturbed) != nil && other(corrected) != nil {
			b.disturbed, b.corrected = other(disturbed).Title, other(corrected).Title
		}
		for _, missing := range m.Role.Missing() {
			if lost := other(missing); lost != nil {
				b.lost = append(b.lost, lost.Title)
			}
		}
	}
	return b, t.suits(m)
}

// find returns the metric of a title. A client counts each class of errors and each status under a
// title of its own, which it may declare with the first of them only: as long as none came, find
// returns that counter, of which nothing is recorded.
func find(metrics []run.Metric, title string) (m run.Metric, ok bool) {
	for _, m := range metrics {
		if m.Title == title {
			return m, true
		}
	}
	for _, m := range metrics {
		if m.Role != run.OpUnanswered || !m.Whole() {
			continue
		}
		class, isError := strings.CutPrefix(title, m.Of+".error.")
		status, isStatus := strings.CutPrefix(title, m.Of+".status.")
		switch {
		case isError && slices.Contains(run.ErrorClasses, class):
			m.By, m.Part = "error", class
		case isStatus && status != "":
			m.Role, m.By, m.Part = run.OpFailed, "status", status
		default:
			continue
		}
		m.Title, m.Record = title, run.Record{}
		return m, true
	}
	return run.Metric{}, false
}

// Suits returns an error if t's metric is one of these and cannot have its statistic or unit; nil
// if it is not among them.
func (t Threshold) Suits(metrics []run.Metric) error {
	_, err := t.bind(metrics)
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// Exists returns an error if t's metric is not among those that are known before a load, and can't
// be declared later: one whose title begins with "vu." or "gobench.", and, of a load of gobench's
// own, any but those of a URL.
func (t Threshold) Exists(known []run.Metric, builtin bool) error {
	_, err := t.bind(known)
	own := !t.Check && (strings.HasPrefix(t.Metric, "vu.") || strings.HasPrefix(t.Metric, "gobench."))
	if errors.Is(err, errAbsent) && (own || builtin && !strings.Contains(t.Metric, ".url.")) {
		return errors.New(t.absent(known))
	}
	return nil
}

// outcomes returns the counters that a rate of m is relative to: of an operation, or a part of
// it that has them, its three outcomes; of a class all iterations or users of that kind; else all
// counters of m's graph.
func outcomes(m run.Metric, metrics []run.Metric) (titles []string) {
	var of []run.Role
	switch m.Role {
	case run.OpOK, run.OpFailed, run.OpUnanswered:
		of = []run.Role{run.OpOK, run.OpFailed, run.OpUnanswered}
	case run.OpBegun, run.OpResent, run.OpFollowed:
		of = []run.Role{run.OpBegun}
	case run.ClassPlanned, run.ClassLate, run.ClassDropped, run.ClassUnserved:
		of = []run.Role{run.ClassPlanned}
	case run.ClassDone, run.ClassFailed, run.ClassCut, run.ClassLost:
		of = []run.Role{run.ClassDone}
	case run.ClassStarted, run.ClassFinished, run.ClassPanics:
		of = []run.Role{run.ClassStarted}
	}
	for _, counts := range []run.Counts{m.Counts, {Of: m.Of}} { // an error or a status is one among all operations
		titles = nil
		for _, r := range of {
			if o := run.Find(metrics, counts.As(r)); o != nil {
				titles = append(titles, o.Title)
			}
		}
		if len(titles) > 1 || len(of) == 1 && len(titles) == 1 {
			return titles
		}
	}
	titles = nil
	for _, o := range metrics {
		if o.Type == run.Counter && o.Group == m.Group && o.Graph == m.Graph {
			titles = append(titles, o.Title)
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
		if !t.Check && !m.Role.Companion() {
			names = append(names, m.Title)
		} else if t.Check && m.Role == run.CheckPassed {
			names = append(names, m.Of)
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
