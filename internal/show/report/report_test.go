package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

var update = flag.Bool("update", false, "write the golden files anew")

func p[T any](v T) *T { return &v }

// full is a result that has every kind of content.
func full() *run.Result {
	at := time.Date(2026, 11, 21, 6, 45, 12, 123456789, time.UTC)
	r := &run.Result{
		Format: run.Format, Gobench: "0.1.0", ID: "20261121-064512-x7k2zz", Name: "checkout.go", State: run.Finished,
		Created: at, Start: at, Seconds: 12.5, Measured: 10.5, Warmup: 2, Complete: true,
		Verdict: run.Suspect, Reasons: []run.Reason{
			{Signal: "start_lag", Level: run.Amber, Text: "starts of class buyer were up to 1.2 ms late although a user was free", Advice: "lower the rate", Windows: 3, Worst: 4},
			{Signal: "steal", Level: run.Amber, Text: "the hypervisor withheld 3.0 % of the CPU time (steal)", Advice: "use a machine of your own", Windows: 1}},
		Config: run.Config{Scenario: "/home/a/checkout.go", Seed: 7, Interval: 1, GracefulStop: 30, Classes: []run.Class{
			{Name: "buyer", Users: 1200, Rate: 100, Load: "once a user"},
			{Name: "reader", Users: 30, Load: "loop for 10s", Closed: true}}},
		Environment: run.Environment{Host: "h", OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Example CPU", CPUs: 2, Go: "go1.26"},
		Metrics: []run.Metric{
			{Title: "vu.buyer.active", Type: "gauge", Group: "Users (buyer)", Graph: "Users", Unit: "N", Record: run.Record{Value: p(int64(0))}},
			{Title: "vu.buyer.started", Type: "counter", Group: "Users (buyer)", Graph: "Users", Unit: "N", Record: run.Record{Count: p(int64(1200)), RPS: p(96.0)}},
			{Title: "vu.reader.iterations", Type: "counter", Group: "Users (reader)", Graph: "Iterations", Unit: "N", Record: run.Record{Count: p(int64(1234567)), RPS: p(98765.4)}},
			{Title: "vu.reader.errors", Type: "counter", Group: "Users (reader)", Graph: "Iterations", Unit: "N", Record: run.Record{Count: p(int64(3)), RPS: p(0.24)}},
			{Title: "vu.reader.service", Type: "histogram", Group: "Users (reader)", Graph: "Iteration time", Unit: "ns", Record: run.Record{Count: p(int64(1234564)), RPS: p(98765.1),
				Times: &run.Times{Avg: 0.3, Min: 0.000042, P50: 0.25, P90: 0.5, P95: 1.2345, P99: 12.3456, P999: 123.456, Max: 61000, Stdev: 2}}},
			{Title: "vu.reader.response", Type: "histogram", Group: "Users (reader)", Graph: "Iteration time", Unit: "ns", Record: run.Record{Count: p(int64(1234564)), RPS: p(98765.1),
				Times: &run.Times{Avg: 0.3, Min: 0.000042, P50: 0.25, P90: 0.5, P95: 1.2345, P99: 12.3456, P999: 123.456, Max: 61000, Stdev: 2}}},
			{Title: "step.pay.time", Type: "histogram", Group: "Steps", Graph: "step.pay time", Unit: "ns", Record: run.Record{Count: p(int64(980)), Lost: p(int64(20)), RPS: p(78.4), Within: p(0.683),
				Times: &run.Times{Avg: 2, Min: 1, P50: 1, P90: 3, P95: 4, P99: 5, P999: 6, Max: 7, Stdev: 1}}},
			{Title: "vu.buyer.start_lag", Type: "histogram", Group: "Users (buyer)", Graph: "Start lag", Unit: "ns", Record: run.Record{Count: p(int64(1200)), RPS: p(96.0),
				Times: &run.Times{Avg: 0.01, P50: 0.01, P90: 0.02, P95: 0.03, P99: 0.05, P999: 0.2, Max: 0.3}}},
			{Title: "gobench.cpu", Type: "histogram", Group: "Generator", Graph: "CPU", Unit: "permille", Record: run.Record{Count: p(int64(12)), RPS: p(1.0), Sizes: &run.Sizes{Avg: 500, Max: 900}}},
			{Title: "home.http_ok", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N", Record: run.Record{Count: p(int64(0)), RPS: p(0.0)}},
			{Title: "home.http_fail", Type: "counter", Group: "HTTP (home)", Graph: "Responses", Unit: "N", Record: run.Record{Count: p(int64(42)), RPS: p(3.36)}, Spread: &run.Spread{Stdev: 0.5, Max: 5, Within: 0.75}},
			{Title: "home.bytes_in", Type: "counter", Group: "HTTP (home)", Graph: "Bytes", Unit: "B", Record: run.Record{Count: p(int64(5 << 30)), RPS: p(429496729.6)}},
			{Title: "home.unused", Type: "counter", Group: "HTTP (home)", Graph: "Bytes", Unit: "B", Record: run.Record{Count: p(int64(0)), RPS: p(0.0)}},
			{Title: "home.size", Type: "histogram", Group: "HTTP (home)", Graph: "Size", Unit: "B", Record: run.Record{Count: p(int64(10)), RPS: p(0.8),
				Sizes: &run.Sizes{Avg: 2048, Min: 0, P50: 1000, P90: 4096, P95: 1 << 20, P99: 1 << 20, P999: 1 << 20, Max: 1 << 20}}},
		},
		Thresholds: []run.Threshold{
			{Expression: "home.latency p99 < 200ms over 10s abort", OK: true, Value: "123ms"},
			{Expression: "home.http_fail rate < 1%", Value: "3.2%", At: p(12.5)},
			{Expression: `check "a\x1b" rate > 99%`, Reason: `no check is called "a"; the nearest checks are "b"`, At: p(72.0)}},
		Errors: []run.Failure{{Source: "home", Class: "refused", Text: "connect: connection refused", Count: 1200}, {Source: "vu.reader", Class: "iteration", Text: "\x1b[31mred\nalert", Count: 3}},
		Notes:  []string{"user 7 of class buyer panicked: oh\nstack\nmore"},
	}
	roles.Set(r.Metrics...)
	return r
}

// The text shows how many of the planned starts began, unless all did.
func TestTextTellsWhatBegan(t *testing.T) {
	for begun, want := range map[int64]string{
		100: "users     a: 100 starts planned (10.0/s)\n",
		90:  "users     a: 100 starts planned (10.0/s), 90 of them begun (9.00/s), 10 of them dropped\n",
	} {
		counter := func(name string, n int64) run.Metric {
			return roles.Metric(run.Metric{Title: "vu.a." + name, Type: "counter", Record: run.Record{Count: p(n), RPS: p(float64(n) / 10)}})
		}
		r := &run.Result{Config: run.Config{Classes: []run.Class{{Name: "a"}}}, Metrics: []run.Metric{counter("planned", 100), counter("begun", begun), counter("dropped", 100-begun)}}
		var b bytes.Buffer
		if err := Text(&b, r, Screen{}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, %s, want %q", err, b.String(), want)
		}
	}
}

func TestText(t *testing.T) {
	broken := full()
	broken.State, broken.Cause, broken.Complete = run.Failed, "the executor exited with status 3", false
	broken.Missing = []string{"executor 0: its last batch has not come; what it counted after 5.0 s is missing"}
	broken.Verdict, broken.Reasons = run.Invalid, []run.Reason{{Signal: "totals", Level: run.Red, Text: "not all that was counted is in the totals: " + broken.Missing[0], Advice: "run it again"}}
	broken.Metrics, broken.Config.Target = nil, "GET http://localhost/"
	broken.Errors = nil
	for i := range 15 {
		broken.Errors = append(broken.Errors, run.Failure{Source: "home", Class: "timeout", Text: strings.Repeat("x", 90+i), Count: int64(100 - i)})
	}
	for name, r := range map[string]*run.Result{"full": full(), "broken": broken, "nothing": {State: run.Starting, Name: "empty.go"}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, r, Screen{Dir: "/home/a/.gobench/runs/" + r.ID}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("the text changed; if that is meant, run with -update:\n%s", b.Bytes())
			}
			for n, line := range strings.Split(b.String(), "\n") {
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("line %d has control characters: %q", n+1, line)
				}
			}
		})
	}
}

