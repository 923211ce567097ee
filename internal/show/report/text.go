package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Screen is how a report is shown as text.
type Screen struct {
	Style
	Full bool   // everything; else what fits a screen
	Dir  string // the folder in which the run is stored, or ""
}

// Maximum numbers of rows of each kind in a report of one screen.
const (
	maxAdvice  = 3
	maxClasses = 4
	maxRows    = 12
	maxTimes   = 8
	maxChecks  = 8
	maxErrors  = 5
	maxNotes   = 5
)

// Text writes r as a report for people: first what was done, what of it failed and how long it
// took, then the verdict, whether it met its conditions, the figures, and what was run. It returns the first error of w.
func Text(w io.Writer, r *run.Result, s Screen) error {
	t := &text{Screen: s, w: w}
	t.headline(r)
	t.verdict(r)
	t.state(r)
	t.thresholds(r)
	t.checks(r)
	t.figures(r)
	t.parts(r)
	t.errors(r)
	if s.Full {
		t.samples(r)
		t.generator(r)
	}
	t.about(r)
	t.hosts(r)
	t.list("Missing", r.Missing)
	t.list("Notes", r.Notes)
	t.end(r)
	return t.err
}

// text writes until the first error.
type text struct {
	Screen
	w    io.Writer
	more int // number of rows that only a full report has
	err  error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// limit returns how many of n rows are shown where a screen has room for most, all in a full
// report, and adds the others to t.more.
func (t *text) limit(n, most int) int {
	if t.Full || n <= most {
		return n
	}
	t.more += n - most
	return most
}

// title begins a section.
func (t *text) title(s string) { t.printf("\n%s\n", t.paint(bold, s)) }

// say writes a text, its further lines indented below the first one's words.
func (t *text) say(begin, text string) {
	for i, line := range t.wrap(length(begin), text) {
		if i > 0 {
			begin = strings.Repeat(" ", length(begin))
		}
		t.printf("%s%s\n", begin, line)
	}
}

// meanings explain the verdicts to the reader.
var meanings = map[run.Verdict]string{
	run.Valid:   "gobench kept up, these numbers are the target's, within 5 % or 0.5 ms",
	run.Suspect: "gobench was disturbed, read these numbers with care",
	run.Invalid: "gobench could not measure correctly, do not believe these numbers",
}

// meaning explains r's verdict. Where nothing was answered there are no numbers to be believed.
func meaning(r *run.Result) string {
	if r.Verdict == run.Valid && r.Outcome().NothingAnswered() {
		return "gobench kept up, and nothing was answered"
	}
	return meanings[r.Verdict]
}

var tones = map[run.Verdict]tone{run.Valid: good, run.Suspect: warn, run.Invalid: bad}

// verdict writes a blank line and, if the run has a verdict, first whether the figures can be
// trusted and whether the run met its conditions, then all reasons, the first three of them with
// advice unless the report is full.
func (t *text) verdict(r *run.Result) {
	t.printf("\n")
	if r.Verdict == "" {
		return
	}
	says := ": " + meaning(r)
	if s := met(r); s != "" {
		says += "; " + s
	}
	for i, line := range t.wrap(len(r.Verdict), says) {
		if i == 0 {
			line = t.paint(tones[r.Verdict], string(r.Verdict)) + line
		}
		t.printf("%s\n", line)
	}
	advised := map[string]bool{}
	for _, x := range r.Reasons {
		tone := warn
		if x.Level == run.Red {
			tone = bad
		}
		const width = 8
		for i, line := range t.wrap(width, reason(x)) {
			begin := strings.Repeat(" ", width)
			if i == 0 {
				begin = "  " + t.paint(tone, fmt.Sprintf("%-5s", x.Level)) + " "
			}
			t.printf("%s%s\n", begin, line)
		}
		if !advised[x.Advice] && (len(advised) < maxAdvice || t.Full) {
			t.say(strings.Repeat(" ", width), units.Safe(x.Advice))
			advised[x.Advice] = true
		}
	}
}

// reason describes what lowered a verdict, and when: "SIGNAL: TEXT (in 3 intervals, the worst
// at 12.3 s)".
func reason(x run.Reason) string {
	when := ""
	switch {
	case x.Windows == 1:
		when = fmt.Sprintf(" (in one interval, at %s)", units.Seconds(x.Worst))
	case x.Windows > 1:
		when = fmt.Sprintf(" (in %s intervals, the worst at %s)", units.Count(int64(x.Windows)), units.Seconds(x.Worst))
	}
	return units.Safe(x.Signal) + ": " + units.Safe(x.Text) + when
}

// state writes how the run ended.
func (t *text) state(r *run.Result) {
	tone := plain
	if r.State == run.Failed || r.State == run.Cancelled {
		tone = bad
	}
	whole := "complete"
	if !r.State.Final() {
		whole = "not over yet"
	} else if !r.Complete {
		whole = "INCOMPLETE: see Missing below"
	}
	if r.State.Final() && r.Start.IsZero() {
		t.printf("%s: %s, before there was any load\n", units.Safe(r.Name), t.paint(tone, ending(r)))
		return
	}
	t.printf("%s: %s after %s, %s\n", units.Safe(r.Name), t.paint(tone, ending(r)), units.Seconds(r.Seconds), whole)
}

// ending returns a run's state and its cause, safe for a terminal.
func ending(r *run.Result) string {
	if r.Cause == "" {
		return string(r.State)
	}
	return string(r.State) + ": " + units.Safe(r.Cause)
}

// errors writes the most frequent kinds of failure, at most five unless the report is full,
// and the number of the others in a row.
func (t *text) errors(r *run.Result) {
	n := t.limit(len(r.Errors), maxErrors)
	var rows [][]cell
	for _, f := range r.Errors[:n] {
		rows = append(rows, cells(failure(f), units.Count(f.Count)))
	}
	if n < len(r.Errors) {
		more := int64(0)
		for _, f := range r.Errors[n:] {
			more += f.Count
		}
		rows = append(rows, cells(fmt.Sprintf("%d more kinds", len(r.Errors)-n), units.Count(more)))
	}
	for i := range rows {
		rows[i][1].tone = bad
	}
	t.table([]string{"Errors", "count"}, rows)
}

// failure describes the kind of a failure, "SOURCE CLASS: TEXT", safe for a terminal.
func failure(f run.Failure) string {
	return units.Safe(run.SourceName(f.Source)) + " " + units.Safe(f.Class) + ": " + units.Safe(f.Text)
}

// maxSampleLines is how many lines of a sample the text shows.
const maxSampleLines = 12

// samples writes the transcripts of failed exchanges, at most twelve lines of each.
func (t *text) samples(r *run.Result) {
	if len(r.Samples) > 0 {
		t.title("Samples of failures")
	}
	for _, s := range r.Samples {
		t.say("  ", fmt.Sprintf("%s %s, at %s", units.Safe(run.SourceName(s.Source)), units.Safe(s.Class), units.Seconds(s.At)))
		lines := strings.Split(units.SafeLines(s.Text), "\n")
		for i, line := range lines {
			if i == maxSampleLines {
				t.printf("      (%d more lines in the JSON)\n", len(lines)-i)
				break
			}
			t.printf("    %s\n", strings.TrimRight("| "+line, " "))
		}
	}
}

// generator writes what gobench recorded of itself.
func (t *text) generator(r *run.Result) {
	var rows [][]cell
	for _, m := range r.Metrics {
		if own(m) && recorded(m) {
			rows = append(rows, total(m))
		}
	}
	t.table([]string{"Generator", "values", "average", "stdev", "max", "±stdev"}, rows)
}

// list writes the first line of each item under a title, of at most five items unless the
// report is full; nothing if there are no items.
func (t *text) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	t.title(title)
	for _, s := range items[:t.limit(len(items), maxNotes)] {
		first, _, more := strings.Cut(s, "\n")
		if more {
			first += " ..."
		}
		t.say("  ", units.Safe(first))
	}
}

// end writes where to find the rest, and how many rows were left out so far: call it last. It
// writes nothing if the run is not stored.
func (t *text) end(r *run.Result) {
	if t.Dir == "" {
		return
	}
	t.printf("\nStored in %s\n", units.Safe(t.Dir))
	if t.Full {
		return
	}
	var more []string
	if t.more > 0 {
		more = append(more, fmt.Sprintf("%s more rows", units.Count(int64(t.more))))
	}
	if n := len(r.Samples); n > 0 {
		more = append(more, fmt.Sprintf("samples of failures: %d", n))
	}
	says := ""
	if len(more) > 0 {
		says = " (" + strings.Join(more, ", ") + ")"
	}
	t.printf("Details: gobench show %s --full%s\n", units.Safe(r.ID), says)
}
