package monitor

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/health"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/testing/roles"
	"github.com/gobench-io/gobench/internal/wire"
)

// recorded is a batch of a second that has n recordings of v in each histogram, adds n to
// each counter and sets each gauge to n.
type recorded struct {
	title string
	n, v  int64
}

func batchOf(seq int, all ...recorded) *wire.Batch {
	b := &wire.Batch{Seq: uint64(seq), FromNs: int64(seq-1) * 1e9, ToNs: int64(seq) * 1e9}
	for i, r := range all {
		m := &wire.Metric{Title: r.title, Type: "counter"}
		name := r.title[strings.LastIndexByte(r.title, '.')+1:]
		switch name {
		case "active", "behind", "users_behind":
			m.Type = "gauge"
			b.Gauges = append(b.Gauges, &wire.Gauge{Metric: uint32(i), Value: r.n})
		case "start_lag", "response", "cpu", "canary":
			m.Type = "histogram"
			var h hdr.Histogram
			for range r.n {
				h.Record(r.v)
			}
			b.Histograms = append(b.Histograms, &wire.Histogram{Metric: uint32(i), Counts: h.Append(nil)})
		default:
			b.Counters = append(b.Counters, &wire.Counter{Metric: uint32(i), Add: r.n})
		}
		if seq == 1 {
			b.Declared = append(b.Declared, roles.Declare(m)...)
		}
	}
	return b
}

// windowAs is the window after a host's executors have added these batches.
func windowAs(t *testing.T, batches ...*wire.Batch) *health.Window {
	t.Helper()
	hs := &hosts{merger: merge.New(0, time.Second)}
	for range batches {
		hs.join(Host{ID: "a"})
		hs.merger.Join("a", 0)
	}
	hs.merger.Join("a", 0) // one without batches: the window stays incomplete
	hs.join(Host{ID: "a"})
	for e, b := range batches {
		if err := hs.merger.Add(e, b); err != nil {
			t.Fatal(err)
		}
		hs.take(e, b)
	}
	h := hs.all[0]
	if len(h.windows) != 1 {
		t.Fatalf("%d windows", len(h.windows))
	}
	return hs.windowOf(h, h.windows[0])
}

// A window as the judge receives it, with each kind of class.
func TestWindowOf(t *testing.T) {
	t.Parallel()
	ms := int64(time.Millisecond)
	w := windowAs(t, batchOf(1, recorded{"vu.a.active", 50, 0}, recorded{"vu.a.behind", 7, 0}, recorded{"vu.a.planned", 100, 0}, recorded{"vu.a.dropped", 3, 0},
		recorded{"vu.a.iterations", 80, 0}, recorded{"vu.a.cut", 2, 0}, recorded{"vu.a.start_lag", 90, ms}, recorded{"vu.a.response", 80, 4 * ms},
		recorded{"vu.b.c.active", 9, 0}, recorded{"vu.b.c.users_behind", 5, 0}, recorded{"vu.b.c.start_lag", 20, ms},
		recorded{"vu.c.active", 4, 0}, recorded{"vu.c.iterations", 10, 0},
		recorded{"vu.d.active", 4, 0}, recorded{"vu.d.behind", 0, 0}, // nothing began, and nothing was due
		recorded{"x.error.local_fd", 3, 0}, recorded{"y.error.local_fd", 4, 0}, recorded{"x.error.local_port", 5, 0},
		recorded{"gobench.cpu", 2, 300}, recorded{"gobench.canary", 1, 2 * ms}, recorded{"vu.no.class.of.ours", 1, 0}))
	want := []health.Load{
		{Class: "a", Starts: 90, P50: time.Millisecond, P90: time.Millisecond, P99: time.Millisecond, Response: 4 * time.Millisecond, Planned: 100, Behind: 7, Dropped: 3, Done: 82, Pool: 50},
		{Class: "b.c", Starts: 20, P50: time.Millisecond, P90: time.Millisecond, P99: time.Millisecond, Planned: 20, Behind: 5, Users: 9},
		{Class: "c", Done: 10, Users: 4},
		{Class: "d", Pool: 4},
	}
	if !reflect.DeepEqual(w.Loads, want) {
		t.Errorf("%+v, want %+v", w.Loads, want)
	}
	if w.From != 0 || w.Length != time.Second || w.NoFiles != 7 || w.NoPorts != 5 || w.Values[health.CPU] != 300 || w.Values[health.Canary] != 2e6 || len(w.Values) != 2 {
		t.Errorf("%+v", w)
	}
}

// Counts and gauges of two executors on a host add up; of figures the worse counts.
func TestWindowOfTwoExecutors(t *testing.T) {
	t.Parallel()
	one := batchOf(1, recorded{"gobench.cpu", 1, 300}, recorded{"vu.a.active", 5, 0}, recorded{"vu.a.iterations", 10, 0}, recorded{"vu.a.response", 30, 1000})
	two := batchOf(1, recorded{"vu.a.active", 6, 0}, recorded{"gobench.cpu", 1, 200}, recorded{"vu.a.response", 40, 3000}, recorded{"vu.a.iterations", 20, 0})
	w := windowAs(t, one, two)
	want := []health.Load{{Class: "a", Done: 30, Users: 11, Response: 3000}}
	if w.Values[health.CPU] != 300 || len(w.Loads) != 1 || w.Loads[0].Response < 2980 || w.Loads[0].Response > 3020 {
		t.Fatalf("%+v", w)
	}
	w.Loads[0].Response = 3000 // to the width of a range
	if !reflect.DeepEqual(w.Loads, want) {
		t.Errorf("%+v, want %+v", w.Loads, want)
	}
}

// The histograms of judged windows are reused for the next ones.
func TestWindowsAreUsedAgain(t *testing.T) {
	x := New(Options{Interval: time.Second})
	x.Executor(Host{ID: "a", Name: "a"}, 0)
	x.Executor(Host{ID: "b", Name: "b"}, 0)
	var one, two feed
	for range 20 {
		for e, f := range []*feed{&one, &two} {
			if err := x.Add(e, f.second(10, 0, false)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(x.hosts.spare); n != 2 {
		t.Errorf("%d histograms are spare, want one of each kind", n)
	}
	for _, h := range x.hosts.all {
		if len(h.windows) != 0 || len(h.levels) != 0 {
			t.Errorf("host %s: %d windows, %d levels", h.Name, len(h.windows), len(h.levels))
		}
	}
}