func TestLine(t *testing.T) {
	r := full()
	i := run.Interval{From: 3, Seconds: 1, Errors: 2, Metrics: map[string]run.Record{
		"vu.buyer.active": {Value: p(int64(12))}, "vu.reader.response": r.Metrics[5].Record, "home.size": r.Metrics[12].Record}}
	if got, want := Line(i, r.Metrics), "     4s  12 users  reader response time 98,765/s p50 250 µs p99 12.3 ms max 61.0 s  2 failed"; got != want {
		t.Errorf("line = %q\n    want %q", got, want)
	}
	metrics := roles.Set(append(r.Metrics, run.Metric{Title: "home.latency", Type: "histogram", Unit: "ns", Group: "HTTP (home)"}, run.Metric{Title: "home.ttfb", Type: "histogram", Unit: "ns", Group: "HTTP (home)"})...)
	i.Metrics["home.ttfb"] = r.Metrics[4].Record
	i.Metrics["home.latency"] = r.Metrics[4].Record
	i.From, i.Seconds, i.Errors = 3, 0.2123, 0
	if got, want := Line(i, metrics), "   3.2s  12 users  home.latency 98,765/s p50 250 µs p99 12.3 ms max 61.0 s"; got != want {
		t.Errorf("line = %q\n    want %q", got, want)
	}
}

