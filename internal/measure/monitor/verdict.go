package monitor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Signals of reasons that are found in the figures of a whole run.
const (
	percentileSignal = "percentiles" // one may be off by more than is allowed
	throughputSignal = "throughput"  // of a closed load: it may have been higher
	unevenSignal     = "uneven"      // one host did more of the load than another
)

// found reports whether reasons of a signal are found in a run's totals, and again after more was
// merged.
func found(signal string) bool {
	return signal == health.Totals || signal == unevenSignal || signal == percentileSignal || signal == throughputSignal
}

// judgement returns the verdict on what was merged so far, and its reasons: those that decide it,
// the worst first, then what disturbed gobench, what did most first. Without one that decides, the
// verdict is VALID and has no reasons. missing is what the totals lack; any makes it INVALID.
func (t *Tally) judgement(missing []string) (run.Verdict, []run.Reason) {
	var decide, causes []run.Reason
	if len(missing) > 0 {
		decide = append(decide, run.Reason{Signal: health.Totals, Level: run.Red,
			Text:   "not all that was counted is in the totals: " + strings.Join(missing, "; "),
			Advice: "run it again; if an executor died, its log says why"})
	}
	for _, x := range append(t.hosts.reasons(), t.causes...) {
		if health.Decides(x.Signal) {
			decide = append(decide, x)
		} else {
			causes = append(causes, x)
		}
	}
	decide = append(append(decide, t.percentiles()...), t.reasons...)
	if x := t.throughput(); x != nil {
		decide = append(decide, *x)
	}
	if len(decide) == 0 {
		return run.Valid, nil
	}
	slices.SortStableFunc(decide, func(a, b run.Reason) int { return int(b.Level) - int(a.Level) })
	health.SortReasons(causes)
	if decide[0].Level == run.Red {
		return run.Invalid, append(decide, causes...)
	}
	return run.Suspect, append(decide, causes...)
}

