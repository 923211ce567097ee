package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
)

// classPrefix begins the titles of the users' own metrics.
const classPrefix = "vu."

// ownPrefix begins the titles of what the generator says of itself.
const ownPrefix = "gobench."

// Text writes r as a report that fits a screen. Where is the folder it is kept in.
func Text(w io.Writer, r *run.Result, where string) error {
	t := &text{w: w}
	t.verdict(r)
	t.head(r)
	t.users(r)
	t.thresholds(r)
	t.counters(r)
	t.histograms(r)
	t.errors(r)
	t.list("Missing", r.Missing)
	t.list("Notes", r.Notes)
	if where != "" {
		t.printf("\nKept in %s; see it again with: gobench show %s\n", Safe(where), r.ID)
	}
	return t.err
}

// text writes until the first error.
type text struct {
	w   io.Writer
	err error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// meanings are what a verdict tells the reader.
var meanings = map[run.Verdict]string{
	run.Suspect: ": gobench was disturbed, read these numbers with care",
	run.Invalid: ": gobench could not measure rightly, do not believe these numbers",
}

// verdict says first whether the rest can be believed.
func (t *text) verdict(r *run.Result) {
	t.printf("\n")
	if r.Verdict == "" {
		return
	}
	t.printf("%s%s\n", r.Verdict, meanings[r.Verdict])
	for _, x := range r.Reasons {
		when := ""
		switch {
		case x.Windows == 1:
			when = fmt.Sprintf(" (in one interval, at %s)", Seconds(x.Worst))
		case x.Windows > 1:
			when = fmt.Sprintf(" (in %s intervals, the worst at %s)", Count(int64(x.Windows)), Seconds(x.Worst))
		}
		t.printf("  %-5s %s: %s%s\n        %s\n", x.Level, Safe(x.Signal), Safe(x.Text), when, Safe(x.Advice))
	}
}

func (t *text) head(r *run.Result) {
	state := string(r.State)
	if r.Cause != "" {
		state += ": " + Safe(r.Cause)
	}
	whole := "complete"
	if !r.State.Final() {
		whole = "not over yet"
	} else if !r.Complete {
		whole = "INCOMPLETE: see Missing below"
	}
	t.printf("%s: %s after %s, %s\n", Safe(r.Name), state, Seconds(r.Seconds), whole)
	field := func(name, format string, args ...any) { t.printf("  %-9s %s\n", name, fmt.Sprintf(format, args...)) }
	if r.Warmup > 0 {
		field("warm-up", "%s of it, left out of all that follows", Seconds(r.Warmup))
	}
	if r.Config.Target != "" {
		field("target", "%s", Safe(r.Config.Target))
	}
	closed := false
	for _, c := range r.Config.Classes {
		start := "all started at once"
		if c.Rate > 0 {
			start = fmt.Sprintf("%s started/s (Poisson)", Rate(c.Rate))
		}
		field("load", "%s: %s users, %s, %s", Safe(c.Name), Count(c.Users), start, Safe(c.Load))
		closed = closed || c.Closed
	}
	if closed {
		field("", "a closed load: who waits for an answer sends nothing, so queueing can't be seen")
	}
	field("machine", "%d CPUs %s, %s/%s %s", r.Environment.CPUs, Safe(r.Environment.CPU), r.Environment.OS, r.Environment.Arch, Safe(r.Environment.Kernel))
	field("gobench", "%s, run %s, seed %d", r.Gobench, r.ID, r.Config.Seed)
}

// Seconds formats a number of seconds for people.
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Minute {
		return Millis(s * 1e3)
	}
	return d.Round(100 * time.Millisecond).String()
}

// users tells what each class did, a line a class.
func (t *text) users(r *run.Result) {
	for _, c := range r.Config.Classes {
		var parts []string
		var planned int64
		for _, m := range r.Metrics {
			name, ok := strings.CutPrefix(m.Title, classPrefix+c.Name+".")
			life := name == "started" || name == "finished"
			if !ok || m.Count == nil || m.Type != "counter" || *m.Count == 0 && !life || life && r.Warmup > 0 {
				continue // users that a warm-up started are not of the rest
			}
			switch name {
			case "iterations":
				parts = append(parts, fmt.Sprintf("%s iterations (%s/s)", Count(*m.Count), Rate(*m.RPS)))
			case "errors":
				parts = append(parts, fmt.Sprintf("%s of them failed", Count(*m.Count)))
			case "planned":
				planned = *m.Count
				parts = append(parts, fmt.Sprintf("%s starts planned (%s/s)", Count(*m.Count), Rate(*m.RPS)))
			case "begun":
				if *m.Count < planned {
					parts = append(parts, fmt.Sprintf("%s of them begun (%s/s)", Count(*m.Count), Rate(*m.RPS)))
				}
			case "late":
				parts = append(parts, fmt.Sprintf("%s of them late, for want of a free user", Count(*m.Count)))
			case "dropped":
				parts = append(parts, fmt.Sprintf("%s of them dropped", Count(*m.Count)))
			case "cut":
				parts = append(parts, fmt.Sprintf("%s more cut short by the run's end", Count(*m.Count)))
			default:
				parts = append(parts, fmt.Sprintf("%s %s", Count(*m.Count), name))
			}
		}
		if len(parts) > 0 {
			t.printf("  %-9s %s: %s\n", "users", Safe(c.Name), strings.Join(parts, ", "))
		}
	}
}

// own tells the figures that gobench records of itself: the verdict says what
// there is to say of them.
func own(m run.Metric) bool { return strings.HasPrefix(m.Title, ownPrefix) }

