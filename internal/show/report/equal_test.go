package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

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
	c := Compare(a, b)
	c.Earlier(a, []*run.Result{a, b})
	if s := shown(c); !c.Alike || c.EqualRuns != 0 || strings.Contains(s, "equal runs") || !strings.Contains(s, "One run of each does not separate a change from what the machine does by itself") {
		t.Errorf("two equal runs: %s", s)
	}
	other := equalRun(9, 2, 500, 300)
	other.Config.Target = "GET http://elsewhere/"
	c.Earlier(a, []*run.Result{a, b, equalRun(1.1, 1, 900, 300), other})
	// ln 1, 1.2, 1.1: a deviation of 0.0913
	if s := shown(c); c.EqualRuns != 3 || c.Figures[0].Equal == nil || fmt.Sprintf("%.1f", *c.Figures[0].Equal) != "28.8" || !strings.Contains(s, "up to 29 %") || !strings.Contains(s, "by the 3 runs in the history") {
		t.Errorf("three equal runs: %+v\n%s", c.Figures[0], s)
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
