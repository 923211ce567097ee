package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Screen is how a report is shown as text.
type Screen struct {
	Style
	Full bool   // all there is; else what fits a screen
	Dir  string // the folder that the run is kept in, if it is
}

// How many rows a report of one screen has of each kind.
const (
	maxReasons = 3
	maxClasses = 4
	maxRows    = 14
	maxTimes   = 8
	maxChecks  = 8
	maxErrors  = 5
	maxNotes   = 5
)

// Text writes r as a report for people: what to think of it first, then whether it met
// its conditions, the figures that matter, and what was run.
func Text(w io.Writer, r *run.Result, s Screen) error {
	t := &text{Screen: s, w: w}
	t.verdict(r)
	t.state(r)
	t.thresholds(r)
	t.checks(r)
	t.figures(r)
	t.errors(r)
	if s.Full {
		t.samples(r)
		t.generator(r)
	}
	t.about(r)
	t.list("Missing", r.Missing)
	t.list("Notes", r.Notes)
	t.end(r)
	return t.err
}

// text writes until the first error.
type text struct {
	Screen
	w    io.Writer
	more int // rows that only a full report has
	err  error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// limit is how many of n rows are shown where a screen has room for most.
func (t *text) limit(n, most int) int {
	if t.Full || n <= most {
		return n
	}
	t.more += n - most
	return most
}

// title begins a part.
func (t *text) title(s string) { t.printf("\n%s\n", t.Paint(Bold, s)) }

// say prints a text, its lines after the first below the first one's words.
func (t *text) say(begin, text string) {
	for i, line := range t.wrap(length(begin), text) {
		if i > 0 {
			begin = strings.Repeat(" ", length(begin))
		}
		t.printf("%s%s\n", begin, line)
	}
}

// meanings are what a verdict tells the reader.
var meanings = map[run.Verdict]string{
	run.Valid:   "gobench kept up, these numbers are the target's",
	run.Suspect: "gobench was disturbed, read these numbers with care",
	run.Invalid: "gobench could not measure rightly, do not believe these numbers",
}

var tones = map[run.Verdict]Tone{run.Valid: Good, run.Suspect: Warn, run.Invalid: Bad}

// verdict says first whether the rest can be believed, and whether the run met its
// conditions.
func (t *text) verdict(r *run.Result) {
	t.printf("\n")
	if r.Verdict == "" {
		return
	}
	says := ": " + meanings[r.Verdict]
	if s := met(r); s != "" {
		says += "; " + s
	}
	for i, line := range t.wrap(len(r.Verdict), says) {
		if i == 0 {
			line = t.Paint(tones[r.Verdict], string(r.Verdict)) + line
		}
		t.printf("%s\n", line)
	}
	advised := map[string]bool{}
	for _, x := range r.Reasons[:t.limit(len(r.Reasons), maxReasons)] {
		tone := Warn
		if x.Level == "red" {
			tone = Bad
		}
		const width = 8
		for i, line := range t.wrap(width, reason(x)) {
			begin := strings.Repeat(" ", width)
			if i == 0 {
				begin = "  " + t.Paint(tone, fmt.Sprintf("%-5s", x.Level)) + " "
			}
			t.printf("%s%s\n", begin, line)
		}
		if !advised[x.Advice] {
			t.say(strings.Repeat(" ", width), Safe(x.Advice))
		}
		advised[x.Advice] = true
	}
}

// reason says what lowered a verdict, and when.
func reason(x run.Reason) string {
	when := ""
	switch {
	case x.Windows == 1:
		when = fmt.Sprintf(" (in one interval, at %s)", Seconds(x.Worst))
	case x.Windows > 1:
		when = fmt.Sprintf(" (in %s intervals, the worst at %s)", Count(int64(x.Windows)), Seconds(x.Worst))
	}
	return Safe(x.Signal) + ": " + Safe(x.Text) + when
}

// state says how the run ended.
func (t *text) state(r *run.Result) {
	tone := Plain
	if r.State == run.Failed || r.State == run.Cancelled {
		tone = Bad
	}
	whole := "complete"
	if !r.State.Final() {
		whole = "not over yet"
	} else if !r.Complete {
		whole = "INCOMPLETE: see Missing below"
	}
	if r.State.Final() && r.Start.IsZero() {
		t.printf("%s: %s, before there was any load\n", Safe(r.Name), t.Paint(tone, ending(r)))
		return
	}
	t.printf("%s: %s after %s, %s\n", Safe(r.Name), t.Paint(tone, ending(r)), Seconds(r.Seconds), whole)
}

// ending is a run's state, and why.
func ending(r *run.Result) string {
	if r.Cause == "" {
		return string(r.State)
	}
	return string(r.State) + ": " + Safe(r.Cause)
}

// figures shows what was counted and measured: totals of everything, then percentiles
// of what has them.
func (t *text) figures(r *run.Result) {
	metrics, more := shown(r, t.Full)
	t.more += more
	var totals, times [][]cell
	for _, m := range metrics {
		if m.Type == "histogram" {
			times = append(times, percentiles(m))
		}
		if t.Full || !aside(m) {
			totals = append(totals, total(m))
		}
	}
	t.table([]string{"Totals", "total", "average", "stdev", "max", "±stdev"}, totals[:t.limit(len(totals), maxRows)])
	t.table([]string{"Percentiles", "p50", "p90", "p95", "p99", "p99.9", "max"}, times[:t.limit(len(times), maxTimes)])
}

// total is what a metric came to in the whole run and in a second, or of each time or size.
func total(m run.Metric) []cell {
	name := Title(m.Title)
	switch {
	case m.Value != nil:
		return cells(name, Count(*m.Value))
	case m.Times != nil:
		return cells(name, Count(*m.Count), Millis(m.Times.Avg), Millis(m.Times.Stdev), Millis(m.Times.Max), share(m.Within))
	case m.Sizes != nil:
		return cells(name, Count(*m.Count), value(m, m.Sizes.Avg), value(m, m.Sizes.Stdev), value(m, m.Sizes.Max), share(m.Within))
	case m.Count == nil:
		return cells(name)
	}
	count, rate := Count(*m.Count), Rate
	if m.Unit == "B" {
		count, rate = Bytes(float64(*m.Count)), Bytes
	}
	if *m.Count == 0 || m.RPS == nil {
		return cells(name, count)
	}
	row := cells(name, count, rate(*m.RPS)+"/s")
	if x := m.Spread; x != nil {
		row = append(row, cells(rate(x.Stdev)+"/s", rate(x.Max)+"/s", share(&x.Within))...)
	}
	return row
}

// unanswered stands for a percentile that lies among operations without an answer.
const unanswered = "no answer"

// percentiles are those of a distribution, and its maximum.
func percentiles(m run.Metric) []cell {
	row := cells(Title(m.Title))
	for _, f := range quantiles(m) {
		switch {
		case f.lost:
			row = append(row, cell{unanswered, Bad})
		case m.Times != nil:
			row = append(row, cell{text: Millis(f.value)})
		default:
			row = append(row, cell{text: value(m, f.value)})
		}
	}
	return row
}

// quantile is a percentile of a distribution, or its maximum.
type quantile struct {
	name  string
	value float64 // in milliseconds, or the metric's unit
	lost  bool    // it lies among operations without an answer and has no value
}

// quantiles gives a distribution's.
func quantiles(m run.Metric) []quantile {
	var all []quantile
	switch x, y := m.Times, m.Sizes; {
	case x != nil:
		all = []quantile{{"p50", x.P50, false}, {"p90", x.P90, false}, {"p95", x.P95, false}, {"p99", x.P99, false}, {"p99.9", x.P999, false}, {"max", x.Max, false}}
	case y != nil:
		all = []quantile{{"p50", y.P50, false}, {"p90", y.P90, false}, {"p95", y.P95, false}, {"p99", y.P99, false}, {"p99.9", y.P999, false}, {"max", y.Max, false}}
	}
	if m.Lost != nil && m.Count != nil {
		for i, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999}[:max(0, len(all)-1)] {
			all[i].lost = !run.Answered(q, *m.Count, *m.Lost)
		}
	}
	return all
}

