package meter

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/executor/metrics"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/testing/long"
)

// client is what the client of a prefix declares.
func client(prefix string) []metrics.Group {
	return []metrics.Group{{Name: "HTTP (" + prefix + ")", Graphs: []metrics.Graph{
		{Title: "Responses", Unit: "N", Metrics: []metrics.Metric{{Title: prefix + ".ok", Type: metrics.Counter}, {Title: prefix + ".fail", Type: metrics.Counter}}},
		{Title: "Latency", Unit: "ns", Metrics: []metrics.Metric{{Title: prefix + ".latency", Type: metrics.Histogram}}},
		{Title: "Connections", Unit: "N", Metrics: []metrics.Metric{{Title: prefix + ".open", Type: metrics.Gauge}}},
	}}}
}

func ready(t testing.TB) (r *Registry, ok, latency, open Meter) {
	r = New()
	if err := r.Setup(client("home")); err != nil {
		t.Fatal(err)
	}
	find := func(title string) Meter {
		m, err := r.Find(title)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	return r, find("home.ok"), find("home.latency"), find("home.open")
}

func TestCutsAddUpToWhatManyGoroutinesRecorded(t *testing.T) {
	r, ok, latency, open := ready(t)
	const users, each = 50, 4000
	var wg sync.WaitGroup
	for u := range users {
		wg.Go(func() {
			open.Add(1)
			for i := range each {
				e := r.Entry(NoPhase)
				e.Add(ok, 1)
				e.Record(latency, int64(u*each+i))
				e.Close()
				latency.Record(5)
			}
			open.Add(-1)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var counted, failed int64
	seen, want := new(hdr.Histogram), new(hdr.Histogram)
	add := func(c *Cut) {
		for _, v := range c.Own.Counters {
			counted += v.Value
		}
		var perCut int64
		for _, h := range c.Own.Histograms {
			seen.Merge(h.Histogram)
			perCut += int64(h.Histogram.Count())
		}
		failed += c.Refused
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		add(r.Cut(Measured))
	}
	for u := range users {
		for i := range each {
			want.Record(int64(u*each + i))
			want.Record(5)
		}
	}
	if counted != users*each || !seen.Equal(want) {
		t.Errorf("counted %d of %d; histograms equal: %v", counted, users*each, seen.Equal(want))
	}
	for _, total := range r.Totals() {
		switch total.Title {
		case "home.ok":
			if total.Value != users*each {
				t.Errorf("total of %s is %d", total.Title, total.Value)
			}
		case "home.latency":
			if !total.Histogram.Equal(want) {
				t.Errorf("total histogram differs")
			}
		case "home.open":
			if total.Value != 0 {
				t.Errorf("open = %d, want 0", total.Value)
			}
		}
	}
}

func TestAnEntryFallsIntoOneCut(t *testing.T) {
	r, ok, latency, _ := ready(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				e := r.Entry(NoPhase)
				e.Add(ok, 1)
				runtime.Gosched() // so that the cut runs in between
				e.Record(latency, 1)
				e.Close()
			}
		})
	}
	for range 300 {
		var n, m int64
		c := r.Cut(Measured)
		for _, v := range c.Own.Counters {
			n += v.Value
		}
		for _, h := range c.Own.Histograms {
			m += int64(h.Histogram.Count())
		}
		if n != m {
			t.Errorf("a cut has %d answers and %d latencies", n, m)
			break
		}
	}
	close(stop)
	wg.Wait()
}

func TestSetupRefusesNamingBothDeclarations(t *testing.T) {
	graph := func(title, unit string, ms ...metrics.Metric) []metrics.Group {
		return []metrics.Group{{Name: "G", Graphs: []metrics.Graph{{Title: title, Unit: unit, Metrics: ms}}}}
	}
	for _, tt := range []struct {
		name   string
		groups []metrics.Group
		want   []string
	}{
		{"another type", graph("X", "N", metrics.Metric{Title: "home.latency", Type: metrics.Counter}),
			[]string{`"home.latency", a histogram in ns`, `group "HTTP (home)"`, `"home.latency", a counter in N`, `group "G"`}},
		{"another place", graph("X", "N", metrics.Metric{Title: "home.ok", Type: metrics.Counter}),
			[]string{`graph "Responses" of group "HTTP (home)"`, `graph "X" of group "G"`}},
		{"another unit", []metrics.Group{{Name: "HTTP (home)", Graphs: []metrics.Graph{{Title: "Latency", Unit: "ms", Metrics: client("home")[0].Graphs[1].Metrics}}}},
			[]string{"in ns", "in ms"}},
		{"a graph that changed", []metrics.Group{{Name: "HTTP (home)", Graphs: []metrics.Graph{{Title: "Latency", Unit: "ns", Metrics: []metrics.Metric{{Title: "home.extra", Type: metrics.Histogram}}}}}},
			[]string{`graph "Latency" of group "HTTP (home)" is declared twice`, "home.latency (histogram)", "home.extra (histogram)"}},
		{"twice in one call", graph("X", "N", metrics.Metric{Title: "a", Type: metrics.Counter}, metrics.Metric{Title: "a", Type: metrics.Gauge}), []string{`"a", a counter`, `"a", a gauge`}},
		{"unknown type", graph("X", "N", metrics.Metric{Title: "a", Type: "sum"}), []string{`"a"`, `"sum"`, "counter, histogram or gauge"}},
		{"empty title", graph("X", "N", metrics.Metric{Type: metrics.Counter}), []string{"a metric's title", `graph "X" of group "G"`, "empty"}},
		{"long title", graph("X", "N", metrics.Metric{Title: strings.Repeat("a", 129), Type: metrics.Counter}), []string{"129 bytes", "128"}},
		{"control characters", graph("X", "N", metrics.Metric{Title: "a\x1b[2J", Type: metrics.Counter}), []string{"do not print", `\x1b`}},
		{"empty unit", graph("X", "", metrics.Metric{Title: "a", Type: metrics.Counter}), []string{"unit", "empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _, _, _ := ready(t)
			before := len(r.Totals())
			err := r.Setup(tt.groups)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if len(r.Totals()) != before {
				t.Error("something was declared all the same")
			}
		})
	}
}

func TestSetupGrowsAGroupByGraphs(t *testing.T) {
	r, ok, _, _ := ready(t)
	ok.Add(3)
	r.Cut(Measured)
	more := []metrics.Group{{Name: "HTTP (home)", Graphs: []metrics.Graph{{Title: "Bytes", Unit: "B", Metrics: []metrics.Metric{{Title: "home.bytes", Type: metrics.Counter}}}}}}
	for range 2 {
		if err := r.Setup(more); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Notify(NoPhase, "home.bytes", 10); err != nil {
		t.Fatal(err)
	}
	ok.Add(1)
	c := r.Cut(Measured)
	if len(c.Declared) != 1 || c.First != 4 || c.Declared[0].Title != "home.bytes" {
		t.Errorf("declared since the last cut: %v from %d", c.Declared, c.First)
	}
	if len(c.Own.Counters) != 2 || c.Own.Counters[0] != (Value{0, 1}) || c.Own.Counters[1] != (Value{4, 10}) {
		t.Errorf("counters = %v", c.Own.Counters)
	}
}

func TestTooManyMetricsAreRefused(t *testing.T) {
	r := New()
	var err error
	n := 0
	for ; err == nil; n++ {
		err = r.Setup(client(fmt.Sprint("p", n)))
	}
	if n != maxMetrics/4+1 || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("after %d clients: %v", n, err)
	}
}

func TestNotify(t *testing.T) {
	r, _, _, _ := ready(t)
	for title, want := range map[string]string{"home.ok": "negative", "home.latency": "negative", "nothing": "not declared"} {
		if err := r.Notify(NoPhase, title, -1); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), title) {
			t.Errorf("Notify(%q, -1) = %v, want it to say %q", title, err, want)
		}
	}
	if err := r.Notify(NoPhase, "home.open", -1); err != nil {
		t.Error(err)
	}
}

