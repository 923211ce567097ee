package report

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// started is a run of 10 s, with metrics.
func started(classes []run.Class, metrics ...run.Metric) *run.Result {
	return &run.Result{State: run.Finished, Complete: true, Start: time.Unix(1, 0), Seconds: 10, Measured: 10, Metrics: metrics, Config: run.Config{Classes: classes}}
}

// counted is a counter, or the times, of what has a role, n in all.
func counted(role run.Role, of string, n int64) run.Metric {
	rate := float64(n) / 10
	m := run.Metric{Title: of + "." + string(role), Type: run.Counter, Counts: run.Counts{Role: role, Of: of}, Record: run.Record{Count: &n, RPS: &rate}}
	if role == run.OpTime || role == run.ClassResponse {
		m.Type, m.Unit, m.Group = run.Histogram, "ns", of
		m.Times = &run.Times{Avg: float64(n), Min: float64(n), P50: run.Quantile(n), P90: run.Quantile(n), P95: run.Quantile(n), P99: run.Quantile(n), P999: run.Quantile(n), Max: float64(n)}
	}
	return m
}

// slowerThan sets the rate of the second of metrics, what was answered, and appends others.
func slowerThan(metrics []run.Metric, rate float64, others ...run.Metric) []run.Metric {
	metrics[1].RPS = &rate
	return append(metrics, others...)
}

// begunWithin sets the rate of all metrics within the measured time.
func begunWithin(metrics []run.Metric, rate float64) []run.Metric {
	for i := range metrics {
		metrics[i].RPS = &rate
	}
	return metrics
}

// What the first lines say of rates and times.
func TestHeadlines(t *testing.T) {
	open := run.Class{Name: "a", Users: 10, Starts: 100, StartsFor: 10}
	short := run.Class{Name: "a", Users: 10, Starts: 100, StartsFor: 2}
	staged := run.Class{Name: "a", Users: 10}
	closed := run.Class{Name: "b", Users: 5, Closed: true}
	operations := func(n int64) []run.Metric {
		return []run.Metric{counted(run.OpBegun, "home", n), counted(run.OpOK, "home", n)}
	}
	for _, tt := range []struct {
		name        string
		r           *run.Result
		done, times string
	}{
		{"the busiest client's times", started([]run.Class{closed}, counted(run.OpBegun, "setup", 1), counted(run.OpOK, "setup", 1), counted(run.OpTime, "setup", 1),
			counted(run.OpBegun, "home", 50), counted(run.OpOK, "home", 50), counted(run.OpTime, "home", 50)), "51 requests in 10.0 s, 5.10/s", "p50 50.0 ms, p99 -, max 50.0 ms (home.op.time)"},
		{"users who think", started([]run.Class{open}, append(operations(2000), counted(run.OpTime, "home", 300), counted(run.ClassResponse, "a", 1000), counted(run.ClassPlanned, "a", 1000), counted(run.ClassBegun, "a", 1000))...),
			"2,000 requests in 10.0 s, 200/s; 100 starts/s of 100 wanted", "p50 1.00 s, p99 1.00 s, max 1.00 s (a response time); p50 300 ms, p99 300 ms, max 300 ms (home.op.time)"},
		{"as planned", started([]run.Class{open}, append(operations(1000), counted(run.ClassPlanned, "a", 1000), counted(run.ClassBegun, "a", 1000))...), "1,000 requests in 10.0 s, 100/s of 100 wanted", ""},
		{"a part of the plan was lost", started([]run.Class{open}, append(operations(625), counted(run.ClassPlanned, "a", 625), counted(run.ClassBegun, "a", 625))...), "625 requests in 10.0 s, 62.5/s of 100 wanted", ""},
		{"stages that are shorter than the run", started([]run.Class{short}, append(operations(200), counted(run.ClassPlanned, "a", 200), counted(run.ClassBegun, "a", 200))...), "200 requests in 10.0 s, 20.0/s of 20.0 wanted", ""},
		{"stages", started([]run.Class{staged}, append(operations(600), counted(run.ClassPlanned, "a", 700), counted(run.ClassBegun, "a", 600))...), "600 requests in 10.0 s, 60.0/s of 70.0 wanted", ""},
		{"some end while it drains", started([]run.Class{open}, slowerThan(operations(1000), 60, counted(run.ClassPlanned, "a", 1000), counted(run.ClassBegun, "a", 1000))...), "1,000 requests in 10.0 s, 100/s of 100 wanted, 60.0/s ended", ""},
		{"some begin while it drains", started([]run.Class{closed}, begunWithin(operations(1000), 90)...), "1,000 requests, 900 of them begun in 10.0 s, 90.0/s", ""},
		{"a closed class beside it", started([]run.Class{open, closed}, append(operations(5000), counted(run.ClassPlanned, "a", 1000), counted(run.ClassBegun, "a", 990), counted(run.ClassBegun, "b", 4010))...),
			"5,000 requests in 10.0 s, 500/s; 99.0 starts/s of 100 wanted", ""},
	} {
		done, _ := headlines(tt.r)
		if done != tt.done {
			t.Errorf("%s: %q, want %q", tt.name, done, tt.done)
		}
		if times := mainTimes(tt.r); times != tt.times {
			t.Errorf("%s: %q, want %q", tt.name, times, tt.times)
		}
	}
	all := started([]run.Class{closed}, counted(run.ClassDone, "b", 0))
	all.Warmup, all.Measured = 2, 0
	if done, advice := headlines(all); done != "nothing was measured: the load ended after 2.00 s, within its warm-up" || advice == "" {
		t.Errorf("all of it warm-up: %q, %q", done, advice)
	}
}
