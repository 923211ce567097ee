package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Maximum numbers of rows in a report for a pull request.
const (
	maxMarkdownRows   = 12
	maxMarkdownErrors = 5
)

// Markdown writes r as a short page for a pull request: verdict, thresholds, the main
// figures, and what was run. It has no series, and intervals are not read. It returns w's
// error.
func Markdown(w io.Writer, r *run.Result, _ Intervals) error {
	out := bufio.NewWriter(w) // it keeps its first error, for Flush
	m := &markdown{out}
	m.verdict(r)
	m.conditions(r)
	m.figures(r)
	m.errors(r)
	m.hosts(r)
	m.about(r)
	return out.Flush()
}

// markdown writes the parts of the page to w, which stores its first error. Tables are left
// out if they would be empty.
type markdown struct{ w io.Writer }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

// verdict writes the heading, the verdict with its reasons, and what is missing.
func (m *markdown) verdict(r *run.Result) {
	m.printf("## Load test: %s\n\n", outcome(r))
	if done, failed := headlines(r); done != "" {
		m.printf("%s. %s.", done, code(failed))
		for _, s := range []string{mainTimes(r), leastTimes(r)} {
			if s != "" {
				m.printf(" %s.", code(s))
			}
		}
		m.printf("\n\n")
	}
	if r.Verdict != "" {
		m.printf("**%s**: %s.\n", r.Verdict, meanings[r.Verdict])
	}
	for i, x := range r.Reasons {
		if i == 0 {
			m.printf("\n")
		}
		m.printf("- %s: %s\n", x.Level, code(reason(x)))
	}
	for _, s := range r.Missing {
		m.printf("\n**Missing**: %s\n", code(units.Safe(s)))
	}
}

// outcome describes the result of a run in a word or a few: "failed", "cancelled", "not over
// yet", "INVALID", whether its thresholds are met, or without thresholds its state.
func outcome(r *run.Result) string {
	switch {
	case r.State == run.Failed, r.State == run.Cancelled:
		return string(r.State)
	case !r.State.Final():
		return "not over yet"
	case r.Verdict == run.Invalid:
		return "INVALID"
	case met(r) != "":
		return met(r)
	}
	return string(r.State)
}

// conditions writes thresholds and checks: at most twelve of these, and the number of others.
func (m *markdown) conditions(r *run.Result) {
	if len(r.Thresholds) > 0 {
		m.printf("\n| threshold | | value |\n| --- | --- | ---: |\n")
	}
	for _, x := range r.Thresholds {
		state, value := "met", x.Value
		if x.Undecided {
			state = "not decided"
		} else if !x.OK {
			state = "**CROSSED**"
		}
		if value == "" {
			value = x.Reason
		}
		m.printf("| %s | %s | %s |\n", code(units.Safe(x.Expression)), state, code(units.Safe(value)))
	}
	all := checks(r)
	if len(all) > 0 {
		m.printf("\n| check | passed | failed | rate |\n| --- | ---: | ---: | ---: |\n")
	}
	for i, c := range all {
		if i == maxMarkdownRows {
			m.printf("| %d more | | | |\n", len(all)-i)
			break
		}
		m.printf("| %s | %s | %s | %s |\n", code(units.Safe(c.name)), units.Count(c.passed), units.Count(c.failed), exactShare(c.rate()))
	}
}

// row writes a row of a table.
func (m *markdown) row(row []cell) {
	m.printf("| %s |", code(strings.TrimSpace(row[0].text)))
	for _, c := range row[1:] {
		m.printf(" %s |", c.text)
	}
	m.printf("\n")
}

// figures writes a table of at most twelve metrics, and how many more there are.
func (m *markdown) figures(r *run.Result) {
	metrics, _ := shown(r, false)
	if len(metrics) == 0 {
		return
	}
	m.printf("\n| metric | total | average | p50 | p90 | p95 | p99 | p99.9 | max |\n|%s\n", " --- |"+strings.Repeat(" ---: |", 8))
	for i, x := range metrics {
		if i == maxMarkdownRows {
			m.printf("| %d more | | | | | | | | |\n", len(metrics)-i)
			break
		}
		row := append(total(x), cells("", "")...)[:3]
		most := ""
		if x.Type == run.Histogram {
			row = append(row, percentiles(x)[1:]...)
		} else if s := total(x); len(s) > 4 {
			most = s[4].text
		}
		if x.Type != run.Histogram {
			row = append(row, cells("", "", "", "", "", most)...)
		}
		m.row(row)
		if own := leasts(x); x.Type == run.Histogram && own != nil {
			m.row(append([]cell{own[0], {}, {}}, own[1:]...))
		}
	}
}

// errors writes the five most frequent kinds of failure, and the number of the others, then
// how many samples other reports show.
func (m *markdown) errors(r *run.Result) {
	if len(r.Errors) > 0 {
		m.printf("\n| error | count |\n| --- | ---: |\n")
	}
	for i, f := range r.Errors {
		if i == maxMarkdownErrors {
			more := int64(0)
			for _, f := range r.Errors[i:] {
				more += f.Count
			}
			m.printf("| %d more kinds | %s |\n", len(r.Errors)-i, units.Count(more))
			break
		}
		m.printf("| %s | %s |\n", code(shorten(failure(f), pageWidth)), units.Count(f.Count))
	}
	if n := len(r.Samples); n > 0 {
		m.printf("\nSamples of failures in the JSON and the HTML report: %d.\n", n)
	}
}

// about writes what was run, in one paragraph.
func (m *markdown) about(r *run.Result) {
	var parts []string
	for _, f := range facts(r) {
		if f.text != "" && f.name != "hosts" { // they have a table
			parts = append(parts, f.name+" "+code(f.text))
		}
	}
	m.printf("\n%s\n", strings.Join(parts, " · "))
}

// code returns s, which must have no line ends, as code, which shows it as it is: nothing in
// it is markup, a link or a mention; "" for a blank text. A span of backticks can't contain a
// backtick in all dialects, nor a pipe within a table: such text is written as HTML, with
// references for special characters.
func code(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	if !strings.ContainsAny(s, "`|") && s == strings.TrimSpace(s) && !strings.HasSuffix(s, `\`) {
		return "`" + s + "`"
	}
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return "<code>" + b.String() + "</code>"
}
