//go:build linux

package truth

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// observer watches the machine during a run of gobench, by /proc alone and by none of gobench's
// code. It distinguishes a machine that other processes use from a wrong verdict.
type observer struct {
	gobench int // its process
	stop    chan struct{}
	done    sync.WaitGroup

	samples []sample
	peak    int64        // the executor's greatest resident set, bytes
	hiccups *hiccupMeter // nil if there is no meter
	err     error
}

// sample holds what the machine had done by some moment.
type sample struct {
	at                 time.Time
	busy, steal, total float64 // seconds of all CPUs
	tree               float64 // of them, of gobench and its executor
	executor           float64 // of them, of the executor
	pressed            float64 // seconds in which some process waited for a CPU
	memory             float64 // share of the memory that is not available
	swapped, drops     float64
}

const watchEvery = 50 * time.Millisecond

func newObserver(t *testing.T, gobench int) *observer {
	t.Helper()
	o := &observer{gobench: gobench, stop: make(chan struct{})}
	o.hiccups, o.err = theHiccupMeter()
	if o.err == nil {
		o.look()
	}
	if o.err != nil {
		t.Fatal(o.err)
	}
	o.done.Go(func() {
		for tick := time.NewTicker(watchEvery); ; {
			select {
			case <-tick.C:
				o.look()
			case <-o.stop:
				tick.Stop()
				return
			}
		}
	})
	return o
}

// end ends the observation and returns the greatest resident memory of the executor, in bytes.
func (o *observer) end() int64 {
	close(o.stop)
	o.done.Wait()
	return o.peak
}

func (o *observer) look() {
	s := sample{at: time.Now()}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		o.err = err
		return
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	for i, f := range strings.Fields(string(line))[1:9] { // user nice system idle iowait irq softirq steal
		ticks, _ := strconv.ParseFloat(f, 64)
		s.total += ticks / 100
		switch i {
		case 3, 4:
		case 7:
			s.steal = ticks / 100
		default:
			s.busy += ticks / 100
		}
	}
	s.tree = usedBy(o.gobench)
	if executor, err := binary.Child(o.gobench); err == nil {
		s.executor = usedBy(executor)
		s.tree += s.executor
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", executor))
		o.peak = max(o.peak, int64(named(status, "VmHWM:"))<<10)
	}
	if b, err := os.ReadFile("/proc/pressure/cpu"); err == nil {
		line, _, _ := strings.Cut(string(b), "\n")
		_, total, _ := strings.Cut(line, "total=")
		micros, _ := strconv.ParseFloat(total, 64)
		s.pressed = micros / 1e6
	}
	mem, _ := os.ReadFile("/proc/meminfo")
	s.memory = 1 - named(mem, "MemAvailable:")/named(mem, "MemTotal:")
	vm, _ := os.ReadFile("/proc/vmstat")
	s.swapped = named(vm, "pswpin")
	soft, _ := os.ReadFile("/proc/net/softnet_stat")
	for line := range strings.Lines(string(soft)) {
		if f := strings.Fields(line); len(f) > 1 {
			n, _ := strconv.ParseUint(f[1], 16, 64)
			s.drops += float64(n)
		}
	}
	o.samples = append(o.samples, s)
}

// usedBy returns the CPU seconds that a process has used, 0 if it has ended.
func usedBy(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ") // the name may have spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// named returns the number behind a name at the beginning of a line, 0 if missing.
func named(b []byte, name string) float64 {
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			v, _ := strconv.ParseFloat(f[1], 64)
			return v
		}
	}
	return 0
}

// seen is what an observer saw in some time, as shares of it and of all CPUs.
type seen struct {
	cpu, steal, tree, others, pressed, memory float64
	swapped, drops                            float64
	stall, stalls                             time.Duration // the longest pause of the machine, and the sum of them
}

