package monitor

import (
	"slices"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
)

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
	reasons := slices.Clone(t.reasons)
	v := t.hosts.verdict(r.Missing)
	r.Verdict, r.Reasons = v.Word, nil
	for _, x := range v.Reasons {
		r.Reasons = append(r.Reasons, run.Reason{Signal: x.Signal, Level: x.Level, Text: x.Text, Advice: x.Advice, Windows: x.Windows, Worst: x.Worst.Seconds()})
	}
	uneven := t.hosts.uneven(t.users)
	if open := slices.ContainsFunc(r.Config.Classes, func(c run.Class) bool { return !c.Closed }); open && uneven != "" {
		reasons = append(reasons, run.Reason{Signal: unevenSignal, Level: run.Amber, Text: uneven, Advice: "look at what slows that host down, or set each host's share with --weight"})
		uneven = ""
	}
	for _, x := range reasons {
		r.Reasons = append(r.Reasons, x)
		if x.Level == run.Red && !health.OfHost(x.Signal) {
			r.Verdict = run.Invalid
		} else if r.Verdict == run.Valid {
			r.Verdict = run.Suspect
		}
	}
	r.Notes = append(r.Notes, t.notes(r)...)
	if uneven != "" { // a faster host may well do more of a closed load
		r.Notes = append(r.Notes, uneven)
	}
}

// unevenSignal is the signal of a reason that one host did more of the load than another.
const unevenSignal = "uneven"