func TestWhatRepeatsTheWholeIsLeftOut(t *testing.T) {
	counter := func(title string, n int64, stdev float64) run.Metric {
		return run.Metric{Title: title, Group: "HTTP (a)", Type: "counter", Unit: "N", Record: run.Record{Count: p(n), RPS: p(float64(n))}, Spread: &run.Spread{Stdev: stdev}}
	}
	r := &run.Result{Metrics: []run.Metric{counter("a.ok", 500, 1), counter("a.status.2xx", 500, 1), {Title: "between", Group: "Steps"}, counter("a.status.200", 300, 1), counter("a.peer.x", 500, 2), counter("a.also", 500, 1),
		counter("a.http_fail", 7, 3), counter("a.status.503", 7, 3)}}
	roles.Set(r.Metrics...)
	var b bytes.Buffer
	if err := Text(&b, r, Screen{Full: true}); err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]bool{"a.ok": true, "a.status.2xx": false, "a.status.200": true, "a.peer.x": true, "a.also": true, "a.status.503": true} {
		if got := strings.Contains(b.String(), title+" "); got != want {
			t.Errorf("%s is shown: %v, want %v\n%s", title, got, want, b.String())
		}
	}
}

func TestLineOfASchedule(t *testing.T) {
	lag := full().Metrics[7].Record
	metrics := roles.Set(run.Metric{Title: "vu.shop.active", Type: "gauge"}, run.Metric{Title: "vu.shop.planned", Type: "counter"}, run.Metric{Title: "vu.shop.late", Type: "counter"}, run.Metric{Title: "vu.shop.dropped", Type: "counter"},
		run.Metric{Title: "vu.shop.service", Type: "histogram"}, run.Metric{Title: "vu.shop.start_lag", Type: "histogram"}, run.Metric{Title: "vu.shop.queue_wait", Type: "histogram"},
		run.Metric{Title: "vu.shop.response", Type: "histogram"}, run.Metric{Title: "home.latency", Type: "histogram"})
	i := run.Interval{From: 3, Seconds: 1, Metrics: map[string]run.Record{
		"vu.shop.active": {Value: p(int64(5))}, "vu.shop.planned": {Count: p(int64(1200))}, "vu.shop.response": lag, "vu.shop.service": lag,
		"vu.shop.start_lag": lag, "vu.shop.queue_wait": lag, "vu.shop.late": {Count: p(int64(7))}, "vu.shop.dropped": {Count: p(int64(0))}, "home.latency": lag}}
	want := "     4s  5 users  shop response time 96.0/s p50 10.0 µs p99 50.0 µs max 300 µs, service time p99 50.0 µs, start lag p99 50.0 µs, queue wait p99 50.0 µs, 7 late"
	if got := Line(i, metrics); got != want {
		t.Errorf("line = %q\n    want %q", got, want)
	}
	i.Metrics = map[string]run.Record{"vu.shop.active": {Value: p(int64(5))}, "vu.shop.planned": {Count: p(int64(1200))}, "vu.shop.dropped": {Count: p(int64(3))}}
	want = "     4s  5 users  shop response time none, 1,200 planned, 3 dropped"
	if got := Line(i, metrics); got != want {
		t.Errorf("line = %q\n    want %q", got, want)
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		var b bytes.Buffer
		err := JSON(&b, full(), func(yield func(run.Interval) error) error {
			for i := range n {
				if err := yield(run.Interval{From: float64(i), Seconds: 1}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			run.Result
			Intervals []run.Interval
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if len(got.Intervals) != n || got.ID != full().ID || *got.Metrics[4].Times != *full().Metrics[4].Times || got.Metrics[13].Sizes.P90 != 4096 {
			t.Errorf("read back: %+v", got)
		}
	}
	fails := errors.New("disk full")
	if err := JSON(&bytes.Buffer{}, full(), func(func(run.Interval) error) error { return fails }); !errors.Is(err, fails) {
		t.Errorf("error %v, want %v", err, fails)
	}
}

// An iteration that is one request and little else is not shown beside it; one that takes
// longer, or does more, is.
func TestIterationsOfOneOperation(t *testing.T) {
	times := func(title string, n int64, avg float64) run.Metric {
		return run.Metric{Title: title, Type: "histogram", Group: title, Unit: "ns", Record: run.Record{Count: p(n), RPS: p(1.0), Times: &run.Times{Avg: avg}}}
	}
	for _, tt := range []struct {
		name              string
		iterations        int64
		service           run.Metric
		latency           run.Metric
		lost              int64
		counted, measured bool // have a row
	}{
		{"one request", 100, times("vu.a.service", 100, 1.05), times("home.latency", 100, 1), 0, false, false},
		{"one request and a pause", 100, times("vu.a.service", 100, 50), times("home.latency", 100, 1), 0, false, true},
		{"three requests", 100, times("vu.a.service", 100, 3), times("home.latency", 300, 1), 0, true, true},
		{"some without an answer", 100, times("vu.a.service", 90, 1.05), times("home.latency", 90, 1), 10, false, false},
		{"as many connections", 100, times("vu.a.service", 100, 1), times("home.connect", 300, 1), 0, true, true},
	} {
		tt.latency.Lost = p(tt.lost)
		r := &run.Result{Config: run.Config{Classes: []run.Class{{Name: "a", Closed: true}}}, Metrics: []run.Metric{
			{Title: "vu.a.iterations", Type: "counter", Group: "Users", Record: run.Record{Count: p(tt.iterations), RPS: p(1.0)}}, tt.service, tt.latency,
			{Title: "home.connections_opened", Type: "counter", Group: "home", Record: run.Record{Count: p(int64(100)), RPS: p(1.0)}}}}
		roles.Set(r.Metrics...)
		got := map[string]bool{}
		metrics, _ := shown(r, false)
		for _, m := range metrics {
			got[m.Title] = true
		}
		if got["vu.a.iterations"] != tt.counted || got["vu.a.service"] != tt.measured {
			t.Errorf("%s: iterations %v, service time %v, want %v, %v", tt.name, got["vu.a.iterations"], got["vu.a.service"], tt.counted, tt.measured)
		}
	}
}