// between returns what it saw between two moments, and whether it has samples of that time.
func (o *observer) between(from, to time.Time) (s seen, ok bool) {
	var a, b *sample
	for i := range o.samples {
		x := &o.samples[i]
		if !x.at.After(from) || a == nil {
			a = x
		}
		if b = x; x.at.After(to) {
			break
		}
	}
	if a == nil || b.total <= a.total {
		return s, false
	}
	all, wall := b.total-a.total, b.at.Sub(a.at).Seconds()
	s = seen{cpu: (b.busy - a.busy) / all, steal: (b.steal - a.steal) / all, tree: max(0, b.tree-a.tree) / all,
		pressed: (b.pressed - a.pressed) / wall, memory: max(a.memory, b.memory), swapped: b.swapped - a.swapped, drops: b.drops - a.drops}
	s.stall, s.stalls = o.hiccups.between(from, to)
	s.others = s.cpu - max(0, b.executor-a.executor)/all // as gobench counts them: the target is among the others
	return s, true
}

func (s seen) String() string {
	return fmt.Sprintf("CPU %.0f %%, gobench %.0f %%, others than its executor %.0f %%, steal %.1f %%, pressure %.0f %%, memory %.0f %%, swapped in %.0f, drops %.0f, longest pause of the machine %v, all %v",
		100*s.cpu, 100*s.tree, 100*s.others, 100*s.steal, 100*s.pressed, 100*s.memory, s.swapped, s.drops, s.stall, s.stalls)
}

// symptoms are signals that other processes or the machine's host can cause.
var symptoms = map[string]bool{"start_lag": true, "rate": true, "scheduler": true, "canary": true, "gc_pause": true, "percentiles": true, "throughput": true}

// A pause of the machine disturbs a run from leastStall on; shorter ones do if they sum to
// leastStalls in a second, as then more than 1 % of the starts are late and the p99 is.
const (
	leastStall  = 3 * time.Millisecond
	leastStalls = 10 * time.Millisecond
)

// confirms reports whether others caused a signal. Its limits are a little below those of
// the verdict, since the observer's seconds and gobench's begin at different moments.
func (s seen) confirms(signal string) bool {
	disturbed := s.others > 0.4 || s.steal > 0.01 || s.pressed > 0.2 && s.others > s.tree || s.stall > leastStall || s.stalls > leastStalls
	switch signal {
	case "cpu":
		return s.cpu > 0.65
	case "neighbours":
		return s.others > 0.4
	case "cpu_pressure":
		return s.pressed > 0.07
	case "steal":
		return s.steal > 0.01
	case "memory":
		return s.memory > 0.88
	case "swap_in":
		return s.swapped > 0
	case "drops":
		return s.drops > 0
	}
	return symptoms[signal] && disturbed
}

// complaints returns why the verdict of a run whose generator was well is wrong. It returns
// nothing if the run is VALID, or if the observer saw the host do what lowered the verdict.
func (m *measured) complaints() (complaints []string) {
	if m.host.err != nil {
		return []string{m.host.err.Error()}
	}
	switch m.Verdict {
	case run.Valid:
		return nil
	case run.Suspect, run.Invalid:
	default:
		return []string{fmt.Sprintf("the verdict is %q", m.Verdict)}
	}
	for _, x := range m.Reasons {
		from, length := m.Start.Add(time.Duration(x.Worst*1e9)), time.Second
		if x.Signal == "percentiles" || x.Signal == "throughput" { // of the whole run
			length = time.Duration(m.Seconds * 1e9)
		}
		s, ok := m.host.between(from.Add(-watchEvery), from.Add(length+watchEvery))
		if !ok || !s.confirms(x.Signal) {
			complaints = append(complaints, fmt.Sprintf("%s %s (%s, at %.1f s) is not confirmed: %v", x.Level, x.Signal, x.Text, x.Worst, s))
		}
	}
	return complaints
}

