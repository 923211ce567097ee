package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// comparisonFormat names the JSON format of a comparison: docs/reports.md.
const comparisonFormat = "gobench.comparison/1"

// Comparison compares two runs.
type Comparison struct {
	Format      string       `json:"format"`
	A           Compared     `json:"a"`
	B           Compared     `json:"b"`
	Alike       bool         `json:"alike"` // there are no Differences
	Differences []Difference `json:"differences"`
	Figures     []Figure     `json:"figures"`
	EqualRuns   int          `json:"equal_runs,omitempty"` // how many runs Equal of the figures is from
}

// Compared is one of the two runs.
type Compared struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	State   run.State   `json:"state"`
	Verdict run.Verdict `json:"verdict,omitempty"`
	Created time.Time   `json:"created"`
	Seconds float64     `json:"seconds"`
	Result  string      `json:"result_format"`

	Thresholds int `json:"thresholds"`
	Crossed    int `json:"thresholds_crossed"`
}

// Difference is a difference of the runs other than the target's behaviour.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Figure is the values of both runs for a metric. A value is nil if a run has no such
// metric, or no answer at that percentile.
type Figure struct {
	Metric string   `json:"metric"`
	name   string   // of the metric, for people
	word   string   // for a percentile without an answer
	Figure string   `json:"figure"` // rps, rate (share of a check's calls that passed), p50, p90, p99, max
	Unit   string   `json:"unit"`   // of A and B: ms, B, % ...
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
	Change *float64 `json:"change_percent"`               // from A to B; nil if undefined
	Equal  *float64 `json:"equal_runs_percent,omitempty"` // by how much two runs that are equal to A differ, in 95 of 100 cases; nil if unknown

	Meaning string `json:"other_meaning,omitempty"` // how it differs, if the results have different formats

	LostA bool `json:"a_no_answer,omitempty"` // the percentile lies among operations without an answer
	LostB bool `json:"b_no_answer,omitempty"`
}

// Compare returns the comparison of b with a: the figures of the metrics that a report of
// either shows, without secondary distributions, of all checks, and the rate of errors. It
// does not change them.
func Compare(a, b *run.Result) *Comparison {
	c := &Comparison{Format: comparisonFormat, A: compared(a), B: compared(b), Differences: append(differences(a, b), generators(a, b)...), Figures: []Figure{}}
	c.Alike = len(c.Differences) == 0
	titles, known := []string{}, map[string]bool{}
	for _, r := range []*run.Result{a, b} {
		metrics, _ := shown(r, false)
		for _, m := range metrics {
			if !known[m.Title] && !aside(m) {
				known[m.Title] = true
				titles = append(titles, m.Title)
			}
		}
	}
	for _, title := range titles {
		c.metric(byTitle(a, title), byTitle(b, title))
	}
	of := func(r *run.Result, name string) *float64 {
		for _, k := range checks(r) {
			if k.name == name {
				percent := k.rate() * 100
				return &percent
			}
		}
		return nil
	}
	for _, k := range append(checks(a), checks(b)...) {
		if title := "check." + k.name; !known[title] {
			known[title] = true
			c.add(run.Metric{Title: title, Unit: "%"}, "rate", of(a, k.name), of(b, k.name))
		}
	}
	c.add(run.Metric{Title: "errors"}, "rps", failing(a), failing(b))
	c.meanings(a, b)
	return c
}

func compared(r *run.Result) Compared {
	return Compared{r.ID, r.Name, r.State, r.Verdict, r.Created, r.Seconds, r.Format, len(r.Thresholds), crossed(r)}
}

// failing returns the rate of what failed within the measured time: of operations or, without a
// client, of iterations; nil if there was no such time.
func failing(r *run.Result) *float64 {
	if r.Measured <= 0 {
		return nil
	}
	roles := []run.Role{run.ClassFailed, run.ClassCut}
	if r.Outcome().Clients() {
		roles = []run.Role{run.OpFailed, run.OpUnanswered}
	}
	sum := 0.0
	for _, role := range roles {
		rate, _ := rateOf(r, role)
		sum += rate
	}
	return &sum
}

