package health

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// windows returns n windows of a second, the first bad of them changed by f.
func windows(n, bad int, f func(*Window)) []*Window {
	var all []*Window
	for i := range n {
		w := &Window{From: time.Duration(i) * time.Second, Length: time.Second, Values: map[Metric]float64{CPU: 300, OwnCPU: 200, Canary: 0}}
		if i < bad {
			f(w)
		}
		all = append(all, w)
	}
	return all
}

func judged(all []*Window) []run.Reason {
	var j Judge
	for _, w := range all {
		j.Add(w)
	}
	return j.Reasons()
}

func is(m Metric, v float64) func(*Window) { return func(w *Window) { w.Values[m] = v } }

func all(fs ...func(*Window)) func(*Window) {
	return func(w *Window) {
		for _, f := range fs {
			f(w)
		}
	}
}

func lags(late, response time.Duration) func(*Window) {
	return func(w *Window) {
		w.Loads = append(w.Loads, Load{Class: "buyer", Starts: 1000, P99: late, Response: response})
	}
}

// half of the starts are late by late
func half(late, response time.Duration) func(*Window) {
	return func(w *Window) {
		w.Loads = append(w.Loads, Load{Class: "buyer", Starts: 1000, P50: late, P99: late, Response: response})
	}
}

// begun is a class of which started of planned starts began in each window.
func begun(planned, starts int64) func(*Window) {
	return func(w *Window) { w.Loads = append(w.Loads, Load{Class: "b", Planned: planned, Starts: starts}) }
}

