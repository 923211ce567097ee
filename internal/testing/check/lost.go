package check

import (
	"maps"
	"slices"

	"github.com/gobench-io/gobench/internal/run"
)

// withLost returns t, a run's counts, as its result has to have them: where an executor has not
// sent its last batch, with what had begun and has no end. That is counted as unanswered, as
// lost, or as unserved. The histograms and failures are t's own.
func (t *tallied) withLost(r *stored1) *tallied {
	if !slices.ContainsFunc(r.executors, func(e *executorState) bool { return e.state.Final == nil }) {
		return t
	}
	with := *t
	with.counters = maps.Clone(t.counters)
	find := func(role run.Role, of, part string) string {
		i := slices.IndexFunc(r.result.Metrics, func(m run.Metric) bool { return m.Role == role && m.Of == of && m.Part == part })
		if i < 0 {
			return ""
		}
		return r.result.Metrics[i].Title
	}
	for _, m := range r.result.Metrics {
		if m.Part != "" {
			continue
		}
		ends, to := []run.Role(nil), []string(nil)
		switch m.Role {
		case run.OpBegun:
			ends = []run.Role{run.OpOK, run.OpFailed, run.OpUnanswered}
			to = []string{find(run.OpUnanswered, m.Of, ""), find(run.OpUnanswered, m.Of, run.PartLost)}
		case run.ClassBegun:
			ends = []run.Role{run.ClassDone, run.ClassCut, run.ClassVoid}
			to = []string{find(run.ClassLost, m.Of, "")}
		case run.ClassPlanned:
			ends = []run.Role{run.ClassBegun, run.ClassDropped, run.ClassUnserved}
			to = []string{find(run.ClassUnserved, m.Of, "")}
		}
		n := t.counters[m.Title]
		for _, end := range ends {
			n -= t.counters[find(end, m.Of, "")]
		}
		for _, title := range to {
			if title != "" && n > 0 {
				with.counters[title] += n
			}
		}
	}
	return &with
}
