package ui_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// made is a run that a test makes up. Its records take the same path as the batches of a real
// run.
type made struct {
	t         *testing.T
	result    *run.Result
	intervals []run.Interval

	merger     *merge.Merger
	numbers    map[string]uint32
	metrics    []*wire.Metric
	histograms map[uint32]*hdr.Histogram
	gauges     map[uint32]int64
	batch      *wire.Batch
	declared   int // metrics that a batch has declared
	rand       *rand.Rand
}

var began = time.Date(2026, 11, 21, 6, 45, 12, 0, time.UTC)

func newRun(t *testing.T, name string) *made {
	return &made{t: t, merger: merge.New(1, time.Second), numbers: map[string]uint32{}, histograms: map[uint32]*hdr.Histogram{}, gauges: map[uint32]int64{},
		batch: &wire.Batch{Seq: 1, GoUnixNs: began.UnixNano()}, rand: rand.New(rand.NewPCG(1, 2)),
		result: &run.Result{Format: run.Format, Gobench: "0.1.0", ID: "20261121-064512-x7k2zz", Name: name, State: run.Finished, Created: began, Start: began, Complete: true, Verdict: run.Valid,
			Config:      run.Config{Command: []string{"gobench", "run", name}, Scenario: "/home/a/" + name, Seed: 7, Interval: 1, GracefulStop: 30, Classes: []run.Class{}},
			Environment: run.Environment{Host: "bench-1", OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "Example CPU 9000", CPUs: 8, Memory: 32 << 30, OpenFiles: 1 << 20, Go: "go1.26.0"},
			Metrics:     []run.Metric{}, Errors: []run.Failure{}}}
}

// number returns the number of a metric, which it declares first if it is new.
func (m *made) number(title, kind, group, graph, unit string) uint32 {
	n, ok := m.numbers[title]
	if !ok {
		n = uint32(len(m.metrics))
		m.numbers[title] = n
		m.metrics = append(m.metrics, roles.Declare(&wire.Metric{Title: title, Type: kind, Group: group, Graph: graph, Unit: unit})...)
	}
	return n
}

// place returns the group and graph of a title, as clients choose them.
func place(title string) (group, graph string) {
	first, rest, _ := strings.Cut(title, ".")
	switch first {
	case "gobench":
		return "Generator", rest
	case "vu":
		class, name, _ := strings.Cut(rest, ".")
		switch name {
		case "response", "service", "failure":
			return "Users (" + class + ")", "Iteration time"
		case "planned", "begun", "late", "dropped":
			return "Users (" + class + ")", "Planned starts"
		}
		return "Users (" + class + ")", name
	}
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch {
	case strings.HasPrefix(rest, "http_"):
		return "HTTP (" + first + ")", "Responses"
	case strings.HasPrefix(rest, "error."):
		return "HTTP (" + first + ")", "Errors"
	case strings.HasPrefix(rest, "connections_"):
		return "HTTP (" + first + ")", "Connections"
	}
	return "HTTP (" + first + ")", last
}

func (m *made) add(title string, n int64) {
	group, graph := place(title)
	unit := "N"
	if strings.Contains(title, "bytes") {
		unit = "B"
	}
	m.batch.Counters = append(m.batch.Counters, &wire.Counter{Metric: m.number(title, "counter", group, graph, unit), Add: n})
}

func (m *made) set(title string, v int64) {
	group, graph := place(title)
	m.gauges[m.number(title, "gauge", group, graph, "N")] = v
}

// record records n values around a median, log-normally spread.
func (m *made) record(title, unit string, n int, median, sigma float64) {
	group, graph := place(title)
	number := m.number(title, "histogram", group, graph, unit)
	h := m.histograms[number]
	if h == nil {
		h = new(hdr.Histogram)
		m.histograms[number] = h
	}
	for range n {
		h.Record(int64(median * math.Exp(sigma*m.rand.NormFloat64())))
	}
}

