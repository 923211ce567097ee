package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

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
