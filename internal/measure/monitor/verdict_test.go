package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// timed is what a metric of times recorded: so many of 10 ms, of which some took less at least.
type timed struct {
	title     string
	n         int
	disturbed int
	least     time.Duration
}

// judge returns the result of a run of one second that recorded all of these.
func judge(t *testing.T, reasons []run.Reason, all ...timed) *run.Result {
	t.Helper()
	b := &wire.Batch{Seq: 1, ToNs: 1e9, GoUnixNs: 1e18, Final: &wire.Final{LoadNs: 1e9}}
	metric := uint32(0)
	declare := func(title, kind, unit string, counts run.Counts) {
		m := &wire.Metric{Title: title, Type: kind, Group: "G", Graph: title, Unit: unit}
		m.SetCounts(counts)
		b.Declared = append(b.Declared, m)
		metric++
	}
	histogram := func(title string, n int, value time.Duration, counts run.Counts) {
		var h hdr.Histogram
		for range n {
			h.Record(int64(value))
		}
		b.Histograms = append(b.Histograms, &wire.Histogram{Metric: metric, Counts: h.Append(nil)})
		b.Final.Histograms = append(b.Final.Histograms, &wire.Counted{Metric: metric, Count: uint64(n)})
		declare(title, "histogram", "ns", counts)
	}
	for _, x := range all {
		counts := roles.Of(x.title, run.Histogram)
		disturbed, corrected, _ := counts.Role.Companions()
		histogram(x.title, x.n, 10*time.Millisecond, counts)
		histogram(x.title+"_disturbed", x.disturbed, 10*time.Millisecond, counts.As(disturbed))
		histogram(x.title+"_corrected", x.disturbed, x.least, counts.As(corrected))
		if class, ok := strings.CutSuffix(x.title, ".service"); ok {
			b.Counters = append(b.Counters, &wire.Counter{Metric: metric, Add: int64(x.n)})
			b.Final.Counters = append(b.Final.Counters, &wire.Counter{Metric: metric, Add: int64(x.n)})
			declare(class+".iterations", "counter", "N", roles.Of(class+".iterations", run.Counter))
		}
	}
	x := New(Options{Interval: time.Second})
	x.Executor(Host{ID: "a", Name: "a"}, 0)
	for _, r := range reasons {
		x.Reason(r)
	}
	if err := x.Add(0, b); err != nil {
		t.Fatal(err)
	}
	r := result()
	r.Config.Classes[0].Closed = true
	x.Finish(r)
	return r
}

