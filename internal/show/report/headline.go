package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// firstLines are the first lines of a page.
type firstLines struct {
	Done   string `json:"done"`
	Failed string `json:"failed"`
	Times  string `json:"times"`
	Least  string `json:"least,omitempty"` // what Times are at least, without gobench's own delays
	Bad    bool   `json:"bad"`             // something failed
}

func headlineOf(r *run.Result) (l firstLines) {
	l.Done, l.Failed = headlines(r)
	if l.Done != "" {
		l.Times, l.Least, l.Bad = mainTimes(r), leastTimes(r), isBad(r)
	}
	return l
}

// isBad reports whether something failed.
func isBad(r *run.Result) bool {
	o := r.Outcome()
	return o.Main().Bad() > 0 || o.Unprepared > 0
}

// headline writes what every reader asks first: how much was done, of what was asked, what of
// it failed and why, and how long it took. It writes nothing for a run without load.
func (t *text) headline(r *run.Result) {
	done, failed := headlines(r)
	if done == "" {
		return
	}
	t.printf("\n")
	t.say("", done)
	tone := plain
	if isBad(r) {
		tone = bad
	}
	for _, line := range t.wrap(0, failed) {
		t.printf("%s\n", t.paint(tone, line))
	}
	if s := mainTimes(r); s != "" {
		t.say("", s)
	}
	if s := leastTimes(r); s != "" {
		for _, line := range t.wrap(0, s) {
			t.printf("%s\n", t.paint(warn, line))
		}
	}
}

// headlines returns the first two lines of a report: what was done, and what failed; "" for a
// run without load, or of users alone, who have neither iterations nor clients.
func headlines(r *run.Result) (done, failed string) {
	o := r.Outcome()
	m, what := o.Main(), "requests"
	has := func(role run.Role) bool {
		return slices.ContainsFunc(r.Metrics, func(m run.Metric) bool { return m.Role == role })
	}
	switch {
	case r.Start.IsZero() || has(run.ClassFinished) && !has(run.ClassDone) && !o.Clients():
		return "", ""
	case r.NothingMeasured():
		return fmt.Sprintf("nothing was measured: the load ended after %s, within its warm-up", units.Seconds(r.Warmup)), "warm up for a shorter time, or let the load last longer"
	case r.Measured <= 0:
		return "", ""
	}
	if !o.Clients() {
		what = "iterations"
	}
	if m.All() == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	rate, known := begunRate(r, o)
	if !known {
		rate, _ = reached(r, o)
	}
	begun := int64(rate*r.Measured + 0.5) // within the measured time
	done = fmt.Sprintf("%s %s in %s, %s/s", units.Count(m.All()), what, units.Seconds(r.Measured), units.Rate(rate))
	if later := m.All() - begun; known && later > max(1, m.All()/100) {
		done = fmt.Sprintf("%s %s, %s of them begun in %s, %s/s", units.Count(m.All()), what, units.Count(begun), units.Seconds(r.Measured), units.Rate(rate))
	}
	switch {
	case o.Planned > 0:
		done += wanted(r, o) + slower(r, o, rate)
	case o.Clients():
		done += missingRate(r, run.OpBegun)
	default:
		done += missingRate(r, run.ClassDone)
	}
	if of := begun - m.Begun; known && r.Warmup > 0 && of > max(1, m.Begun/20) {
		done += fmt.Sprintf("; %s more, planned in the warm-up, are in the rate and in no other figure", units.Count(of))
	}
	if o.Void > 0 {
		done += "; then the data ran out"
	}
	if o.Panics > 0 {
		done += fmt.Sprintf("; %s users panicked", units.Count(o.Panics))
	}
	switch {
	case m.All() == 0:
		failed = "nothing has ended"
		if len(r.Errors) > 0 {
			e := r.Errors[0]
			failed += fmt.Sprintf("; %s times %s: %s", units.Count(e.Count), units.Safe(e.Class), units.Safe(e.Text))
		}
	case m.Bad() == 0:
		failed = "none failed"
	default:
		failed = fmt.Sprintf("%s failed, %s", units.Count(m.Bad()), units.Percent(float64(m.Bad())/float64(m.All())))
		if s := causes(o); s != "" {
			failed += ": " + s
		}
		if w := o.Worst; w != nil {
			failed += fmt.Sprintf("; worst is %s: %s of %s", units.Safe(w.Part), units.Count(w.Bad()), units.Count(w.All()))
		}
	}
	if n := o.Iterations.Failed; o.Clients() && n > o.Operations.Bad() {
		iterations := "iterations"
		if n == 1 {
			iterations = "iteration"
		}
		failed += fmt.Sprintf("; %s %s failed", units.Count(n), iterations)
	}
	if o.Slowed > 0 {
		failed += fmt.Sprintf("; users were slowed %s times, as their calls fail before the network", units.Count(o.Slowed))
	}
	if o.Unprepared > 0 {
		failed += fmt.Sprintf("; %s preparations failed", units.Count(o.Unprepared))
	}
	return done, failed
}

