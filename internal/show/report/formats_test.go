package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// golden compares output with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s changed; if that is meant, run with -update:\n%s", name, got)
	}
}

// checked is full with checks, samples and failing thresholds on checks.
func checked() *run.Result {
	r := full()
	counter := func(title string, n int64) run.Metric {
		return run.Metric{Title: title, Type: "counter", Group: "Checks", Graph: title, Unit: "N", Record: run.Record{Count: p(n), RPS: p(float64(n) / 10)}}
	}
	r.Metrics = append(r.Metrics, counter("check.has a body.passed", 990), counter("check.has a body.failed", 10), counter("check.is quick.passed", 999),
		counter("check.is quick.failed", 1), counter("check.never called.passed", 0), counter("check.never called.failed", 0))
	r.Thresholds = append(r.Thresholds, run.Threshold{Expression: `check "has a body" rate > 98%`, OK: true, Value: "99%"})
	r.Samples = []run.Sample{{Source: "home", Class: "refused", At: 1.25, Text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n\x1b[31mconnection refused after 1 ms\n" + strings.Repeat("line\n", 20)}}
	return r
}

// seriesOf yields two intervals, the first a warm-up.
func seriesOf(yield func(run.Interval) error) error {
	r := checked()
	for n := range 2 {
		i := run.Interval{Start: r.Start.Add(time.Duration(n) * time.Second), From: float64(n), Seconds: 1, Warmup: n == 0, Errors: int64(n), Metrics: map[string]run.Record{}}
		for _, m := range r.Metrics {
			i.Metrics[m.Title] = m.Record
		}
		if err := yield(i); err != nil {
			return err
		}
	}
	return nil
}

func TestFormatsOfFiles(t *testing.T) {
	for _, f := range Formats[:len(Formats)-1] { // the page is shown to a browser: ui/
		t.Run(f.Ending, func(t *testing.T) {
			var b bytes.Buffer
			if err := f.Write(&b, checked(), seriesOf); err != nil {
				t.Fatal(err)
			}
			golden(t, "report"+f.Ending, b.Bytes())
		})
	}
	for name, want := range map[string]string{"a.json": ".json", "B.CSV": ".csv", "-.xml": ".xml", "a.b.md": ".md", "json": "", "a.txt": "", "": ""} {
		if f, ok := FormatOf(name); f.Ending != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %v, want %q", name, f.Ending, ok, want)
		}
	}
}

// The error of a failing writer or series is returned.
func TestFormatsTellFailures(t *testing.T) {
	broken := errors.New("no series")
	for _, f := range Formats {
		if err := f.Write(failing2{}, checked(), seriesOf); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s on a full disk: %v", f.Ending, err)
		}
		withSeries := f.Ending == ".json" || f.Ending == ".csv" || f.Ending == ".html"
		if err := f.Write(io.Discard, checked(), func(func(run.Interval) error) error { return broken }); errors.Is(err, broken) != withSeries {
			t.Errorf("%s without a series: %v", f.Ending, err)
		}
	}
}

type failing2 struct{}

func (failing2) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// Every format states what a reader has to know of the run.
func TestFormatsSayWhatWasRun(t *testing.T) {
	write := map[string]func(io.Writer, *run.Result) error{"text": func(w io.Writer, r *run.Result) error { return Text(w, r, Screen{}) }}
	for _, f := range Formats {
		write[f.Ending] = func(w io.Writer, r *run.Result) error { return f.Write(w, r, seriesOf) }
	}
	r := checked()
	r.Config.Target = "GET http://localhost/"
	for name, write := range write {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		for what, want := range map[string]string{"concurrency": "1,?200", "load model": "loop for 10s", "duration": "12.5", "target": "GET http://localhost/", "version": "0.1.0", "verdict": "SUSPECT"} {
			if !regexp.MustCompile(want).Match(b.Bytes()) {
				t.Errorf("%s does not tell %s (%s)", name, what, want)
			}
		}
	}
}

// A page of text fits the screen that it is for.
func TestTextFitsTheScreen(t *testing.T) {
	many := checked()
	for i := range 50 {
		title := fmt.Sprintf("shop.%d", i)
		many.Metrics = append(many.Metrics,
			run.Metric{Title: title + ".done", Type: "counter", Group: title, Unit: "N", Record: run.Record{Count: p(int64(i + 1)), RPS: p(1.0)}},
			run.Metric{Title: title + ".took", Type: "histogram", Group: title, Unit: "ns", Record: run.Record{Count: p(int64(i + 1)), RPS: p(1.0), Times: &run.Times{P50: 1}}})
		many.Metrics = append(many.Metrics, run.Metric{Title: fmt.Sprintf("check.%d.passed", i), Type: "counter", Group: "Checks", Record: run.Record{Count: p(int64(1)), RPS: p(1.0)}})
		many.Config.Classes = append(many.Config.Classes, run.Class{Name: title, Users: 1, Load: "once a user"})
		many.Errors = append(many.Errors, run.Failure{Source: title, Class: "timeout", Text: strings.Repeat("no answer ", 30), Count: 1})
		many.Notes = append(many.Notes, strings.Repeat("note ", 10))
	}
	for _, tt := range []struct {
		name          string
		r             *run.Result
		screen        Screen
		width, height int
	}{
		{"80", full(), Screen{Style: Style{Width: 80}}, 80, 50},
		{"120 with checks", checked(), Screen{Style: Style{Width: 120}}, 120, 52},
		{"wide", full(), Screen{Style: Style{Width: 200}}, 200, 46},
		{"narrow", checked(), Screen{Style: Style{Width: 50}}, 50, 90},
		{"too many of everything", many, Screen{Style: Style{Width: 120}}, 120, 80},
	} {
		var b bytes.Buffer
		if err := Text(&b, tt.r, tt.screen); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) > tt.height {
			t.Errorf("%s: %d lines, want at most %d:\n%s", tt.name, len(lines), tt.height, b.String())
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > tt.width {
				t.Errorf("%s: a line of %d: %q", tt.name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// Looks add nothing to the words: without its sequences a page in colour equals the page
// without colour.
func TestTextInColour(t *testing.T) {
	var plain, coloured bytes.Buffer
	r := checked()
	for w, s := range map[*bytes.Buffer]Screen{&plain: {Style: Style{Width: 80}, Full: true, Dir: "/runs/x"}, &coloured: {Style: Style{Width: 80, Color: true}, Full: true, Dir: "/runs/x"}} {
		if err := Text(w, r, s); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "full-80.golden", plain.Bytes())
	golden(t, "full-80-colour.golden", coloured.Bytes())
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAll(coloured.Bytes(), nil); !bytes.Equal(got, plain.Bytes()) {
		t.Errorf("without its looks:\n%s", got)
	}
	for _, want := range []string{"\x1b[33mSUSPECT\x1b[0m:", "\x1b[31mCROSSED\x1b[0m", "\x1b[32mok\x1b[0m", "\x1b[1mThresholds"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
}

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
		run.Metric{Title: "check." + s + ".passed", Type: "counter", Group: "Checks", Record: run.Record{Count: p(int64(1)), RPS: p(1.0)}})
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

// junitShape is what the readers of Jenkins and GitLab, and the schema of Jenkins' xUnit
// plugin, allow of the elements that we write: parents, in order, and attributes, the
// required ones with !.
var junitShape = map[string]struct {
	children   []string
	attributes string
}{
	"testsuites": {[]string{"testsuite"}, "name tests failures errors time"},
	"testsuite":  {[]string{"properties", "testcase", "system-out"}, "name! tests! failures errors! skipped time timestamp hostname"},
	"properties": {[]string{"property"}, ""},
	"property":   {nil, "name! value!"},
	"testcase":   {[]string{"error", "failure", "system-out"}, "name! classname time"},
	"error":      {nil, "message type"},
	"failure":    {nil, "message type"},
	"system-out": {nil, ""},
}

// readJUnit reads a suite and checks its elements against junitShape and its numbers
// against its cases.
func readJUnit(t *testing.T, b []byte) junitSuite {
	t.Helper()
	in := xml.NewDecoder(bytes.NewReader(b))
	var open []string
	last := map[int]int{}
	for {
		token, err := in.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			if len(open) > 0 {
				at := slices.Index(junitShape[open[len(open)-1]].children, name)
				if at < last[len(open)] {
					t.Errorf("%s in %v has no place there", name, open)
				}
				last[len(open)] = at
			}
			allowed := strings.Fields(junitShape[name].attributes)
			for _, a := range x.Attr {
				i := slices.IndexFunc(allowed, func(s string) bool { return strings.TrimSuffix(s, "!") == a.Name.Local })
				if i < 0 {
					t.Errorf("%s has no attribute %s", name, a.Name.Local)
					continue
				}
				allowed = slices.Delete(allowed, i, i+1)
			}
			if left := slices.IndexFunc(allowed, func(s string) bool { return strings.HasSuffix(s, "!") }); left >= 0 {
				t.Errorf("%s lacks its attribute %s", name, allowed[left])
			}
			open = append(open, name)
			last[len(open)] = 0
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.Directive, xml.Comment:
			t.Errorf("there is %T", x)
		}
	}
	var all junitSuites
	if err := xml.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	s, failures, errs := all.Suite, 0, 0
	for _, c := range s.Cases {
		if c.Failure != nil {
			failures++
		}
		if c.Error != nil {
			errs++
		}
	}
	if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errs || all.Tests != s.Tests || all.Failures != s.Failures || all.Errors != s.Errors {
		t.Errorf("%d tests, %d failures, %d errors; counted %d, %d, %d", s.Tests, s.Failures, s.Errors, len(s.Cases), failures, errs)
	}
	if s.Timestamp != "" {
		if _, err := time.Parse("2006-01-02T15:04:05", s.Timestamp); err != nil {
			t.Error(err)
		}
	}
	return s
}

func TestJUnitFailsWhatFailed(t *testing.T) {
	outcome := func(change func(*run.Result)) map[string]string {
		r := checked()
		change(r)
		var b bytes.Buffer
		if err := JUnit(&b, r, nil); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range readJUnit(t, b.Bytes()).Cases {
			got[c.Name] = "ok"
			if c.Failure != nil {
				got[c.Name] = "failure: " + c.Failure.Message
			}
			if c.Error != nil {
				got[c.Name] = "error: " + c.Error.Message
			}
		}
		return got
	}
	for _, tt := range []struct {
		name   string
		change func(*run.Result)
		test   string
		want   string
	}{
		{"a finished run", func(*run.Result) {}, "the run finishes", "ok"},
		{"a cancelled run", func(r *run.Result) { r.State, r.Cause = run.Cancelled, "cancelled by signal" }, "the run finishes", "error: cancelled: cancelled by signal"},
		{"a failed run", func(r *run.Result) { r.State, r.Cause = run.Failed, "exit 3" }, "the run finishes", "error: failed: exit 3"},
		{"something is missing", func(r *run.Result) { r.Complete = false }, "the run finishes", "error: some of what was counted is missing"},
		{"SUSPECT", func(*run.Result) {}, "the figures can be believed", "ok"},
		{"INVALID", func(r *run.Result) { r.Verdict = run.Invalid }, "the figures can be believed", "failure: INVALID: " + meanings[run.Invalid]},
		{"no load", func(r *run.Result) { r.Verdict = "" }, "the figures can be believed", ""},
		{"a threshold met", func(*run.Result) {}, "home.latency p99 < 200ms over 10s abort", "ok"},
		{"a threshold crossed", func(*run.Result) {}, "home.http_fail rate < 1%", "failure: crossed: value 3.2%, at 12.5 s"},
		{"a check that a met threshold is on", func(*run.Result) {}, "has a body", "ok"},
		{"a check that a crossed threshold is on", func(r *run.Result) { r.Thresholds[3].OK = false }, "has a body", "failure: 990 of 1,000 passed (99.00 %)"},
		{"a check without a threshold", func(*run.Result) {}, "is quick", "failure: 999 of 1,000 passed (99.90 %)"},
		{"a check that always passed", func(r *run.Result) { r.Metrics[len(r.Metrics)-3].Count = p(int64(0)) }, "is quick", "ok"},
		{"a check that was not called", func(*run.Result) {}, "never called", ""},
	} {
		if got := outcome(tt.change)[tt.test]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Read returns what JSON wrote; another file is refused with an error that names it.
func TestReadIsJSONBackwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	var b bytes.Buffer
	if err := JSON(&b, checked(), seriesOf); err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(b.Bytes())
	r, each, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // any number of times
		var again bytes.Buffer
		if err := JSON(&again, r, each); err != nil || !bytes.Equal(again.Bytes(), b.Bytes()) {
			t.Errorf("read back: %v\n%s", err, again.Bytes())
		}
	}
	broken := errors.New("enough of it")
	if err := each(func(run.Interval) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the yield's error: %v", err)
	}
	for name, text := range map[string]string{
		"no result of a run": "", "is no result": "[1]", "no result": `{"format"`, "has format \"\"": "{}", "has format \"other/1\"": `{"format":"other/1"}`, "cannot unmarshal": `{"format":3}`,
		`its state is "\x1b[2J"`: `{"format":"gobench.result/1","state":"\u001b[2J"}`, `verdict is "GOOD"`: `{"format":"gobench.result/1","state":"failed","verdict":"GOOD"}`,
		`its id is "../x"`: `{"format":"gobench.result/1","state":"failed","id":"../x"}`, `level "pink"`: `{"format":"gobench.result/1","state":"failed","reasons":[{"level":"pink"}]}`,
		`type "odd"`: `{"format":"gobench.result/1","state":"failed","metrics":[{"title":"a","type":"odd"}]}`,
	} {
		write([]byte(text))
		if _, _, err := Read(path); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q and the path", text, err, name)
		}
	}
	write(b.Bytes()[:b.Len()-20])
	if _, each, err = Read(path); err == nil {
		err = each(func(run.Interval) error { return nil })
	}
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v", err)
	}
}

// docs/reports.md lists every format, every column and every field.
func TestReportsPage(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, f := range Formats {
		if !strings.Contains(page, "| `"+f.Ending+"` |") {
			t.Errorf("the page has no row of %s", f.Ending)
		}
	}
	var c map[string]any
	var out bytes.Buffer
	if err := errors.Join(Compare(checked(), stained("x")).JSON(&out), json.Unmarshal(out.Bytes(), &c)); err != nil {
		t.Fatal(err)
	}
	names := append([]string{}, columns...)
	for name, v := range c {
		names = append(names, name)
		if list, ok := v.([]any); ok {
			v = list[0]
		}
		if fields, ok := v.(map[string]any); ok {
			names = slices.AppendSeq(names, maps.Keys(fields))
		}
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not tell what %s is", name)
		}
	}
	if !strings.Contains(page, strings.Join(columns, ",")) {
		t.Error("the page's sample has other columns")
	}
}