// Every signal, on both sides of its limits, in all windows of a run.
func TestSignals(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	late := lags(2*ms, 20*time.Millisecond)
	crowd := all(is(CPU, 900), is(OwnCPU, 200))
	raised := map[string]bool{}
	for _, tt := range []struct {
		name    string
		f       func(*Window)
		reasons string // signal and level of each
	}{
		{"nothing", func(*Window) {}, ""},
		{"no figures at all", func(w *Window) { w.Values = nil }, ""},
		{"start lag at its limit", lags(ms, 20*time.Millisecond), ""},
		{"start lag", late, "start_lag amber"},
		{"start lag at its second limit", lags(10*ms, 20*time.Millisecond), "start_lag amber"},
		{"much start lag", lags(10*ms+1, 20*time.Millisecond), "start_lag red"},
		{"start lag of a twentieth of the response time", lags(50*ms, time.Second), ""},
		{"start lag of more than that", lags(50*ms+1, time.Second), "start_lag red"},
		{"a little start lag of more than that", lags(2*ms, 39*ms), "start_lag amber"},
		{"median start lag of half the response time", half(600*time.Microsecond, ms), "start_lag red"},
		{"median start lag of less than half the response time", half(500*time.Microsecond, ms), ""},
		{"median start lag of half a small response time", half(500*time.Microsecond, 100*time.Microsecond), ""},
		{"start lag in the tail, of half a small response time", lags(900*time.Microsecond, 100*time.Microsecond), ""},
		{"the worst class decides", all(lags(0, 0), lags(11*ms, 20*time.Millisecond), late), "start_lag red"},
		{"a class without starts", func(w *Window) { w.Loads = []Load{{Class: "a", P99: time.Second}} }, ""},
		{"one late start of fifty", func(w *Window) { w.Loads = []Load{{Starts: 50, P90: ms / 2, P99: time.Second}} }, ""},
		{"99 % of the planned rate", begun(1000, 990), ""},
		{"98.9 % of the planned rate", begun(1000, 989), "rate amber"},
		{"95 % of the planned rate", begun(1000, 950), "rate amber"},
		{"94.9 % of the planned rate", begun(1000, 949), "rate red"},
		{"94.9 % of the planned rate among neighbours", all(crowd, begun(1000, 949)), "neighbours amber, rate red, cpu amber"},
		{"nothing that was planned began", begun(1000, 0), "rate red"},
		{"nothing was planned", begun(0, 0), ""},
		{"quota in use, all on time", is(QuotaCPU, 1000), ""},
		{"quota in use, at its limit, and late", all(is(QuotaCPU, 800), late), "start_lag amber"},
		{"quota in use, and late", all(is(QuotaCPU, 801), late), "cpu_quota amber, start_lag amber"},
		{"quota nearly used up, and late", all(is(QuotaCPU, 901), late), "cpu_quota red, start_lag amber"},
		{"limit of memory", is(MemoryLimit, 900), ""},
		{"limit of memory nearly reached", is(MemoryLimit, 901), "memory_limit red"},
		{"link at its limit", is(Link, 800), ""},
		{"link", is(Link, 801), "link amber"},
		{"all CPUs in use, all on time", is(CPU, 1000), ""},
		{"own CPU use, and late", all(is(CPU, 950), is(OwnCPU, 900), late), "cpu amber, start_lag amber"},
		{"CPU at its limit, and late", all(is(CPU, 800), is(OwnCPU, 800), late), "start_lag amber"},
		{"CPU in use and goroutines late", all(is(CPU, 950), is(OwnCPU, 900), is(Scheduler, 2e6)), "cpu amber, scheduler amber"},
		{"others' CPU use, all on time", crowd, ""},
		{"others' CPU use makes late", all(crowd, lags(50*ms, 20*time.Millisecond)), "neighbours amber, start_lag red, cpu amber"},
		{"steal makes late", all(is(Steal, 300), is(Canary, 1e9)), "steal red, canary red"},
		{"a crowd of waiting processes", all(is(CPU, 500), is(OwnCPU, 100), is(Pressure, 251), lags(50*ms, 20*time.Millisecond)), "start_lag red, cpu_pressure amber"},
		{"gobench's own waiting processes", all(is(CPU, 500), is(OwnCPU, 300), is(Pressure, 251), lags(50*ms, 20*time.Millisecond)), "start_lag red, cpu_pressure amber"},
		{"steal at its limit", is(Steal, 20), ""},
		{"steal", is(Steal, 21), "steal amber"},
		{"pressure, all on time", is(Pressure, 900), ""},
		{"pressure, and late", all(is(Pressure, 101), late), "cpu_pressure amber, start_lag amber"},
		{"quota", is(Throttled, 1), "throttled amber"},
		{"quota, often", is(Throttled, 101), "throttled red"},
		{"memory at its limit", is(Memory, 900), ""},
		{"memory", is(Memory, 901), "memory red"},
		{"swap", is(SwapIn, 1), "swap_in red"},
		{"scheduler at its limit", is(Scheduler, 1e6), ""},
		{"scheduler", is(Scheduler, 10e6), "scheduler amber"},
		{"scheduler, much", is(Scheduler, 10e6+1), "scheduler red"},
		{"GC pause at its limit", is(GCPause, 5e6), ""},
		{"GC pause", is(GCPause, 5e6+1), "gc_pause amber"},
		{"GC CPU at its limit", is(GCCPU, 100), ""},
		{"GC CPU", is(GCCPU, 250), "gc_cpu amber"},
		{"GC CPU, much", is(GCCPU, 251), "gc_cpu red"},
		{"canary at its limit", is(Canary, 5e6), ""},
		{"canary", is(Canary, 20e6), "canary amber"},
		{"canary, much", is(Canary, 20e6+1), "canary red"},
		{"drops", is(Drops, 1), "drops amber"},
		{"segments sent again are no fault of ours", is(Retransmits, 500), ""},
		{"no files", func(w *Window) { w.NoFiles = 1 }, "local_fd red"},
		{"no ports", func(w *Window) { w.NoPorts = 1 }, "local_port red"},
		{"clock at its limit", is(ClockStep, 100e6), ""},
		{"clock", is(ClockStep, 100e6+1), "clock_step amber"},
		{"a warm-up does not count", func(w *Window) { w.Warmup, w.NoFiles = true, 1 }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range judged(windows(20, 20, tt.f)) {
				got = append(got, r.Signal+" "+r.Level.String())
				raised[r.Signal] = true
				if r.Text == "" || r.Advice == "" || r.Windows != 20 {
					t.Errorf("reason %+v", r)
				}
			}
			if strings.Join(got, ", ") != tt.reasons {
				t.Errorf("%q, want %q", strings.Join(got, ", "), tt.reasons)
			}
		})
	}
	for _, s := range signals {
		if !s.note && !raised[s.name] {
			t.Errorf("no case raises the signal %s", s.name)
		}
	}
}

