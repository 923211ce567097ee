package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// The elements of JUnit's XML, as Jenkins and GitLab read them.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Hostname   string          `xml:"hostname,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        *junitText      `xml:"system-out"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Error   *junitProblem `xml:"error"`
		Failure *junitProblem `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
		Out     *junitText    `xml:"system-out"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		junitText
	}
	junitText struct {
		Text string `xml:",cdata"` // line breaks are preserved
	}
)

// JUnit writes r as a suite of tests: that the run completed, that its figures can be trusted,
// if it has a verdict, each threshold, and each check. Its properties are the facts of the run
// and the totals of its metrics; it has no series, and intervals are not read. It returns w's
// error.
func JUnit(w io.Writer, r *run.Result, _ Intervals) error {
	var page strings.Builder
	if err := Text(&page, r, Screen{}); err != nil {
		return err
	}
	s := junitSuite{Name: "gobench " + units.Safe(r.Name), Time: junitTime(r.Seconds), Hostname: units.Safe(r.Environment.Host), Out: &junitText{page.String()}}
	if !r.Start.IsZero() {
		s.Timestamp = r.Start.UTC().Format("2006-01-02T15:04:05")
	}
	for _, f := range facts(r) {
		s.Properties = append(s.Properties, junitProperty{f.name, f.text})
	}
	s.Properties = append(s.Properties, totals(r)...)
	s.Cases = append(s.Cases, ended(r))
	if r.Verdict != "" {
		s.Cases = append(s.Cases, believed(r))
	}
	for _, x := range r.Thresholds {
		s.Cases = append(s.Cases, judged(r, x))
	}
	for _, c := range checks(r) {
		s.Cases = append(s.Cases, held(r, c))
	}
	for _, c := range s.Cases {
		s.Tests++
		if c.Error != nil {
			s.Errors++
		}
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	all := junitSuites{Name: "gobench", Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Time: s.Time, Suite: s}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitTime formats seconds as JUnit does, to the millisecond.
func junitTime(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 3, 64) }

// totals returns the totals of each metric, without the generator's own, exactly:
// METRIC.count, METRIC.p99(ms) and so on, and at last errors.count.
func totals(r *run.Result) (all []junitProperty) {
	add := func(m run.Metric, name, value string) {
		all = append(all, junitProperty{units.Safe(m.Title) + "." + name, value})
	}
	for _, m := range r.Metrics {
		if own(m) {
			continue
		}
		if m.Value != nil {
			add(m, "value", whole(m.Value))
		}
		if m.Count == nil {
			continue
		}
		add(m, "count", whole(m.Count))
		unit := ""
		if m.Times != nil {
			unit = "(ms)"
		}
		for _, q := range quantiles(m) {
			switch {
			case q.few:
			case q.lost:
				add(m, q.name+unit, q.of(m))
			default:
				add(m, q.name+unit, number(q.value))
			}
		}
	}
	failures := r.Outcome().Main().Bad()
	return append(all, junitProperty{"errors.count", whole(&failures)})
}

// class names a group of tests of r.
func class(r *run.Result, group string) string { return units.Safe(r.Name) + "." + group }

// ended returns the test that a run completed and that nothing of it is missing: otherwise
// it has an error, not a failure.
func ended(r *run.Result) junitCase {
	c := junitCase{Name: "the run finishes", Class: class(r, "run"), Time: junitTime(r.Seconds)}
	switch {
	case r.State != run.Finished:
		c.Error = &junitProblem{ending(r), string(r.State), junitText{units.SafeLines(strings.Join(slices.Concat(r.Missing, r.Notes), "\n"))}}
	case !r.Complete:
		c.Error = &junitProblem{"some of what was counted is missing", "incomplete", junitText{units.SafeLines(strings.Join(r.Missing, "\n"))}}
	}
	return c
}

// believed returns the test that gobench measured correctly: INVALID figures fail it,
// SUSPECT ones do not.
func believed(r *run.Result) junitCase {
	c := junitCase{Name: "the figures can be believed", Class: class(r, "run"), Time: junitTime(0)}
	lines := []string{string(r.Verdict) + ": " + meanings[r.Verdict]}
	for _, x := range r.Reasons {
		lines = append(lines, x.Level.String()+" "+reason(x)+": "+units.Safe(x.Advice))
	}
	if says := strings.Join(lines, "\n"); r.Verdict == run.Invalid {
		c.Failure = &junitProblem{lines[0], string(r.Verdict), junitText{says}}
	} else {
		c.Out = &junitText{says}
	}
	return c
}

// judged returns the test of a threshold, which fails if it is crossed, and is skipped if it is not
// decided.
func judged(r *run.Result, x run.Threshold) junitCase {
	c := junitCase{Name: units.Safe(x.Expression), Class: class(r, "thresholds"), Time: junitTime(0)}
	says := "value " + units.Safe(x.Value)
	if x.Value == "" {
		says = units.Safe(x.Reason)
	}
	if x.OK {
		c.Out = &junitText{says}
		return c
	}
	if x.Undecided {
		c.Skipped = &junitSkipped{"not decided: " + units.Safe(x.Reason)}
		return c
	}
	message := "crossed: " + says
	if x.At != nil {
		message += ", at " + units.Seconds(*x.At)
	}
	c.Failure = &junitProblem{message, "threshold", junitText{units.Safe(x.Reason)}}
	return c
}

// held returns the test of a check. If it has thresholds, they decide; otherwise each of
// its calls has to pass.
func held(r *run.Result, k check) junitCase {
	c := junitCase{Name: units.Safe(k.name), Class: class(r, "checks"), Time: junitTime(0)}
	says := fmt.Sprintf("%s of %s passed (%s)", units.Count(k.passed), units.Count(k.passed+k.failed), exactShare(k.rate()))
	fails := k.failed > 0
	for _, x := range r.Thresholds {
		if strings.HasPrefix(x.Expression, "check "+strconv.Quote(k.name)+" ") {
			if fails = x.Crossed(); fails {
				break
			}
		}
	}
	if fails {
		c.Failure = &junitProblem{says, "check", junitText{}}
	} else {
		c.Out = &junitText{says}
	}
	return c
}