// counters shows counters and gauges. Left out are those at 0, but for a group's first,
// and those of a part that say again what stands above for the whole.
func (t *text) counters(r *run.Result) {
	group := ""
	var above []run.Metric // of the group
	var rows [][]string
	for _, m := range r.Metrics {
		if strings.HasPrefix(m.Title, classPrefix) || own(m) || m.Type == "histogram" {
			continue
		}
		first := m.Group != group
		if group = m.Group; first {
			above = nil
		}
		if repeats(m, above) {
			continue
		}
		above = append(above, m)
		switch {
		case m.Count != nil && (*m.Count != 0 || first):
			total, rate := Count(*m.Count), Rate
			if m.Unit == "B" {
				total, rate = Bytes(float64(*m.Count)), Bytes
			}
			row := []string{Safe(m.Title), total, rate(*m.RPS)}
			if x := m.Spread; x != nil && *m.Count != 0 {
				row = append(row, rate(x.Stdev), rate(x.Max), share(x.Within))
			}
			rows = append(rows, row)
		case m.Value != nil && *m.Value != 0:
			rows = append(rows, []string{Safe(m.Title), Count(*m.Value), ""})
		}
	}
	t.table([]string{"Counts", "total", "per second", "stdev", "max", "±stdev"}, rows)
}

// quantiles are those of the columns of distributions; 0: a column is none.
var quantiles = []float64{0, 0, 0.5, 0.9, 0.95, 0.99, 0.999, 0}

// repeats reports whether m counted, in the whole run and in each second, what a metric
// above did whose title has fewer parts: as when all of a client's answers have one
// status, or all of its requests go to one address.
func repeats(m run.Metric, above []run.Metric) bool {
	if m.Count == nil || m.Spread == nil {
		return false
	}
	return slices.ContainsFunc(above, func(a run.Metric) bool {
		return a.Count != nil && *a.Count == *m.Count && a.Spread != nil && *a.Spread == *m.Spread && a.Unit == m.Unit &&
			strings.Count(a.Title, ".") < strings.Count(m.Title, ".")
	})
}

// histograms shows the distributions; a percentile that lies among the operations
// without an answer has no time. Under a closed load, response time is service
// time and is not shown again.
func (t *text) histograms(r *run.Result) {
	var rows [][]string
	closed := map[string]bool{}
	for _, c := range r.Config.Classes {
		closed[classPrefix+c.Name+".response"] = c.Closed
	}
	for _, m := range r.Metrics {
		if m.Type != "histogram" || own(m) || m.Count == nil || *m.Count == 0 || closed[m.Title] {
			continue
		}
		row := []string{Title(m.Title), Count(*m.Count)}
		if x := m.Times; x != nil {
			for i, v := range []float64{x.Avg, x.Stdev, x.P50, x.P90, x.P95, x.P99, x.P999, x.Max} {
				if q := quantiles[i]; q > 0 && m.Lost != nil && !run.Answered(q, *m.Count, *m.Lost) {
					row = append(row, "no answer")
				} else {
					row = append(row, Millis(v))
				}
			}
			row = append(row, share(x.Within))
		} else if x := m.Sizes; x != nil {
			for _, v := range []float64{x.Avg, x.Stdev, x.P50, x.P90, x.P95, x.P99, x.P999, x.Max} {
				if m.Unit == "B" {
					row = append(row, Bytes(v))
				} else {
					row = append(row, digits(v))
				}
			}
			row = append(row, share(x.Within))
		}
		rows = append(rows, row)
	}
	t.table([]string{"Distributions", "count", "avg", "stdev", "p50", "p90", "p95", "p99", "p99.9", "max", "±stdev"}, rows)
}

// share shows which part of the values lies within a standard deviation.
func share(within float64) string { return fmt.Sprintf("%.0f %%", within*100) }

// maxErrors is how many kinds of failure the text shows.
const maxErrors = 10

func (t *text) errors(r *run.Result) {
	var rows [][]string
	more := int64(0)
	for i, f := range r.Errors {
		if i >= maxErrors {
			more += f.Count
			continue
		}
		source := strings.TrimPrefix(Safe(f.Source), classPrefix)
		rows = append(rows, []string{"  " + source + " " + Safe(f.Class) + ": " + shorten(Safe(f.Text), 100), Count(f.Count)})
	}
	if more > 0 {
		rows = append(rows, []string{fmt.Sprintf("  %d more kinds, all in the JSON report (-o FILE.json)", len(r.Errors)-maxErrors), Count(more)})
	}
	for i := range rows {
		rows[i][0] = strings.TrimPrefix(rows[i][0], "  ")
	}
	t.table([]string{"Errors", "count"}, rows)
}

func (t *text) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	t.printf("\n%s\n", title)
	for _, s := range items {
		first, _, more := strings.Cut(s, "\n")
		if more {
			first += " ..."
		}
		t.printf("  %s\n", Safe(first))
	}
}

// table prints rows under a head: the first column left, the others right.
func (t *text) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	t.printf("\n")
	for n, row := range append([][]string{head}, rows...) {
		indent := "  "
		if n == 0 {
			indent = ""
		}
		line := indent + row[0] + strings.Repeat(" ", 2-len(indent)+width[0]-utf8.RuneCountInString(row[0]))
		for i, cell := range row[1:] {
			line += strings.Repeat(" ", 2+width[i+1]-utf8.RuneCountInString(cell)) + cell
		}
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}
