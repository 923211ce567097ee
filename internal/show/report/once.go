package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Once writes the rest of the report on a run of one iteration, after its exchanges have
// been shown: checks, steps, what was recorded and what failed. It calls w.Write once and
// returns its error.
func Once(w io.Writer, r *run.Result) error {
	o := &once{r: r}
	o.line("\n%s: %s after %s", units.Safe(r.Name), state(r), units.Seconds(r.Seconds))
	if r.Config.Target != "" {
		o.line("  target  %s", units.Safe(r.Config.Target))
	}
	o.checks()
	o.steps()
	o.recorded()
	var rows [][2]string
	for _, f := range r.Errors {
		rows = append(rows, [2]string{units.Safe(run.SourceName(f.Source)) + " " + units.Safe(f.Class) + ": " + units.Safe(f.Text), units.Count(f.Count)})
	}
	o.section("Errors", rows)
	rows = nil
	for _, t := range r.Thresholds {
		met := "met"
		if t.Undecided {
			met = "not decided"
		} else if !t.OK {
			met = "crossed"
		}
		rows = append(rows, [2]string{units.Safe(t.Expression), met})
	}
	o.section("Thresholds", rows)
	o.list("Missing", r.Missing)
	o.list("Notes", r.Notes)
	_, err := io.WriteString(w, o.b.String())
	return err
}

// state returns a run's state and its cause, as ending does.
func state(r *run.Result) string {
	if r.Cause != "" {
		return string(r.State) + ": " + units.Safe(r.Cause)
	}
	return string(r.State)
}

// once writes the text of a run of one iteration.
type once struct {
	r *run.Result
	b strings.Builder
}

func (o *once) line(format string, args ...any) { fmt.Fprintf(&o.b, format+"\n", args...) }

// section writes rows of two columns under a title, if there are any.
func (o *once) section(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, row := range rows {
		width = max(width, min(utf8.RuneCountInString(row[0]), 60))
	}
	o.line("\n%s", title)
	for _, row := range rows {
		o.line("  %s%s  %s", row[0], strings.Repeat(" ", max(0, width-utf8.RuneCountInString(row[0]))), row[1])
	}
}

// list writes items, each line of them in a line, under a title, if there are any.
func (o *once) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	o.line("\n%s", title)
	for _, s := range items {
		for line := range strings.Lines(s) {
			o.line("  %s", units.Safe(strings.TrimRight(line, "\n")))
		}
	}
}

// checks lists the checks and whether all their calls passed.
func (o *once) checks() {
	var rows [][2]string
	for _, c := range checks(o.r) {
		name, good, bad := c.name, c.passed, c.failed
		said := "passed"
		if bad > 0 {
			said = "FAILED"
		}
		if good+bad != 1 {
			said += fmt.Sprintf("  (%s passed, %s failed)", units.Count(good), units.Count(bad))
		}
		rows = append(rows, [2]string{units.Safe(name), said})
	}
	o.section("Checks", rows)
}

// steps lists the steps, how long they took and how often they failed.
func (o *once) steps() {
	var rows [][2]string
	for _, m := range o.r.Metrics {
		if m.Role != run.StepTime {
			continue
		}
		var said []string
		if count(m) > 0 {
			said = append(said, figure(m))
		}
		if failed := run.Find(o.r.Metrics, m.As(run.StepFailed)); failed != nil && count(*failed) > 0 {
			said = append(said, "FAILED "+often(count(*failed)))
		}
		rows = append(rows, [2]string{units.Safe(m.Of), strings.Join(said, ", ")})
	}
	o.section("Steps", rows)
}

// recorded lists what clients and the scenario itself have recorded; metrics that recorded
// nothing are left out.
func (o *once) recorded() {
	var rows [][2]string
	for _, m := range o.r.Metrics {
		if own(m) || m.Role.Companion() || m.Role.OfClass() || ofCheck(m) || m.Role == run.StepTime || m.Role == run.StepFailed {
			continue
		}
		if count(m) == 0 && (m.Value == nil || *m.Value == 0) {
			continue
		}
		rows = append(rows, [2]string{units.Safe(m.Title), figure(m)})
	}
	o.section("Recorded", rows)
}

// count returns m's count; 0 if it has none.
func count(m run.Metric) int64 {
	if m.Count == nil {
		return 0
	}
	return *m.Count
}

// figure formats what a metric recorded: a count, one value, or the range of several and their
// number, "1.20 ms to 3.40 ms, 5 times". Sizes have no unit.
func figure(m run.Metric) string {
	switch {
	case m.Value != nil:
		return units.Count(*m.Value)
	case m.Times != nil && count(m) == 1:
		return units.Millis(m.Times.Avg)
	case m.Times != nil:
		return fmt.Sprintf("%s to %s, %s", units.Millis(m.Times.Min), units.Millis(m.Times.Max), often(count(m)))
	case m.Sizes != nil && count(m) == 1:
		return units.Digits(m.Sizes.Avg)
	case m.Sizes != nil:
		return fmt.Sprintf("%s to %s, %s", units.Digits(m.Sizes.Min), units.Digits(m.Sizes.Max), often(count(m)))
	case m.Unit == "B":
		return units.Bytes(float64(count(m)))
	}
	return units.Count(count(m))
}

// often returns "once" or "n times".
func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return units.Count(n) + " times"
}