// percentiles returns a reason for each judged metric with a percentile that may be off by more
// than is allowed: those of clients and of iterations on a schedule, and iterations of closed
// classes if no client measured a time.
func (t *Tally) percentiles() (reasons []run.Reason) {
	var all []delay.Finding
	declared := t.Merger.Declared()
	clients := slices.ContainsFunc(declared, func(m run.Metric) bool {
		times, ok := t.Merger.TimesOf(m.Counts)
		return m.Role == run.OpTime && m.Whole() && ok && times.All.Count() > 0
	})
	for _, m := range declared {
		title := m.Title
		switch {
		case m.Role == run.OpTime && m.Whole():
		case m.Role == run.ClassResponse && scheduled(m, declared):
			title = m.Of + " response time"
		case m.Role == run.ClassService && !clients && !scheduled(m, declared):
			title = m.Of + " service time"
		default:
			continue
		}
		if times, ok := t.Merger.TimesOf(m.Counts); ok && times.All.Count() > 0 {
			all = append(all, delay.Judge(title, times)...)
		}
	}
	delay.Sort(all)
	seen := map[string]int{}
	for _, f := range all {
		what := fmt.Sprintf("%s of %s may be %s, not %s", f.Name, f.Title, units.Millis(ms(f.Least)), units.Millis(ms(f.Value)))
		if i, ok := seen[f.Title]; ok {
			reasons[i].Text += fmt.Sprintf("; %s %s, not %s", f.Name, units.Millis(ms(f.Least)), units.Millis(ms(f.Value)))
			continue
		}
		seen[f.Title] = len(reasons)
		reasons = append(reasons, run.Reason{Signal: percentileSignal, Level: f.Level, Text: what,
			Advice: "the rest may be gobench's own delay: " + health.MoreCPU + ", or lower the load"})
	}
	return reasons
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// scheduled reports whether m is of a class whose iterations start on a schedule.
func scheduled(m run.Metric, declared []run.Metric) bool {
	return run.Find(declared, m.As(run.ClassPlanned)) != nil
}

// missingRate returns by which share of it the rate of a closed class may be too low, since gobench's
// own delays took that part of its users' time; 0 if it has a schedule or did nothing. m is its
// service time.
func (t *Tally) missingRate(m run.Metric, declared []run.Metric) float64 {
	times, ok := t.Merger.TimesOf(m.Counts)
	if !ok || scheduled(m, declared) {
		return 0
	}
	failed, _ := t.Merger.TimesOf(m.As(run.ClassFailure))
	return delay.MissingRate(times.Own(), times.Sum()+failed.Sum())
}

// throughput returns a reason for the closed class whose rate may be too low by the most, if that is
// more than is allowed; nil without one.
func (t *Tally) throughput() *run.Reason {
	declared := t.Merger.Declared()
	worst, class, level := 0.0, "", run.Fine
	for _, m := range declared {
		if m.Role != run.ClassService {
			continue
		}
		share := t.missingRate(m, declared)
		times, _ := t.Merger.TimesOf(m.Counts)
		if share > worst && delay.JudgeRate(share, int64(times.All.Count())) > run.Fine {
			worst, class, level = share, m.Of, delay.JudgeRate(share, int64(times.All.Count()))
		}
	}
	if level == run.Fine {
		return nil
	}
	return &run.Reason{Signal: throughputSignal, Level: level, Text: fmt.Sprintf("without gobench's own delays class %s might do %.0f %% more", class, worst*100), Advice: health.MoreCPU}
}

// setRates sets the bounds of rates in r, whose Metrics are those of t.Merger: of the iterations of
// closed classes, and of operations if all classes are closed.
func (t *Tally) setRates(r *run.Result) {
	declared := t.Merger.Declared()
	worst, open := 0.0, false
	bound := func(m *run.Metric, share float64) {
		if share > 0 && m.RPS != nil && *m.RPS > 0 {
			m.Bounds = map[string]float64{"rps": *m.RPS * share}
		}
	}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		switch m.Role {
		case run.ClassPlanned:
			open = true
		case run.ClassDone:
			share := t.missingRate(run.Metric{Counts: m.As(run.ClassService)}, declared)
			worst = max(worst, share)
			bound(m, share)
		}
	}
	for i := range r.Metrics {
		if m := &r.Metrics[i]; !open && m.Whole() && (m.Role == run.OpOK || m.Role == run.OpBegun) {
			bound(m, worst)
		}
	}
}

// setVerdict sets the verdict of a run and its reasons, and appends to its notes; Summarize
// must have set the figures. It does nothing if the run made no load, and after a load that ended
// within its warm-up there is no verdict. Anything that is missing makes it INVALID.
func (t *Tally) setVerdict(r *run.Result) {
	if r.Start.IsZero() || r.Seconds <= 0 {
		return
	}
	if r.NothingMeasured() {
		r.Notes = append(r.Notes, t.notes(r)...)
		return
	}
	given := t.reasons
	uneven := t.hosts.uneven(t.users)
	if open := slices.ContainsFunc(r.Config.Classes, func(c run.Class) bool { return !c.Closed }); open && uneven != "" {
		t.reasons = append(slices.Clip(t.reasons), run.Reason{Signal: unevenSignal, Level: run.Amber, Text: uneven, Advice: "look at what slows that host down, or set each host's share with --weight"})
		uneven = ""
	}
	r.Verdict, r.Reasons = t.judgement(r.Missing)
	t.reasons = given
	r.Notes = append(r.Notes, t.notes(r)...)
	if r.Verdict == run.Valid {
		r.Notes = append(r.Notes, harmless(append(t.hosts.reasons(), t.causes...))...)
	}
	if uneven != "" { // a faster host may well do more of a closed load
		r.Notes = append(r.Notes, uneven)
	}
}

// harmless returns a note on what disturbed gobench in a run that is VALID; nil without any.
func harmless(causes []run.Reason) []string {
	if len(causes) == 0 {
		return nil
	}
	var texts []string
	for _, x := range causes {
		texts = append(texts, x.Text)
	}
	return []string{"it moved no percentile up to p99 by more than is allowed: " + strings.Join(texts, "; ")}
}