// The levels of a window list what was not fine in it, whether or not it lowers the
// verdict.
func TestLevelsOfAWindow(t *testing.T) {
	t.Parallel()
	for n, tt := range []struct {
		f    func(*Window)
		want map[string]run.Severity
	}{
		{func(*Window) {}, nil},
		{lags(2*time.Millisecond, 20*time.Millisecond), map[string]run.Severity{"start_lag": run.Amber}},
		{all(is(GCCPU, 300), is(Scheduler, 2e6), is(CPU, 850), is(OwnCPU, 800)), map[string]run.Severity{"gc_cpu": run.Red, "scheduler": run.Amber, "cpu": run.Amber}},
		{is(Retransmits, 500), nil}, // a note
		{all(is(GCCPU, 300), func(w *Window) { w.Warmup = true }), nil},
	} {
		if got := new(Judge).Add(windows(1, 1, tt.f)[0]); !maps.Equal(got, tt.want) {
			t.Errorf("window %d: %v, want %v", n, got, tt.want)
		}
	}
}

// What came with most of gobench's own delay is first, also if something else was worse by itself.
func TestReasonsByWhatTheyDid(t *testing.T) {
	t.Parallel()
	ws := windows(10, 2, all(is(GCCPU, 300), func(w *Window) { w.Own = time.Second }))
	ws[5].Values[Canary], ws[5].Own = 6e6, 6*time.Second
	ws[6].Values[Drops], ws[6].Own = 1, 2*time.Second
	var got []string
	for _, r := range judged(ws) {
		got = append(got, fmt.Sprintf("%s %.1f", r.Signal, r.Share))
	}
	if want := "canary 0.6 gc_cpu 0.2 drops 0.2"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// short returns windows of 0.1 s whose first bad ones started late.
func short(n, bad int) (all []*Window) {
	for i := range n {
		w := &Window{From: time.Duration(i) * time.Second / 10, Length: time.Second / 10}
		if i < bad {
			lags(time.Second, 0)(w)
		}
		all = append(all, w)
	}
	return all
}

// One start that fell into the milliseconds behind the last whole interval.
func TestRestOfARun(t *testing.T) {
	t.Parallel()
	rest := func(from, length time.Duration, starts int64) *Window {
		return &Window{From: from, Length: length, Loads: []Load{{Class: "b", Starts: starts, P50: 4 * time.Millisecond, P90: 20 * time.Millisecond, Response: time.Millisecond}}}
	}
	for _, tt := range []struct {
		name string
		all  []*Window
		want string
	}{
		{"behind whole intervals", append(windows(4, 1, lags(20*time.Millisecond, 20*time.Millisecond)), rest(4*time.Second, 5*time.Millisecond, 9)), "start_lag red"},
		{"alone", []*Window{rest(0, 5*time.Millisecond, 9)}, "start_lag red"},
		{"as a fifth of the run", append(windows(1, 0, nil), rest(time.Second, 250*time.Millisecond, 9)), "start_lag red"},
		{"with many starts", append(windows(1, 0, nil), rest(time.Second, 90*time.Millisecond, 10)), "start_lag red"},
		{"with few starts", append(windows(1, 0, nil), rest(time.Second, 90*time.Millisecond, 9)), ""},
	} {
		got := ""
		for _, r := range judged(tt.all) {
			got += r.Signal + " " + r.Level.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAFigureStandsUntilTheNextSample(t *testing.T) {
	t.Parallel()
	ws := short(40, 0)
	for i := 0; i < 40; i += 10 { // a sample a second
		ws[i].Values = map[Metric]float64{GCCPU: 300, Drops: 1}
	}
	v := judged(ws)
	if len(v) != 2 || v[0].Signal != "gc_cpu" || v[0].Windows != 40 || v[1].Signal != "drops" || v[1].Windows != 4 {
		t.Errorf("%+v", v)
	}
}

func TestReasonsTellTheWorst(t *testing.T) {
	t.Parallel()
	ws := windows(10, 4, lags(3*time.Millisecond, 20*time.Millisecond))
	ws[2].Loads[0].P99 = 12345 * time.Microsecond
	ws[3].NoFiles = 4
	ws[5].NoFiles = 3
	var j Judge
	for _, w := range ws {
		j.Add(w)
	}
	v := j.Reasons()
	if len(v) != 2 {
		t.Fatalf("%+v", v)
	}
	if r := v[0]; r.Signal != LocalFiles || !strings.HasPrefix(r.Text, "7 operations") || r.Worst != 3 || r.Windows != 2 {
		t.Errorf("%+v", r)
	}
	if r := v[1]; r.Worst != 2 || r.Windows != 4 || r.Text != "starts of class buyer were up to 12.3 ms late, and not for want of a free user" {
		t.Errorf("%+v", r)
	}
	if got := j.Others(); got < 0.0999 || got > 0.1001 {
		t.Errorf("others used %v of the machine", got)
	}
}
