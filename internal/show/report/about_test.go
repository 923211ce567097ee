package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

// What ended while the run drained is named, since no rate has it.
func TestDrainIsNamed(t *testing.T) {
	t.Parallel()
	counted := func(title string, c run.Counts, n, later int64) run.Metric {
		return run.Metric{Title: title, Type: run.Counter, Group: "HTTP (home)", Counts: c, Record: run.Record{Count: &n, Later: &later}}
	}
	of := func(r run.Role) run.Counts { return run.Counts{Role: r, Of: "home"} }
	r := full()
	r.Seconds, r.Measured, r.Warmup = 13, 10, 2
	r.Metrics = []run.Metric{counted("home.http_ok", of(run.OpOK), 90, 3), counted("home.http_fail", of(run.OpFailed), 5, 1), counted("home.http_other_fail", of(run.OpUnanswered), 5, 2),
		counted("home.status.200", run.Counts{Role: run.OpOK, Of: "home", By: "status", Part: "200"}, 90, 3)}
	var b bytes.Buffer
	if err := Text(&b, r, Screen{}); err != nil {
		t.Fatal(err)
	}
	if want := "drain     6 requests ended after the load, at most 1.00 s later"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is missing in\n%s", want, b.String())
	}
}

// Of a target that never answered, the times are at least what its requests waited.
func TestTimesOfADeadTarget(t *testing.T) {
	t.Parallel()
	none, lost := int64(0), int64(10)
	m := run.Metric{Title: "home.latency", Type: run.Histogram, Unit: "ns", Group: "HTTP (home)", Counts: run.Counts{Role: run.OpTime, Of: "home"},
		Record: run.Record{Count: &none, Lost: &lost, AtLeast: map[string]float64{"p50": 1000, "p99": 3000}}}
	if got, want := mainTimes(&run.Result{Metrics: []run.Metric{m}}), "p50 no answer, over 1.00 s, p99 no answer, over 3.00 s (home.latency)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ShortPercentile(m, m.Record, "p99"); got != "over 3.00 s" {
		t.Errorf("in a column: %q", got)
	}
}