func TestNegativeRecordingsAreCountedAsRefused(t *testing.T) {
	r, ok, latency, _ := ready(t)
	ok.Record(-1)
	latency.Record(-1)
	e := r.Entry(NoPhase)
	e.Record(latency, -5)
	e.Close()
	if c := r.Cut(Measured); c.Refused != 3 || len(c.Own.Counters)+len(c.Own.Histograms) != 0 {
		t.Errorf("refused %d, want 3; %v %v", c.Refused, c.Own.Counters, c.Own.Histograms)
	}
}

func TestErrorTextsAreBounded(t *testing.T) {
	r := New()
	for i := range 1000 {
		r.Failed(NoPhase, "home", "timeout", fmt.Sprint("text ", i))
		r.Failed(NoPhase, "home", "reset", fmt.Sprint("text ", i))
		r.Failed(NoPhase, "far", "dns", "no such host")
	}
	r.Failed(NoPhase, "far", "dns", strings.Repeat("é", 10_000))
	texts, total, other := map[string]int{}, int64(0), int64(0)
	for _, f := range r.Cut(Measured).Own.Failures {
		texts[f.Source]++
		total += f.Count
		if f.Text == otherText {
			other += f.Count
		}
		if len(f.Text) > maxText+3 {
			t.Errorf("a text of %d bytes was kept", len(f.Text))
		}
	}
	if texts["home"] != maxTexts+2 || texts["far"] != 2 || total != 3001 || other != 2000-maxTexts {
		t.Errorf("texts %v, total %d, other %d", texts, total, other)
	}
	r.Failed(NoPhase, "far", "dns", "no such host")
	if fs := r.Cut(Measured).Own.Failures; len(fs) != 1 || fs[0].Count != 1 {
		t.Errorf("the next cut tells %v", fs)
	}
}