// byTitle returns the metric of a title; a zero Metric if r has none.
func byTitle(r *run.Result, title string) run.Metric {
	for _, m := range r.Metrics {
		if m.Title == title {
			return m
		}
	}
	return run.Metric{}
}

// metric adds the figures of a metric that at least one run has; the other may be a zero
// Metric. Gauges have no figures.
func (c *Comparison) metric(a, b run.Metric) {
	m := a
	if m.Title == "" {
		m = b
	}
	switch m.Type {
	case run.Counter:
		c.add(m, "rps", a.RPS, b.RPS)
	case run.Histogram:
		if m.Unit == "ns" {
			m.Unit = "ms"
		}
		for _, name := range []string{"p50", "p90", "p99", "max"} {
			x, lostX := quantileOf(a, name)
			y, lostY := quantileOf(b, name)
			f := c.add(m, name, x, y)
			f.LostA, f.LostB = lostX, lostY
		}
	case run.Gauge: // comparing its last value would mean nothing
	}
}

// quantileOf returns the value of a percentile, or of "max", in ms if m is of times; nil if
// m has none, or too few values for it. lost reports that it lies among operations without an answer.
func quantileOf(m run.Metric, name string) (v *float64, lost bool) {
	for _, q := range quantiles(m) {
		if q.name == name {
			if q.lost || q.few {
				return nil, q.lost
			}
			return &q.value, false
		}
	}
	return nil, false
}

// add adds a figure of m, in m's unit, and returns it, to be completed before the next add. Its
// Change is nil if a value is nil, or if only a is 0.
func (c *Comparison) add(m run.Metric, figure string, a, b *float64) *Figure {
	f := Figure{Metric: m.Title, name: Title(m), word: lostWord(m), Figure: figure, Unit: m.Unit, A: a, B: b}
	if a != nil && b != nil && (*a != 0 || *b == 0) {
		change := 0.0
		if *a != 0 {
			change = (*b - *a) / *a * 100
		}
		f.Change = &change
	}
	c.Figures = append(c.Figures, f)
	return &c.Figures[len(c.Figures)-1]
}

// differences returns what was not the same for both runs; empty, not nil, if all was. The
// texts are safe for a terminal.
func differences(a, b *run.Result) []Difference {
	all := []Difference{}
	differ := func(what string, of func(*run.Result) string) {
		if x, y := of(a), of(b); x != y {
			all = append(all, Difference{what, orNone(x), orNone(y)})
		}
	}
	differ("target", target)
	differ("concurrency", func(r *run.Result) string { return people(users(r)) })
	differ("load model", loads)
	if a.Config.Duration > 0 && b.Config.Duration > 0 || loads(a) == loads(b) { // else the load model of one has its duration
		differ("duration asked for", func(r *run.Result) string { return (time.Duration(r.Config.Duration * float64(time.Second))).String() })
	}
	differ("warm-up", func(r *run.Result) string { return units.Seconds(r.Warmup) })
	differ("end", ending)
	differ("format of the result", func(r *run.Result) string { return r.Format })
	differ("gobench version", func(r *run.Result) string { return units.Safe(r.Gobench) })
	differ("machine", func(r *run.Result) string {
		return strings.TrimSpace(units.Safe(r.Environment.Host) + " " + machine(r))
	})
	differ("compiled scenario", func(r *run.Result) string { return units.Safe(r.Config.Executor) })
	differ("parameters", func(r *run.Result) string { return settings(r.Config.Parameters) })
	differ("options", func(r *run.Result) string { return settings(r.Config.Options) })
	return all
}

// orNone returns s, or "none" if it is empty.
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// settings returns "name=value" of each, sorted by name, with blanks between.
func settings(m map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, units.Safe(name)+"="+units.Safe(m[name]))
	}
	return strings.Join(all, " ")
}

// JSON writes c as one indented JSON document, in one call of w.Write, whose error it
// returns.
func (c *Comparison) JSON(w io.Writer) error { return indented(w, c) }