// A verdict follows from what may be gobench's own in the times of clients and, without one, of
// iterations, from what a closed load may have lost of its rate, and from reasons that decide.
func TestVerdict(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	cause := run.Reason{Signal: "steal", Level: run.Red, Text: "stolen", Cause: true}
	agents := run.Reason{Signal: "agents", Level: run.Amber, Text: "lost"}
	for name, tt := range map[string]struct {
		given   []run.Reason
		times   []timed
		verdict run.Verdict
		reasons string // their signals
	}{
		"undisturbed":                 {nil, []timed{{"http.latency", 1000, 0, 0}}, run.Valid, ""},
		"too little to matter":        {nil, []timed{{"http.latency", 1000, 1000, 9600 * time.Microsecond}}, run.Valid, ""},
		"p99":                         {nil, []timed{{"http.latency", 1000, 990, 8 * ms}}, run.Suspect, "percentiles"},
		"p50":                         {nil, []timed{{"http.latency", 1000, 1000, ms}}, run.Invalid, "percentiles"},
		"of a step":                   {nil, []timed{{"step.buy.time", 1000, 1000, ms}}, run.Valid, ""},
		"iterations without a client": {nil, []timed{{"vu.a.service", 1000, 1000, 8500 * time.Microsecond}}, run.Suspect, "percentiles"},
		"and beside one":              {nil, []timed{{"http.latency", 1000, 0, 0}, {"vu.a.service", 1000, 1000, 8500 * time.Microsecond}}, run.Valid, ""},
		"a closed load's rate":        {nil, []timed{{"http.latency", 1000, 0, 0}, {"vu.a.service", 1000, 1000, 7 * ms}}, run.Suspect, "throughput"},
		"of few iterations":           {nil, []timed{{"http.latency", 1000, 0, 0}, {"vu.a.service", 50, 50, 7 * ms}}, run.Valid, ""},
		"a cause alone":               {[]run.Reason{cause}, []timed{{"http.latency", 1000, 0, 0}}, run.Valid, ""},
		"a cause of something":        {[]run.Reason{cause}, []timed{{"http.latency", 1000, 990, 8 * ms}}, run.Suspect, "percentiles steal"},
		"another reason":              {[]run.Reason{cause, agents}, []timed{{"http.latency", 1000, 0, 0}}, run.Suspect, "agents steal"},
		"the worst first":             {[]run.Reason{agents}, []timed{{"http.latency", 1000, 1000, ms}}, run.Invalid, "percentiles agents"},
	} {
		r := judge(t, tt.given, tt.times...)
		var signals []string
		for _, x := range r.Reasons {
			signals = append(signals, x.Signal)
		}
		if got := strings.Join(signals, " "); r.Verdict != tt.verdict || got != tt.reasons {
			t.Errorf("%s: %s because of %q, want %s because of %q", name, r.Verdict, got, tt.verdict, tt.reasons)
		}
		if noted := slices.Contains(r.Notes, disturbed+"stolen"); noted != (r.Verdict == run.Valid && len(tt.given) > 0) {
			t.Errorf("%s: notes %q", name, r.Notes)
		}
	}
}

// Bounds are in the records: of a distribution, and of a closed load's rate.
func TestBoundsOfRecords(t *testing.T) {
	t.Parallel()
	r := judge(t, nil, timed{"http.latency", 1000, 50, 4 * time.Millisecond}, timed{"vu.a.service", 1000, 1000, 8 * time.Millisecond})
	got := map[string]string{}
	for _, m := range r.Metrics {
		if m.Bounds != nil {
			got[m.Title] = fmt.Sprintf("p50 %.1f p99 %.1f max %.1f avg %.2f rps %.0f", m.Bounds["p50"], m.Bounds["p99"], m.Bounds["max"], m.Bounds["avg"], m.Bounds["rps"])
		}
	}
	want := map[string]string{
		"http.latency":    "p50 0.0 p99 0.0 max 0.0 avg 0.30 rps 0",
		"vu.a.service":    "p50 2.0 p99 2.0 max 2.0 avg 2.00 rps 0",
		"vu.a.iterations": "p50 0.0 p99 0.0 max 0.0 avg 0.00 rps 250",
	}
	for title, s := range want {
		if got[title] != s {
			t.Errorf("%s: %q, want %q", title, got[title], s)
		}
	}
}

// A note of a tally before that what disturbed gobench did no harm goes when later figures say
// otherwise.
func TestNoteOfDisturbancesGoes(t *testing.T) {
	t.Parallel()
	r := judge(t, []run.Reason{{Signal: "steal", Level: run.Red, Text: "stolen", Cause: true}}, timed{"http.latency", 1000, 0, 0})
	if !slices.Contains(r.Notes, disturbed+"stolen") {
		t.Fatalf("notes %q", r.Notes)
	}
	r.Config.Classes[0].Closed = false
	var bad feed
	later := New(Options{Interval: time.Second})
	later.Executor(Host{ID: "a", Name: "a"}, 0)
	if err := later.Add(0, bad.second(100, 50*time.Millisecond, true)); err != nil {
		t.Fatal(err)
	}
	if later.Update(r); r.Verdict == run.Valid || slices.Contains(r.Notes, disturbed+"stolen") {
		t.Errorf("%s with the notes %q", r.Verdict, r.Notes)
	}
}
