package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// feed is an executor whose class starts this many iterations a second, each as late as second is called with.
type feed struct {
	seq  uint64
	at   time.Duration
	done int64
	late uint64
}

func (f *feed) second(starts int64, late time.Duration, final bool) *wire.Batch {
	f.seq++
	var lag, response, disturbed, corrected hdr.Histogram
	for range starts {
		lag.Record(int64(late))
		response.Record(int64(time.Millisecond + late))
		if late > 0 {
			disturbed.Record(int64(time.Millisecond + late))
			corrected.Record(int64(time.Millisecond))
		}
	}
	f.done += starts
	f.late += disturbed.Count()
	b := &wire.Batch{Seq: f.seq, FromNs: int64(f.at), ToNs: int64(f.at + time.Second),
		Counters:   []*wire.Counter{{Metric: 0, Add: starts}, {Metric: 1, Add: starts}},
		Gauges:     []*wire.Gauge{{Metric: 2, Value: 1}, {Metric: 3}},
		Histograms: []*wire.Histogram{{Metric: 4, Counts: lag.Append(nil)}, {Metric: 5, Counts: response.Append(nil)}, {Metric: 6, Counts: disturbed.Append(nil)}, {Metric: 7, Counts: corrected.Append(nil)}}}
	if f.seq == 1 {
		b.GoUnixNs = 1e18
		for _, m := range [][2]string{{"iterations", "counter"}, {"planned", "counter"}, {"active", "gauge"}, {"behind", "gauge"}, {"start_lag", "histogram"}, {"response", "histogram"}, {"response_disturbed", "histogram"}, {"response_corrected", "histogram"}} {
			unit := "N"
			if m[1] == "histogram" {
				unit = "ns"
			}
			b.Declared = append(b.Declared, roles.Declare(&wire.Metric{Title: "vu.a." + m[0], Type: m[1], Group: "Users", Graph: m[0], Unit: unit})...)
		}
	}
	if final {
		n := uint64(f.done)
		b.Final = &wire.Final{LoadNs: b.ToNs, Counters: []*wire.Counter{{Metric: 0, Add: f.done}, {Metric: 1, Add: f.done}},
			Histograms: []*wire.Counted{{Metric: 4, Count: n}, {Metric: 5, Count: n}, {Metric: 6, Count: f.late}, {Metric: 7, Count: f.late}}}
	}
	f.at += time.Second
	return b
}

func result() *run.Result {
	return &run.Result{State: run.Finished, Config: run.Config{Interval: 1, Classes: []run.Class{{Name: "a"}}}}
}

