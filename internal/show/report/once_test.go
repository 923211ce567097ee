package report

import (
	"strings"
	"testing"
	"unicode"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// What one iteration recorded is shown in figures, several values as a range, and nothing
// in it is a control sequence for a terminal.
func TestOnce(t *testing.T) {
	n := func(v int64) run.Record { return run.Record{Count: &v} }
	value := int64(3)
	one, two := n(1), n(2)
	one.Times, two.Times = &run.Times{Avg: 1.5, Min: 1.5, Max: 1.5}, &run.Times{Avg: 2, Min: 1, Max: 3}
	sizes := n(2)
	sizes.Sizes = &run.Sizes{Min: 10, Max: 20}
	metric := func(title, unit string, r run.Record) run.Metric {
		m := run.Metric{Title: title, Type: run.Counter, Unit: unit, Record: r}
		if unit == "ns" {
			m.Type = run.Histogram
		}
		return roles.Metric(m)
	}
	r := &run.Result{Name: "a\x1b[2J.go", State: run.Failed, Cause: "no \x9b", Seconds: 0.5,
		Config: run.Config{Target: "GET http://a.test/\r"},
		Metrics: []run.Metric{
			metric("check.good.passed", "N", n(1)), metric("check.good.failed", "N", n(0)),
			metric("check.bad.passed", "N", n(1)), metric("check.bad.failed", "N", n(2)),
			metric("step.in.time", "ns", one), metric("step.in.failed", "N", n(1)),
			metric("home.ok", "N", n(2)), metric("home.none", "N", n(0)), metric("home.latency", "ns", two), metric("home.size", "B", sizes),
			metric("home.bytes", "B", n(2048)), metric("home.open", "N", run.Record{Value: &value}), metric("vu.a.iterations", "N", n(1)), metric("gobench.lag", "ns", one),
		},
		Errors:     []run.Failure{{Source: "vu.a", Class: "iteration", Text: "\x1b]0;x\a", Count: 1}},
		Thresholds: []run.Threshold{{Expression: "home.ok count > 5"}, {Expression: "home.ok count > 1", OK: true}},
		Notes:      []string{"first\nsecond\x1b"},
	}
	var b strings.Builder
	if err := Once(&b, r); err != nil {
		t.Fatal(err)
	}
	want := `
a\x1b[2J.go: failed: no \x9b after 500 ms
  target  GET http://a.test/\r

Checks
  good  passed
  bad   FAILED  (1 passed, 2 failed)

Steps
  in  1.50 ms, FAILED once

Recorded
  home.ok       2
  home.latency  1.00 ms to 3.00 ms, 2 times
  home.size     10.0 to 20.0, 2 times
  home.bytes    2.00 KiB
  home.open     3

Errors
  a iteration: \x1b]0;x\a  1

Thresholds
  home.ok count > 5  crossed
  home.ok count > 1  met

Notes
  first
  second\x1b
`
	if b.String() != want {
		t.Errorf("%q\nwant\n%q", b.String(), want)
	}
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("%q", b.String())
	}
}