// indented writes v as one indented JSON document, in one call of w.Write.
func indented(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Text writes c as text, for people: whether the runs can be compared, then the figures. It
// returns the first error of w.
func (c *Comparison) Text(w io.Writer, s Style) error {
	t := &text{Screen: Screen{Style: s}, w: w}
	t.printf("\n")
	for _, x := range []struct {
		name string
		Compared
	}{{"A", c.A}, {"B", c.B}} {
		says := fmt.Sprintf("%s, run %s of %s: %s after %s", units.Safe(x.Name), units.Safe(x.ID), x.Created.UTC().Format(time.DateTime), x.State, units.Seconds(x.Seconds))
		if x.Verdict != "" {
			says += ", " + string(x.Verdict)
		}
		if x.Thresholds > 0 {
			says += fmt.Sprintf(", %d of %d thresholds crossed", x.Crossed, x.Thresholds)
		}
		t.say(x.name+"  ", says)
		if x.Verdict != run.Valid && x.Verdict != "" {
			t.say("   ", x.name+" is "+string(x.Verdict)+": "+meanings[x.Verdict])
		}
	}
	t.printf("\n")
	if c.Alike {
		t.say("", "Alike: target, concurrency, load model, duration, version and machine were the same.")
	} else {
		var what []string
		width := 0
		for _, d := range c.Differences {
			what = append(what, d.What)
			width = max(width, length(d.What))
		}
		t.say("", "NOT ALIKE: the runs differ in "+strings.Join(what, ", ")+"; what changed below may come from that.")
		for _, d := range c.Differences {
			t.say(fmt.Sprintf("  %-*s  A  ", width, d.What), d.A)
			t.say(fmt.Sprintf("  %-*s  B  ", width, ""), d.B)
		}
	}
	var rows [][]cell
	for _, f := range c.Figures {
		name := f.name
		if f.Figure != "rps" {
			name += " " + f.Figure
		}
		mark := ""
		if f.Meaning != "" {
			mark = fmt.Sprintf(" %c", 'a'+slices.Index(changes, f.Meaning))
		}
		row := cells(name, f.show(f.A, f.LostA), f.show(f.B, f.LostB), f.changed()+mark)
		if c.EqualRuns > 0 {
			equal := ""
			if f.Equal != nil {
				equal = "up to " + strconv.FormatFloat(*f.Equal, 'f', 0, 64) + " %"
				if *f.Equal > 100 {
					equal = "over 100 %"
				}
			}
			row = append(row, cell{text: equal})
		}
		rows = append(rows, row)
	}
	heads := []string{"Figures", "A", "B", "change", "equal runs"}
	if c.EqualRuns == 0 {
		heads = heads[:4]
	}
	t.table(heads, rows)
	t.printf("\n")
	for i, meaning := range changes {
		if slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Meaning == meaning }) {
			t.say(fmt.Sprintf("%c  ", 'a'+i), meaning)
		}
	}
	t.say("", "One run of each does not separate a change from what the machine does by itself between runs, which is not in the data: make several of each, in turn.")
	if c.EqualRuns > 0 {
		t.say("", fmt.Sprintf("In the last column is by how much two equal runs differ here, in 95 of 100 cases, by the %d runs in the history that are equal to A.", c.EqualRuns))
	}
	return t.err
}

// show formats one of the values with its unit: "-" for nil, "no answer", "not done" or "failed" if lost.
func (f Figure) show(v *float64, lost bool) string {
	switch {
	case lost:
		return f.word
	case v == nil:
		return "-"
	case f.Figure == "rps" && f.Unit == "B":
		return units.Bytes(*v) + "/s"
	case f.Figure == "rps":
		return units.Rate(*v) + "/s"
	case f.Unit == "ms":
		return units.Millis(*v)
	case f.Unit == "%":
		return exactShare(*v / 100)
	}
	return value(run.Metric{Unit: f.Unit}, *v)
}

// changed formats the change with its sign and one decimal, "+1.5 %"; 0 is "0.0 %", and it is
// "-" if undefined.
func (f Figure) changed() string {
	if f.Change == nil {
		return "-"
	}
	s := strconv.FormatFloat(*f.Change, 'f', 1, 64)
	if *f.Change > 0 {
		s = "+" + s
	}
	return s + " %"
}