func (m *made) fail(source, class, text string, n int64) {
	m.batch.Failures = append(m.batch.Failures, &wire.Failure{Source: source, Class: class, Text: text, Count: n})
}

// cut ends an interval.
func (m *made) cut(length time.Duration, warmup bool, health map[string]run.Severity) {
	b := m.batch
	b.ToNs, b.Warmup = b.FromNs+int64(length), warmup
	b.First, b.Declared = uint32(m.declared), m.metrics[m.declared:]
	m.declared = len(m.metrics)
	for n, h := range m.histograms {
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: n, Counts: h.Append(nil)})
		h.Reset()
	}
	for n, v := range m.gauges {
		b.Gauges = append(b.Gauges, &wire.Gauge{Metric: n, Value: v})
	}
	if err := m.merger.Add(0, b); err != nil {
		m.t.Fatal(err)
	}
	for _, i := range m.merger.Intervals(true) {
		i.Health = health
		m.intervals = append(m.intervals, i)
	}
	m.batch = &wire.Batch{Seq: b.Seq + 1, FromNs: b.ToNs}
	r := m.result
	r.Seconds, r.Measured, r.Warmup, r.Metrics, r.Errors = m.merger.Load().Seconds(), m.merger.Measured().Seconds(), m.merger.Warmup().Seconds(), m.merger.Metrics(), m.merger.Failures()
}

func (m *made) each(yield func(run.Interval) error) error {
	for _, i := range m.intervals {
		if err := yield(i); err != nil {
			return err
		}
	}
	return nil
}

// own records the generator's figures of itself.
func (m *made) own(cpu float64) {
	m.record("gobench.cpu", "permille", 1, cpu*1000, 0.05)
	m.record("gobench.memory", "permille", 1, 310, 0.005)
	m.record("gobench.scheduler", "ns", 1, 90e3, 0.3)
	m.record("gobench.canary", "ns", 1, 300e3, 0.3)
	m.record("gobench.gc_pause", "ns", 1, 40e3, 0.5)
}

