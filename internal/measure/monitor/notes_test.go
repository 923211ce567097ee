package monitor

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// times is a distribution of n times with a median in ms.
func times(title string, n int64, median float64) run.Metric {
	return roles.Metric(run.Metric{Title: title, Type: "histogram", Unit: "ns", Record: run.Record{Count: &n, Times: &run.Times{P50: run.Quantile(median)}}})
}

func TestNotes(t *testing.T) {
	t.Parallel()
	open, closed := run.Class{Name: "a", Load: "arrival"}, run.Class{Name: "a", Closed: true}
	pool := run.Class{Name: "a", Load: "arrival", Users: 5}
	busy := func(wanted float64, late int64, service float64) []run.Metric {
		count := func(title string, n int64) run.Metric {
			return roles.Metric(run.Metric{Title: title, Type: run.Counter, Unit: "N", Record: run.Record{Count: &n, RPS: &wanted}})
		}
		took := times("vu.a.service", 20_000, service)
		took.Times.Avg = service
		return []run.Metric{times("http.latency", 20_000, 1), count("vu.a.planned", 1200), count("vu.a.begun", 1200), count("vu.a.late", late), took}
	}
	many := times("http.latency", 20_000, 1)
	for _, tt := range []struct {
		name    string
		class   run.Class
		seconds float64
		warmup  float64
		target  string
		metrics []run.Metric
		want    string // beginning of the notes
	}{
		{"nothing to say", open, 3, 0, "GET http://example.com/", []run.Metric{many, times("vu.a.response", 20_000, 1)}, ""},
		{"short", open, 2.9, 0, "", nil, "the run was shorter than three intervals"},
		{"short without its warm-up", open, 6, 4, "", nil, "the run was shorter than three intervals"},
		{"warm-up only", open, 6, 6, "", nil, "the whole run was warm-up"},
		{"few answers", closed, 3, 0, "", []run.Metric{times("http.latency", 999, 1), times("vu.a.response", 9, 1)}, "few values, under 1,000 for a firm p99: http.latency"},
		{"few responses", open, 3, 0, "", []run.Metric{many, times("vu.a.response", 9999, 1)}, "few values, under 10,000 for a firm p99.9: vu.a.response"},
		{"no client", closed, 3, 0, "", []run.Metric{times("vu.a.response", 9, 1), times("vu.a.service", 9, 1)}, "few values, under 1,000 for a firm p99: vu.a.service"},
		{"the generator's own", open, 3, 0, "", []run.Metric{times("gobench.canary", 9, 1), times("vu.a.start_lag", 9, 1)}, ""},
		{"fast failures", open, 3, 0, "", []run.Metric{many, times("vu.a.service", 20_000, 5), times("vu.a.failure", 10, 2)},
			"failed iterations of class a ended sooner than good ones, after 2.00 ms instead of 5.00 ms (medians)"},
		{"slow failures", open, 3, 0, "", []run.Metric{many, times("vu.a.service", 20_000, 5), times("vu.a.failure", 10, 2.5)}, ""},
		{"a few fast failures", open, 3, 0, "", []run.Metric{many, times("vu.a.service", 20_000, 5), times("vu.a.failure", 9, 0.1)}, ""},
		{"too few users", pool, 3, 0, "", busy(400, 600, 20.8), "the 5 users of class a were busy: at 20.8 ms an iteration they do 240 a second, and 400 were wanted: with -c 9 (Nu in a scenario) or more they keep up"},
		{"users enough, but for a stall", pool, 3, 0, "", busy(400, 600, 11), ""},
		{"users enough for most", pool, 3, 0, "", busy(400, 20, 20.8), ""},
		{"this machine", open, 3, 0, "GET http://[::1]:80/", nil, "the target is on this machine"},
	} {
		r := &run.Result{Seconds: tt.seconds, Measured: tt.seconds - tt.warmup, Warmup: tt.warmup, Metrics: tt.metrics, Config: run.Config{Interval: 1, Target: tt.target, Classes: []run.Class{tt.class}}}
		got := judged(new(health.Judge)).notes(r)
		if len(got) > 1 || tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// judged is the tally of a run with one host, which has this judge.
func judged(j *health.Judge) *Tally { return &Tally{hosts: hosts{all: []*host{{judge: *j}}}} }

func TestNotesOfTheJudge(t *testing.T) {
	t.Parallel()
	judge := new(health.Judge)
	for i := range 10 {
		judge.Add(&health.Window{From: time.Duration(i) * time.Second, Length: time.Second, Values: map[health.Metric]float64{health.Retransmits: 50, health.CPU: 500}})
	}
	got := judged(judge).notes(&run.Result{Seconds: 10, Measured: 10, Config: run.Config{Interval: 1}})
	if len(got) != 2 || !strings.HasPrefix(got[0], "5.0 % of the TCP segments") && !strings.HasPrefix(got[0], "5 % of the TCP segments") || !strings.HasPrefix(got[1], "other processes, ") {
		t.Errorf("%q", got)
	}
}

func TestOnThisMachine(t *testing.T) {
	t.Parallel()
	own := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(192, 0, 2, 7)}, &net.IPNet{IP: net.ParseIP("2001:db8::7")}}, nil
	}
	for target, want := range map[string]bool{
		"GET http://localhost:80/": true, "GET http://127.0.0.9/": true, "GET http://[::1]:80/": true,
		"GET http://192.0.2.7:80/": true, "GET http://[2001:db8::7]/": true,
		"GET http://192.0.2.8/": false, "GET http://example.com/": false, "": false, "GET ://": false,
	} {
		if got := onThisMachine(target, own); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}