// A host that is late is named, however well the others perform.
func TestOneLateHost(t *testing.T) {
	t.Parallel()
	var events []event.Event
	x := New(Options{Interval: time.Second, Emit: func(e event.Event) { events = append(events, e) }})
	x.Executor(Host{ID: "web-1", Name: "web-1"}, 0)
	x.Executor(Host{ID: "web-2", Name: "web-2"}, 0)
	var good, bad feed
	for i := range 6 {
		last := i == 5
		for e, b := range []*wire.Batch{good.second(100, 0, last), bad.second(100, 50*time.Millisecond, last)} {
			if err := x.Add(e, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := result()
	x.Finish(r)
	if r.Verdict != run.Invalid || len(r.Reasons) != 2 || !strings.HasPrefix(r.Reasons[0].Text, "p90 of a response time may be 1.00 ms, not 51.0 ms") || !strings.HasPrefix(r.Reasons[1].Text, "on web-2: ") {
		t.Errorf("the run is %s for %+v, want INVALID for web-2", r.Verdict, r.Reasons)
	}
	if len(events) != 6 || events[3].Interval.Health["start_lag"] != run.Red {
		t.Errorf("%d intervals, the fourth with health %v; want 6 with a red start lag", len(events), events[3].Interval.Health)
	}
	if !r.Complete || *r.Metrics[0].Count != 1200 {
		t.Errorf("%d iterations, missing %q", *r.Metrics[0].Count, r.Missing)
	}
}

// TestBatchesAfterTheFinal holds that a batch after an executor's final one, as an archive may
// have, is ignored, whatever it counts.
func TestBatchesAfterTheFinal(t *testing.T) {
	t.Parallel()
	x := New(Options{Interval: time.Second})
	x.Executor(Host{ID: "web-1", Name: "web-1"}, 0)
	var f feed
	if err := x.Add(0, f.second(100, 0, true)); err != nil {
		t.Fatal(err)
	}
	before := *x.Merger.Metrics()[0].Count
	b := f.second(100, 0, true)
	b.Counters = append(b.Counters, &wire.Counter{Metric: 1 << 30, Add: 1})
	if err := x.Add(0, b); err != nil {
		t.Error(err)
	}
	if n := *x.Merger.Metrics()[0].Count; n != before {
		t.Errorf("%d iterations, want %d", n, before)
	}
}

// Hosts with the same share of an open load do the same work, according to their users.
func TestUnevenHosts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		users map[string]map[string]int64
		want  bool
	}{
		"not known":   {nil, false},
		"even users":  {map[string]map[string]int64{"a": {"web-1": 1, "web-2": 1}}, true},
		"as it is":    {map[string]map[string]int64{"a": {"web-1": 1, "web-2": 2}}, false},
		"one has all": {map[string]map[string]int64{"a": {"web-2": 2}}, false},
	} {
		x := New(Options{Interval: time.Second})
		x.Users(tt.users)
		x.Executor(Host{ID: "web-1", Name: "web-1"}, 0)
		x.Executor(Host{ID: "web-2", Name: "web-2"}, 0)
		var one, two feed
		if err := x.Add(0, one.second(100, 0, true)); err != nil {
			t.Fatal(err)
		}
		if err := x.Add(1, two.second(200, 0, true)); err != nil {
			t.Fatal(err)
		}
		r := result()
		x.Finish(r)
		uneven := len(r.Reasons) > 0 && r.Reasons[0].Signal == "uneven"
		if uneven != tt.want || uneven != (r.Verdict == run.Suspect) {
			t.Errorf("%s: %s for %+v", name, r.Verdict, r.Reasons)
		}
	}
}

// Thresholds are judged on what all hosts recorded, and one of them ends the load once.
func TestThresholdsOfAllHosts(t *testing.T) {
	t.Parallel()
	aborts := 0
	x := New(Options{Interval: time.Second, Abort: func() { aborts++ }})
	x.Executor(Host{ID: "web-1", Name: "web-1"}, 0)
	x.Executor(Host{ID: "web-2", Name: "web-2"}, 0)
	var all []threshold.Threshold
	for _, text := range []string{"vu.a.iterations count > 450", "vu.a.iterations rps < 150 over 1s abort"} {
		one, err := threshold.ParseFor(text, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	x.Thresholds(all)
	var one, two feed
	for i := range 3 {
		for e, f := range []*feed{&one, &two} {
			if err := x.Add(e, f.second(80, 0, i == 2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := result()
	x.Finish(r)
	if len(r.Thresholds) != 2 || !r.Thresholds[0].OK || r.Thresholds[1].OK || aborts != 1 || x.Aborted() == "" {
		t.Errorf("thresholds %+v, %d aborts", r.Thresholds, aborts)
	}
}

// Reasons found elsewhere lower a verdict, intervals do not wait for lost hosts, and what these
// counted and did not send makes a run INVALID.
func TestReasonsAndLostHosts(t *testing.T) {
	t.Parallel()
	intervals := 0
	x := New(Options{Interval: time.Second, Emit: func(event.Event) { intervals++ }})
	x.Executor(Host{ID: "web-1", Name: "web-1"}, 0)
	x.Executor(Host{ID: "web-2", Name: "web-2"}, 0)
	x.Lose(1)
	x.Reason(run.Reason{Signal: "agents", Level: run.Amber, Text: "agent web-2 was lost"})
	var one feed
	for i := range 3 {
		if err := x.Add(0, one.second(100, 0, i == 2)); err != nil {
			t.Fatal(err)
		}
	}
	if intervals != 3 {
		t.Errorf("%d intervals without the lost host, want 3", intervals)
	}
	r := result()
	x.Finish(r)
	if r.Verdict != run.Invalid || len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "on web-2") || len(r.Reasons) != 2 || r.Reasons[0].Signal != "totals" {
		t.Errorf("%s for %+v, missing %q", r.Verdict, r.Reasons, r.Missing)
	}
}

// Hosts of the same name are judged apart, each by its own users.
func TestHostsOfTheSameName(t *testing.T) {
	t.Parallel()
	for _, users := range []map[string]int64{{"a1": 1, "a2": 2, "a3": 3}, {"a1": 1, "a2": 1, "a3": 1}} {
		x := New(Options{Interval: time.Second})
		x.Users(map[string]map[string]int64{"a": users})
		for _, h := range []Host{{"a1", "web"}, {"a2", "web"}, {"a3", "other"}} {
			x.Executor(h, 0)
		}
		for e, starts := range []int64{100, 200, 300} {
			var f feed
			if err := x.Add(e, f.second(starts, 0, true)); err != nil {
				t.Fatal(err)
			}
		}
		r := result()
		x.Finish(r)
		even := users["a2"] == 2
		if uneven := len(r.Reasons) > 0 && r.Reasons[0].Signal == "uneven"; uneven == even {
			t.Errorf("users %v: %s for %+v", users, r.Verdict, r.Reasons)
		}
	}
}