// shop returns a run with something of everything: an open class under a schedule and a closed
// one, a warm-up, a slow spell with failures and a generator in trouble.
func shop(t *testing.T) *made {
	m := newRun(t, "shop.go")
	r := m.result
	r.Config.Classes = []run.Class{{Name: "buyer", Users: 400, Load: "800/s for 1m0s, evenly, while a user is free, else starts queue"}, {Name: "reader", Users: 30, Load: "loop for 1m0s", Closed: true}}
	for s := range 60 {
		slow, n := 1.0, 800
		health := map[string]run.Severity(nil)
		if s >= 30 && s < 36 {
			slow = 8
			health = map[string]run.Severity{"start_lag": run.Amber}
			if s == 32 || s == 33 {
				health = map[string]run.Severity{"start_lag": run.Red, "cpu": run.Amber}
			}
			m.add("home.error.timeout", int64(10+s))
			m.add("home.http_other_fail", int64(10+s))
			m.fail("home", "timeout", "GET /checkout: no answer within 1s", int64(10+s))
			m.add("home.http_fail", int64(s*2))
			m.fail("vu.buyer", "iteration", "cart is empty: \x1b[31mred\x1b[0m", 3)
		}
		ramp := min(1, float64(s+1)/5)
		m.set("vu.buyer.active", int64(ramp*40*slow))
		m.set("vu.reader.active", 30)
		m.add("vu.buyer.planned", int64(n))
		m.add("vu.buyer.begun", int64(n))
		m.add("vu.buyer.iterations", int64(n))
		m.record("vu.buyer.response", "ns", n, 9e6*slow, 0.5)
		m.record("vu.buyer.service", "ns", n, 8e6*slow, 0.4)
		m.record("vu.buyer.start_lag", "ns", n, 40e3*slow, 0.4)
		m.add("vu.reader.iterations", 3000)
		m.record("vu.reader.response", "ns", 3000, 2e6*slow, 0.3)
		m.record("vu.reader.service", "ns", 3000, 2e6*slow, 0.3)
		m.add("home.http_ok", int64(n+3000))
		m.record("home.latency", "ns", n+3000, 3e6*slow, 0.6)
		m.record("home.ttfb", "ns", n+3000, 2.5e6*slow, 0.6)
		m.add("home.bytes_in", int64(n+3000)*1200)
		m.add("home.connections_opened", int64(40*(1-ramp))+5)
		m.set("home.connections_open", int64(ramp*70))
		m.record("home.size", "B", 800, 1200, 0.9)
		m.own(0.3 + slow/16)
		m.cut(time.Second, s < 5, health)
	}
	r.Verdict = run.Suspect
	r.Reasons = []run.Reason{
		{Signal: "start_lag", Level: run.Amber, Text: "starts of class buyer were up to 12 ms late, and not for want of a free user", Advice: "run gobench on CPUs of its own, or spread the load over more machines, or lower the rate", Windows: 6, Worst: 32},
		{Signal: "cpu", Level: run.Amber, Text: "92 % of this machine's CPUs were in use while gobench was late", Advice: "run gobench on CPUs of its own, or spread the load over more machines", Windows: 2, Worst: 32}}
	at := 33.0
	r.Thresholds = []run.Threshold{
		{Expression: "home.latency p99 < 20ms over 10s", Value: "103ms", At: &at},
		{Expression: "home.http_ok rate > 99%", OK: true, Value: "99.1%"},
		{Expression: "check \"has a body\" rate > 99%", Value: "", Reason: "no check is called \"has a body\"", At: &at}}
	r.Notes = []string{"at 20.5 s: paused by ctl", "at 22.0 s: resumed by ctl", "the target is on this machine: it and gobench share the CPUs"}
	r.Samples = []run.Sample{
		{Source: "home", Class: "timeout", At: 30.2, Text: "> GET /checkout HTTP/1.1\n> Host: shop.example\n> Authorization: ***\n>\n< (no answer within 1s)"},
		{Source: "vu.buyer", Class: "iteration", At: 30.4, Text: "cart is empty"}}
	r.Config.Parameters = map[string]string{"url": "http://shop.example/", "cart": "12"}
	return m
}

// large returns a run with a number of histograms and seconds, made without recording anything.
func large(t *testing.T, histograms, seconds int) *made {
	m := newRun(t, "large.go")
	r := m.result
	r.Seconds, r.Measured = float64(seconds), float64(seconds)
	r.Config.Classes = []run.Class{{Name: "user", Users: 1000, Load: fmt.Sprintf("loop for %ds", seconds), Closed: true}}
	titles := make([]string, histograms)
	totals := make([]int64, histograms)
	for s := range seconds {
		i := run.Interval{Start: began.Add(time.Duration(s) * time.Second), From: float64(s), Seconds: 1, Metrics: map[string]run.Record{}}
		for h := range histograms {
			titles[h] = fmt.Sprintf("step%02d.latency", h)
			count := 1000 + m.rand.Int64N(20)
			totals[h] += count
			median := float64(h+1) * (1.2 + math.Sin(float64(s)/200))
			noise := func(times, by float64) run.Quantile {
				return run.Quantile(median * times * math.Exp(by*m.rand.NormFloat64()))
			}
			i.Metrics[titles[h]] = run.Record{Count: &count, Times: &run.Times{P50: noise(1, 0.016), P90: noise(1.7, 0.02), P95: noise(2, 0.03), P99: noise(3, 0.05), Max: float64(noise(5, 0.3))}}
		}
		m.intervals = append(m.intervals, i)
	}
	for h, title := range titles {
		group, graph := place(title)
		rate := float64(totals[h]) / r.Seconds
		r.Metrics = append(r.Metrics, run.Metric{Title: title, Type: "histogram", Group: group, Graph: graph, Unit: "ns",
			Record: run.Record{Count: &totals[h], RPS: &rate, Times: &run.Times{P50: 1, P90: 2, P95: 3, P99: 4, P999: 5, Max: 6}}})
	}
	return m
}