// slower says how many operations, or iterations without a client, of an open load ended within the
// measured time, a second of it, if those are fewer than began, at rate; else it returns "".
func slower(r *run.Result, o run.Outcome, rate float64) string {
	roles := []run.Role{run.ClassDone, run.ClassCut}
	if o.Clients() {
		roles = []run.Role{run.OpOK, run.OpFailed, run.OpUnanswered}
	}
	ended := 0.0
	for _, role := range roles {
		of, _ := rateOf(r, role)
		ended += of
	}
	if ended >= 0.97*rate {
		return ""
	}
	return fmt.Sprintf(", %s/s ended", units.Rate(ended))
}

// begunRate returns how many operations, or iterations without a client, began within the
// measured time, of either phase, a second of it; known is false for results of an older gobench.
func begunRate(r *run.Result, o run.Outcome) (rate float64, known bool) {
	role := run.ClassBegun
	if o.Clients() {
		role = run.OpBegun
	}
	return rateOf(r, role)
}

// reached is begunRate, and for results of an older gobench the rate of what ended; known is
// false for a run without load.
func reached(r *run.Result, o run.Outcome) (rate float64, known bool) {
	if r.Start.IsZero() || r.Measured <= 0 {
		return 0, false
	}
	if rate, known = begunRate(r, o); !known {
		rate = float64(o.Main().All()) / r.Measured
	}
	return rate, true
}

// rateOf returns the sum of the rates of what has a role; known is false if nothing has it.
func rateOf(r *run.Result, role run.Role) (rate float64, known bool) {
	for _, m := range r.Metrics {
		if m.Role == role && m.Whole() && m.RPS != nil {
			rate, known = rate+*m.RPS, true
		}
	}
	return rate, known
}

// wanted says what an open load asked for, after the rate that was reached, and which of its
// planned starts did not begin.
func wanted(r *run.Result, o run.Outcome) (s string) {
	planned, starts := plannedRate(r)
	if o.Main().Begun == o.Iterations.Begun && !slices.ContainsFunc(r.Config.Classes, func(c run.Class) bool { return c.Closed }) {
		s = fmt.Sprintf(" of %s wanted", units.Rate(planned))
	} else {
		s = fmt.Sprintf("; %s starts/s of %s wanted", units.Rate(starts), units.Rate(planned))
	}
	var lacks []string
	for _, x := range []struct {
		n    int64
		text string
	}{{o.Dropped, "dropped"}, {o.Unserved, "unserved"}} {
		if x.n > 0 {
			lacks = append(lacks, units.Count(x.n)+" "+x.text)
		}
	}
	if len(lacks) > 0 {
		s += fmt.Sprintf("; of %s planned starts %s", units.Count(o.Planned), strings.Join(lacks, ", "))
	}
	return s
}