// value shows a value of a distribution that is not one of times.
func value(m run.Metric, v float64) string {
	switch m.Unit {
	case "B":
		return Bytes(v)
	case "permille":
		return digits(v/10) + " %"
	}
	return digits(v)
}

// share shows a part of a whole, if it is known.
func share(part *float64) string {
	if part == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", *part*100)
}

func (t *text) errors(r *run.Result) {
	n := t.limit(len(r.Errors), maxErrors)
	var rows [][]cell
	for _, f := range r.Errors[:n] {
		rows = append(rows, cells(failure(f), Count(f.Count)))
	}
	if n < len(r.Errors) {
		more := int64(0)
		for _, f := range r.Errors[n:] {
			more += f.Count
		}
		rows = append(rows, cells(fmt.Sprintf("%d more kinds", len(r.Errors)-n), Count(more)))
	}
	for i := range rows {
		rows[i][1].tone = Bad
	}
	t.table([]string{"Errors", "count"}, rows)
}

// failure says what kind of failure f is.
func failure(f run.Failure) string {
	return strings.TrimPrefix(Safe(f.Source), classPrefix) + " " + Safe(f.Class) + ": " + Safe(f.Text)
}

// maxSampleLines are how many lines of a sample the text shows.
const maxSampleLines = 12

