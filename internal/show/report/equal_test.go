package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// equalRun returns a finished run with a p50, and what gobench used.
func equalRun(p50, procs, cpu, own float64) *run.Result {
	n := int64(1000)
	size := func(name string, v float64) run.Metric {
		return run.Metric{Title: "gobench." + name, Type: run.Histogram, Unit: "permille", Counts: run.Counts{Role: run.Own, Part: name}, Record: run.Record{Count: &n, Sizes: &run.Sizes{P50: run.Quantile(v), Avg: v}}}
	}
	return &run.Result{Format: run.Format, Name: "http", State: run.Finished, Verdict: run.Valid, Complete: true, Seconds: 3, Measured: 3, Metrics: []run.Metric{
		{Title: "http.latency", Type: run.Histogram, Group: "HTTP", Unit: "ns", Counts: run.Counts{Role: run.OpTime, Of: "http"},
			Record: run.Record{Count: &n, Times: &run.Times{P50: run.Quantile(p50), P90: 2, P99: 3, Max: 4}}},
		size("procs", procs), size("cpu", cpu), size("cpu_own", own),
	}}
}

// By how much equal runs differ stands beside a change, where there are some.
func TestEqualRuns(t *testing.T) {
	t.Parallel()
	a, b := equalRun(1, 2, 500, 300), equalRun(1.2, 2, 600, 300)
	shown := func(c *Comparison) string {
		var out bytes.Buffer
		if err := c.Text(&out, Style{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	day := func(r *run.Result, n int) *run.Result {
		r.ID, r.Created = fmt.Sprint(n), time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC)
		return r
	}
	day(a, 3)
	day(b, 9)
	c := Compare(a, b)
	c.Earlier(a, b, []*run.Result{a, b})
	if s := shown(c); !c.Alike || c.EqualRuns != 0 || strings.Contains(s, "equal runs") || !strings.Contains(s, "One run of each does not separate a change from what the machine does by itself") {
		t.Errorf("two equal runs: %s", s)
	}
	other := equalRun(9, 2, 500, 300)
	other.Config.Target = "GET http://elsewhere/"
	c.Earlier(a, b, []*run.Result{
		a, b, day(equalRun(1.2, 2, 500, 300), 1), day(equalRun(1.1, 2, 600, 300), 2),
		day(other, 1), day(equalRun(9, 1, 500, 300), 1), day(equalRun(9, 2, 900, 300), 2), day(equalRun(9, 2, 500, 300), 4),
	})
	// ln 1, 1.2, 1.1: a deviation of 0.0913; t of two degrees of freedom is 4.17
	if s := shown(c); c.EqualRuns != 3 || c.Figures[0].Equal == nil || fmt.Sprintf("%.0f", *c.Figures[0].Equal) != "71" || !strings.Contains(s, "up to 71 %") || !strings.Contains(s, "by the 3 runs in the history") {
		t.Errorf("three equal runs: %v %+v\n%s", *c.Figures[0].Equal, c.Figures[0], s)
	}
}

// Student's t, against a table of its quantiles.
func TestStudent(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 1000: 1.962} {
		if got := student(n); math.Abs(got/want-1) > 0.01 {
			t.Errorf("%d degrees of freedom: %.3f, want %.3f", n, got, want)
		}
	}
}

// Runs in which the generator was another are not alike.
func TestUnlikeGenerators(t *testing.T) {
	t.Parallel()
	a := equalRun(1, 2, 500, 300)
	invalid := equalRun(1, 2, 500, 300)
	invalid.Verdict = run.Invalid
	for want, b := range map[string]*run.Result{
		"":                       equalRun(1, 2, 690, 300),
		"gobench's threads":      equalRun(1, 1, 500, 300),
		"CPU of other processes": equalRun(1, 2, 990, 300),
		"verdict":                invalid,
	} {
		c, got := Compare(a, b), ""
		for _, d := range c.Differences {
			got += d.What
		}
		if got != want || c.Alike != (want == "") {
			t.Errorf("they differ in %q, want %q", got, want)
		}
	}
}
