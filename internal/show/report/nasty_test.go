package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// nasty are texts from outside that have a meaning for the programs that read reports.
var nasty = []string{
	"\x1b[2J\x1b]0;owned\x07", "a\r\nb\nc", "\u009b31m", "\u202egnp.exe", "\x00\x01\x7f", "\xff\xfe", "\ufffe\uffff", "bell\a\b",
	"=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=HYPERLINK(\"http://x\",\"y\")", "\"=1\",=2",
	"]]>", "<script>alert(1)</script>", "&lt;&#0;&bogus;", "'\"><b x='", "<!--", "--><!DOCTYPE x>",
	"`a` | b", "| a |\n| - |", "![x](http://x)", "[x](javascript:alert(1))", "**a** _b_ ~~c~~ # d", "@somebody #1 http://x", "``` \n# x", "a\\", "\\|", "$x$", "</details><img src=x onerror=alert(1)>",
	"", " ", strings.Repeat("long", 100),
}

// stained is a result with text from outside wherever possible.
func stained(s string) *run.Result {
	r := checked()
	r.Name, r.Cause, r.ID, r.Gobench = s, s, s, s
	r.Missing, r.Notes = []string{s}, []string{s}
	r.Reasons = []run.Reason{{Signal: s, Level: run.Amber, Text: s, Advice: s, Windows: 1}}
	r.Config.Scenario, r.Config.Target, r.Config.Executor = s, s, s
	r.Config.Parameters, r.Config.Options = map[string]string{s: s}, map[string]string{s: s}
	r.Config.Classes = []run.Class{{Name: s, Users: 1, Load: s}}
	r.Environment = run.Environment{Host: s, OS: s, Arch: s, Kernel: s, CPU: s, CPUs: 1}
	r.Thresholds = []run.Threshold{{Expression: s, Value: s, Reason: s}, {Expression: s, OK: true, Value: s}}
	r.Errors = []run.Failure{{Source: s, Class: s, Text: s, Count: 1}}
	r.Samples = []run.Sample{{Source: s, Class: s, Text: s}}
	r.Metrics = append(r.Metrics,
		run.Metric{Title: s, Type: "counter", Group: s, Graph: s, Unit: s, Record: run.Record{Count: p(int64(1)), RPS: p(1.0)}},
		run.Metric{Title: s + ".took", Type: "histogram", Group: s, Graph: s, Unit: s, Record: run.Record{Count: p(int64(1)), RPS: p(1.0), Sizes: &run.Sizes{P50: 1}}},
		run.Metric{Title: "check." + s + ".passed", Type: "counter", Group: "Checks", Counts: run.Counts{Role: run.CheckPassed, Of: s}, Record: run.Record{Count: p(int64(1)), RPS: p(1.0)}})
	return r
}

func TestNastyTextIsText(t *testing.T) {
	for _, s := range nasty {
		r := stained(s)
		each := func(yield func(run.Interval) error) error {
			return yield(run.Interval{Seconds: 1, Metrics: map[string]run.Record{s: r.Metrics[0].Record, s + ".took": r.Metrics[len(r.Metrics)-2].Record}})
		}
		written := map[string]string{}
		for _, f := range Formats {
			var b bytes.Buffer
			if err := f.Write(&b, r, each); err != nil {
				t.Fatalf("%q as %s: %v", s, f.Ending, err)
			}
			written[f.Ending] = b.String()
		}
		var text, compared bytes.Buffer
		if err := errors.Join(Text(&text, r, Screen{Full: true, Dir: s}), Compare(r, full()).Text(&compared, Style{})); err != nil {
			t.Fatal(err)
		}
		written["text"], written["comparison"] = text.String(), compared.String()
		for name, got := range written {
			if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 && name != ".json" && name != ".html" || !utf8.ValidString(got) {
				t.Errorf("%q as %s: there is a character that does not print: %q", s, name, got[max(0, i-20):min(len(got), i+20)])
			}
		}
		if i := strings.IndexFunc(written[".json"], func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f && s != "\x00\x01\x7f" }); i >= 0 {
			t.Errorf("%q as JSON: a control character at %d", s, i)
		}
		if !json.Valid([]byte(written[".json"])) {
			t.Errorf("%q as JSON is none", s)
		}
		nastyCSV(t, s, written[".csv"])
		nastyXML(t, s, written[".xml"])
		nastyMarkdown(t, s, written[".md"])
	}
}

// No cell begins a formula, and no text breaks a row.
func nastyCSV(t *testing.T, s, got string) {
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 1+len(facts(stained(s)))+2 {
		t.Fatalf("%q as CSV: %d rows, %v\n%s", s, len(rows), err, got)
	}
	for _, row := range rows {
		for _, c := range row {
			if _, err := strconv.ParseFloat(c, 64); err != nil && strings.ContainsAny(strings.TrimSpace(c)[:min(1, len(strings.TrimSpace(c)))], "=+-@\t\r") {
				t.Errorf("%q as CSV: the cell %q is a formula", s, c)
			}
		}
	}
}

// The elements are those of a suite, whatever texts contain, and texts are the output of
// Safe.
func nastyXML(t *testing.T, s, got string) {
	t.Helper()
	suite := readJUnit(t, []byte(got))
	if suite.Name != "gobench "+units.Safe(s) || suite.Cases[2].Name != units.Safe(s) {
		t.Errorf("%q as XML: %q, %q", s, suite.Name, suite.Cases[2].Name)
	}
}

// Outside of code there is only our own text, so nothing of s is markup.
func nastyMarkdown(t *testing.T, s, got string) {
	rest := regexp.MustCompile("`[^`|\n]*`|<code>[^<>`|\n]*</code>").ReplaceAllString(got, "C")
	for _, line := range strings.Split(rest, "\n") {
		if strings.ContainsAny(line, "<>`[]\\@$~_") && !strings.HasPrefix(line, "| --- ") {
			t.Errorf("%q as Markdown: %q", s, line)
		}
	}
	columns := 0
	for _, line := range strings.Split(rest, "\n") {
		switch n := strings.Count(line, "|"); {
		case n == 0:
			columns = 0
		case columns != 0 && n != columns:
			t.Errorf("%q as Markdown: a row has %d bars, its table %d: %q", s, n, columns, line)
		default:
			columns = n
		}
	}
}