// samples shows how failed exchanges went.
func (t *text) samples(r *run.Result) {
	if len(r.Samples) > 0 {
		t.title("Samples of failures")
	}
	for _, s := range r.Samples {
		t.say("  ", fmt.Sprintf("%s %s, at %s", strings.TrimPrefix(Safe(s.Source), classPrefix), Safe(s.Class), Seconds(s.At)))
		lines := strings.Split(safeLines(s.Text), "\n")
		for i, line := range lines {
			if i == maxSampleLines {
				t.printf("      (%d more lines in the JSON)\n", len(lines)-i)
				break
			}
			t.printf("    %s\n", strings.TrimRight("| "+line, " "))
		}
	}
}

// generator shows what gobench recorded of itself.
func (t *text) generator(r *run.Result) {
	var rows [][]cell
	for _, m := range r.Metrics {
		if own(m) && recorded(m) {
			rows = append(rows, total(m))
		}
	}
	t.table([]string{"Generator", "values", "average", "stdev", "max", "±stdev"}, rows)
}

// about says what was run, where and by what.
func (t *text) about(r *run.Result) {
	t.title("Run")
	field := func(name, format string, args ...any) {
		t.say(fmt.Sprintf("  %-9s ", name), fmt.Sprintf(format, args...))
	}
	if r.Warmup > 0 {
		field("warm-up", "%s of %s, left out of the figures", Seconds(r.Warmup), Seconds(r.Seconds))
	}
	if to := target(r); to != "" {
		field("target", "%s", to)
	}
	classes := r.Config.Classes[:t.limit(len(r.Config.Classes), maxClasses)]
	closed := false
	for _, c := range classes {
		field("load", "%s: %s", Safe(c.Name), load(c))
		closed = closed || c.Closed
	}
	if closed {
		field("", "a closed load: who waits for an answer sends nothing, so queueing can't be seen")
	}
	for _, c := range classes {
		if parts := fate(r, c); parts != "" {
			field("users", "%s: %s", Safe(c.Name), parts)
		}
	}
	if r.Environment.CPUs > 0 {
		field("machine", "%s", machine(r))
	}
	field("gobench", "%s, run %s, seed %d", Safe(r.Gobench), Safe(r.ID), r.Config.Seed)
}

// target is where the load went: a built-in's target, or the scenario.
func target(r *run.Result) string {
	if r.Config.Target != "" {
		return Safe(r.Config.Target)
	}
	return Safe(r.Config.Scenario)
}

// load says how many users a class has and what load they make.
func load(c run.Class) string {
	start := "all started at once"
	if c.Rate > 0 {
		start = fmt.Sprintf("%s started/s (Poisson)", Rate(c.Rate))
	}
	return fmt.Sprintf("%s, %s, %s", people(c.Users), start, Safe(c.Load))
}

// people says how many users there are.
func people(n int64) string {
	if n == 1 {
		return "1 user"
	}
	return Count(n) + " users"
}

func machine(r *run.Result) string {
	e := r.Environment
	return strings.TrimSpace(fmt.Sprintf("%d CPUs %s, %s/%s %s", e.CPUs, Safe(e.CPU), Safe(e.OS), Safe(e.Arch), Safe(e.Kernel)))
}

// fate says what became of the users of a class and of their iterations.
func fate(r *run.Result, c run.Class) string {
	var parts []string
	var planned int64
	for _, m := range r.Metrics {
		name, ok := strings.CutPrefix(m.Title, classPrefix+c.Name+".")
		life := name == "started" || name == "finished"
		if !ok || m.Count == nil || m.Type != "counter" || *m.Count == 0 && !life || life && r.Warmup > 0 {
			continue // users that a warm-up started are not of the rest
		}
		say := func(format string) { parts = append(parts, fmt.Sprintf(format, Count(*m.Count))) }
		switch name {
		case "iterations":
		case "errors":
			say("%s iterations failed")
		case "planned":
			planned = *m.Count
			say("%s starts planned (" + Rate(*m.RPS) + "/s)")
		case "begun":
			if *m.Count < planned {
				say("%s of them begun (" + Rate(*m.RPS) + "/s)")
			}
		case "late":
			say("%s of them late, for want of a free user")
		case "dropped":
			say("%s of them dropped")
		case "cut":
			say("%s more cut short by the run's end")
		default:
			if !strings.Contains(name, ".") { // those of its tasks have rows
				say("%s " + Safe(name))
			}
		}
	}
	return strings.Join(parts, ", ")
}

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
		t.say("  ", Safe(first))
	}
}

// end says where the rest is.
func (t *text) end(r *run.Result) {
	if t.Dir == "" {
		return
	}
	t.printf("\nKept in %s\n", Safe(t.Dir))
	if t.Full {
		return
	}
	var more []string
	if t.more > 0 {
		more = append(more, fmt.Sprintf("%s more rows", Count(int64(t.more))))
	}
	if n := len(r.Samples); n > 0 {
		more = append(more, fmt.Sprintf("samples of failures: %d", n))
	}
	says := ""
	if len(more) > 0 {
		says = " (" + strings.Join(more, ", ") + ")"
	}
	t.printf("Details: gobench show %s --full%s\n", Safe(r.ID), says)
}
