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
// verdict is VALID, and all reasons are causes. missing is what the totals lack; any makes it INVALID.
// others decide, too.
func (t *Tally) judgement(missing []string, others ...run.Reason) (run.Verdict, []run.Reason) {
	var decide, causes []run.Reason
	if len(missing) > 0 {
		decide = append(decide, run.Reason{Signal: health.Totals, Level: run.Red,
			Text:   "not all that was counted is in the totals: " + strings.Join(missing, "; "),
			Advice: "run it again; if an executor died, its log says why"})
	}
	for _, x := range append(t.hosts.reasons(), t.causes...) {
		if x.Cause {
			causes = append(causes, x)
		} else {
			decide = append(decide, x)
		}
	}
	decide = slices.Concat(decide, t.percentiles(), t.throughput(), t.reasons, others)
	slices.SortStableFunc(decide, func(a, b run.Reason) int { return int(b.Level) - int(a.Level) })
	health.SortReasons(causes)
	verdict := run.Valid
	if len(decide) > 0 {
		verdict = run.Suspect
		if decide[0].Level == run.Red {
			verdict = run.Invalid
		}
	}
	return verdict, append(decide, causes...)
}

// percentiles returns a reason for each judged metric with a percentile that may be off by more
// than is allowed: those of clients and of iterations on a schedule, and iterations of closed
// classes if no client measured a time.
func (t *Tally) percentiles() (reasons []run.Reason) {
	var clients, iterations []delay.Finding
	measured := false // a client has measured a time
	declared := t.Merger.Declared()
	for _, m := range declared {
		client := m.Role == run.OpTime && m.Whole()
		if !client && m.Role != run.ClassResponse && m.Role != run.ClassService {
			continue
		}
		open := !client && scheduled(m, declared)
		if !client && open != (m.Role == run.ClassResponse) {
			continue
		}
		times, ok := t.Merger.TimesOf(m.Counts)
		if !ok || times.All.Count() == 0 {
			continue
		}
		switch {
		case client:
			measured = true
			clients = append(clients, delay.Judge(m.Title, times)...)
		case open:
			clients = append(clients, delay.Judge(m.Of+" response time", times)...)
		default:
			iterations = append(iterations, delay.Judge(m.Of+" service time", times)...)
		}
	}
	all := clients
	if !measured {
		all = append(all, iterations...)
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
// own delays took that part of its users' time, and of how many iterations that is; 0 if it has
// a schedule or did nothing. m is its service time.
func (t *Tally) missingRate(m run.Metric, declared []run.Metric) (share float64, n int64) {
	if scheduled(m, declared) {
		return 0, 0
	}
	times, ok := t.Merger.TimesOf(m.Counts)
	if !ok {
		return 0, 0
	}
	failed, _ := t.Merger.TimesOf(m.As(run.ClassFailure))
	return delay.MissingRate(times.Own(), times.Sum()+failed.Sum()), int64(times.All.Count())
}

// throughput returns a reason for the closed class whose rate may be too low by the most, if that is
// more than is allowed; nil without one.
func (t *Tally) throughput() []run.Reason {
	declared := t.Merger.Declared()
	worst, class := 0.0, ""
	for _, m := range declared {
		if m.Role != run.ClassService {
			continue
		}
		share, n := t.missingRate(m, declared)
		if share > worst && delay.RateIsOff(share, n) {
			worst, class = share, m.Of
		}
	}
	if class == "" {
		return nil
	}
	return []run.Reason{{Signal: throughputSignal, Level: run.Amber, Text: fmt.Sprintf("without gobench's own delays class %s might do %.0f %% more", class, worst*100), Advice: health.MoreCPU}}
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
			share, _ := t.missingRate(run.Metric{Counts: m.As(run.ClassService)}, declared)
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
	var others []run.Reason
	uneven := t.hosts.uneven(t.users)
	if open := slices.ContainsFunc(r.Config.Classes, func(c run.Class) bool { return !c.Closed }); open && uneven != "" {
		others = append(others, run.Reason{Signal: unevenSignal, Level: run.Amber, Text: uneven, Advice: "look at what slows that host down, or set each host's share with --weight"})
		uneven = ""
	}
	r.Verdict, r.Reasons = t.judgement(r.Missing, others...)
	r.Notes = append(r.Notes, t.notes(r)...)
	if r.Verdict == run.Valid {
		r.Notes = append(r.Notes, disturbances(r.Reasons)...)
		r.Reasons = nil
	}
	if uneven != "" { // a faster host may well do more of a closed load
		r.Notes = append(r.Notes, uneven)
	}
}

// disturbed begins the note of a run that is VALID on what disturbed gobench.
const disturbed = "what disturbed gobench moved no percentile up to p99 by more than is allowed: "

// disturbances returns that note; nil without causes.
func disturbances(causes []run.Reason) []string {
	if len(causes) == 0 {
		return nil
	}
	var texts []string
	for _, x := range causes {
		texts = append(texts, x.Text)
	}
	return []string{disturbed + strings.Join(texts, "; ")}
}