func TestMemoryDoesNotGrowWithRecordings(t *testing.T) {
	r, ok, latency, _ := ready(t)
	n := 20_000
	if long.Run {
		n = 200_000
	}
	work := func() {
		for i := range n {
			latency.Record(int64(i) * 1000)
			ok.Add(1)
			r.Failed(NoPhase, "home", "timeout", "the same")
		}
		r.Cut(Measured)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	work()
	work()
	before := heap()
	for range 10 {
		work()
	}
	if grown := int64(heap()) - int64(before); grown > 64<<10 {
		t.Errorf("the heap grew by %d B over %d recordings", grown, 10*n)
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	r, ok, latency, open := ready(t)
	latency.Record(1000)
	for name, f := range map[string]func(){
		"Record": func() { latency.Record(1000) },
		"Add":    func() { ok.Add(1) },
		"Set":    func() { open.Set(1) },
		"Entry":  func() { e := r.Entry(NoPhase); e.Record(latency, 1000); e.Add(ok, 1); e.Close() },
		"Setup":  func() { _ = r.Setup(declaredOnce) },
		"Find":   func() { _, _ = r.Find("home.latency") },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

var declaredOnce = client("home")

func BenchmarkRecordAlone(b *testing.B) {
	_, _, latency, _ := ready(b)
	v := int64(0)
	for b.Loop() {
		v += 1000
		latency.Record(v & 0xfffff)
	}
}

func BenchmarkRecordMany(b *testing.B) {
	_, _, latency, _ := ready(b)
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		v := int64(0)
		for pb.Next() {
			v += 1000
			latency.Record(v & 0xfffff)
		}
	})
}

func BenchmarkEntryOfFour(b *testing.B) {
	r, ok, latency, _ := ready(b)
	for b.Loop() {
		e := r.Entry(NoPhase)
		e.Record(latency, 1000)
		e.Add(ok, 1)
		e.Add(ok, 1)
		e.Add(ok, 1)
		e.Close()
	}
}

// BenchmarkSetupAgain measures what each of 100,000 users pays to declare what is declared
// already.
func BenchmarkSetupAgain(b *testing.B) {
	r, _, _, _ := ready(b)
	for b.Loop() {
		if err := r.Setup(declaredOnce); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCut(b *testing.B) {
	r, ok, latency, _ := ready(b)
	for b.Loop() {
		latency.Record(1000)
		ok.Add(1)
		r.Cut(Measured)
	}
}