// plannedRate returns the rate at which open loads wanted to start iterations, a second of the
// measured time, and the rate at which theirs began. A constant rate is the one that was asked for,
// whatever part of it was planned: data may run out, or who had a part of it may be lost.
func plannedRate(r *run.Result) (planned, begun float64) {
	for _, m := range r.Metrics {
		if m.Role != run.ClassPlanned || m.RPS == nil {
			continue
		}
		rate := *m.RPS
		i := slices.IndexFunc(r.Config.Classes, func(c run.Class) bool { return c.Name == m.Of })
		if i >= 0 && r.Config.Classes[i].Starts > 0 {
			c := r.Config.Classes[i] // in the measured time, which may be longer
			rate = c.Starts * min(c.StartsFor-r.Warmup, r.Measured) / r.Measured
		}
		planned += rate
		if b := run.Find(r.Metrics, m.As(run.ClassBegun)); b != nil && b.RPS != nil {
			begun += *b.RPS
		}
	}
	return planned, begun
}

// maxCauses is how many causes of failures the headline names.
const maxCauses = 3

// causes lists why operations failed, the most frequent first: "80 answered 500, 5 timeout".
func causes(o run.Outcome) string {
	several := false
	for _, c := range o.Causes {
		several = several || c.Of != o.Causes[0].Of
	}
	var all []string
	for i, c := range o.Causes {
		if i == maxCauses {
			all = append(all, fmt.Sprintf("%d more kinds", len(o.Causes)-i))
			break
		}
		s := units.Count(c.Count) + " " + units.Safe(c.Part)
		switch {
		case c.By == "status":
			s = units.Count(c.Count) + " answered " + units.Safe(c.Part)
		case c.Part == "canceled":
			s = units.Count(c.Count) + " cut at the end"
		case c.Part == run.PartLost:
			s = units.Count(c.Count) + " lost with an executor"
		}
		if several {
			s += " (" + units.Safe(c.Of) + ")"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// mainMetric returns the busiest of the run's main distributions of times, a client's before a
// step's; nil without one.
func mainMetric(r *run.Result) *run.Metric {
	main := Headline(r.Metrics, func(title string) bool { m := byTitle(r, title); return recorded(m) || m.Lost != nil })
	slices.SortStableFunc(main, func(a, b run.Metric) int {
		return cmp.Or(cmp.Compare(oneIf(a.Role == run.StepTime), oneIf(b.Role == run.StepTime)), cmp.Compare(among(b), among(a)))
	})
	for i := range main {
		if main[i].Unit == "ns" && quantiles(main[i]) != nil {
			return &main[i]
		}
	}
	return nil
}

// among returns how many m's percentiles are among: what has a time, and what has none.
func among(m run.Metric) (n int64) {
	if m.Count != nil {
		n = *m.Count
	}
	if m.Lost != nil {
		n += *m.Lost
	}
	return n
}

// mainTimes formats the figures of mainMetric: "p50 1.00 ms, p99 2.00 ms, max 3.00 ms
// (http.latency)"; "" without one. Response times that are much longer than the operations in them,
// as those of users who think, or wait for a user, are followed by the busiest client's.
func mainTimes(r *run.Result) string {
	m := mainMetric(r)
	if m == nil {
		return ""
	}
	all := shortTimes(*m)
	if m.Role != run.ClassResponse {
		return all
	}
	var client *run.Metric
	leading := run.Leading(r.Metrics)
	for i := range r.Metrics {
		x := &r.Metrics[i]
		if x.Role == run.OpTime && leading[x.Title] && x.Times != nil && recorded(*x) && (client == nil || among(*x) > among(*client)) {
			client = x
		}
	}
	if client != nil && m.Times != nil && m.Times.P50.Known() && client.Times.P50.Known() && client.Times.P50 < m.Times.P50/2 {
		all += "; " + shortTimes(*client)
	}
	return all
}

// shortTimes formats three figures of m, and its title.
func shortTimes(m run.Metric) string {
	var all []string
	for _, q := range quantiles(m) {
		if q.name == "p50" || q.name == "p99" || q.name == "max" {
			all = append(all, q.name+" "+q.of(m))
		}
	}
	return strings.Join(all, ", ") + " (" + Title(m) + ")"
}