// Which verdicts the observer accepts from a generator that is well.
func TestObserver(t *testing.T) {
	t.Parallel()
	const n = 40
	// machine returns an observer of two CPUs for 2 s. It is given the shares of them that
	// gobench and others used, and of the time in which some process waited.
	machine := func(own, others, steal, pressed float64) *observer {
		w := new(observer)
		for i := range n + 1 {
			s := float64(i) * watchEvery.Seconds()
			w.samples = append(w.samples, sample{at: time.Unix(1000, 0).Add(time.Duration(i) * watchEvery), total: 2 * s,
				busy: 2 * s * (own + others), steal: 2 * s * steal, tree: 2 * s * own, executor: 2 * s * own, pressed: s * pressed})
		}
		return w
	}
	quiet, crowd := machine(0.1, 0.1, 0, 0.05), machine(0.1, 0.8, 0, 0.3)
	// stalled returns an observer whose machine paused once, and then n-1 times again, each
	// 50 ms later.
	stalled := func(at, length time.Duration, n int) *observer {
		w := machine(0.1, 0.1, 0, 0.05)
		w.hiccups = &hiccupMeter{}
		for i := range n {
			w.hiccups.pauses = append(w.hiccups.pauses, pause{time.Unix(1000, 0).Add(at + length + time.Duration(i)*50*time.Millisecond), length})
		}
		return w
	}
	for _, tt := range []struct {
		name    string
		host    *observer
		verdict run.Verdict
		signal  string
		level   string
		passes  bool
	}{
		{"valid", quiet, run.Valid, "", "", true},
		{"invalid on a quiet machine", quiet, run.Invalid, "start_lag", "red", false},
		{"invalid in a crowd", crowd, run.Invalid, "start_lag", "red", true},
		{"no verdict", quiet, "", "", "", false},
		{"late on a quiet machine", quiet, run.Suspect, "start_lag", "amber", false},
		{"late in a crowd", crowd, run.Suspect, "start_lag", "amber", true},
		{"late by its own CPU use", machine(0.8, 0.1, 0, 0.3), run.Suspect, "start_lag", "amber", false},
		{"neighbours that were seen", crowd, run.Suspect, "neighbours", "amber", true},
		{"neighbours that were not", quiet, run.Suspect, "neighbours", "amber", false},
		{"CPU in use", crowd, run.Suspect, "cpu", "amber", true},
		{"CPU not in use", quiet, run.Suspect, "cpu", "amber", false},
		{"steal", machine(0.1, 0.1, 0.05, 0), run.Suspect, "steal", "amber", true},
		{"late for steal", machine(0.1, 0.1, 0.05, 0), run.Suspect, "canary", "amber", true},
		{"late as the machine paused", stalled(700*time.Millisecond, 8*time.Millisecond, 1), run.Suspect, "canary", "amber", true},
		{"late before it paused", stalled(1700*time.Millisecond, 8*time.Millisecond, 1), run.Suspect, "canary", "amber", false},
		{"late as it paused for a moment", stalled(700*time.Millisecond, 2*time.Millisecond, 1), run.Suspect, "canary", "amber", false},
		{"late as it paused for four moments", stalled(700*time.Millisecond, 2*time.Millisecond, 4), run.Suspect, "start_lag", "amber", false},
		{"late as it paused for six", stalled(700*time.Millisecond, 2*time.Millisecond, 6), run.Suspect, "start_lag", "amber", true},
		{"very late as it paused", stalled(700*time.Millisecond, 8*time.Millisecond, 1), run.Invalid, "canary", "red", true},
		{"garbage as it paused", stalled(700*time.Millisecond, 8*time.Millisecond, 1), run.Suspect, "gc_cpu", "amber", false},
		{"no steal", crowd, run.Suspect, "steal", "amber", false},
		{"pressure", crowd, run.Suspect, "cpu_pressure", "amber", true},
		{"no pressure", quiet, run.Suspect, "cpu_pressure", "amber", false},
		{"garbage is not the host's", crowd, run.Suspect, "gc_cpu", "amber", false},
		{"nor are ports", crowd, run.Suspect, "local_port", "red", false},
	} {
		r := &run.Result{Verdict: tt.verdict, Start: time.Unix(1000, 0)}
		var level run.Severity
		if err := level.UnmarshalText([]byte(tt.level)); err != nil {
			t.Fatal(err)
		}
		if tt.signal != "" {
			r.Reasons = []run.Reason{{Signal: tt.signal, Level: level, Worst: 0.5}}
		}
		m := &measured{Result: r, host: tt.host}
		if got := m.complaints(); (len(got) == 0) != tt.passes {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
