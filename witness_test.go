package main

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
)

// witness watches the machine beside gobench, by /proc alone and by none of
// gobench's code: whether a run was disturbed by others is not for gobench alone to
// say.
type witness struct {
	gobench int // its process
	stop    chan struct{}
	done    sync.WaitGroup

	samples []sample
	peak    int64     // the executor's greatest resident set, bytes
	lookout *lookouts // nil: there is none
	err     error
}

// sample is what the machine had done by a moment.
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

func newWitness(t *testing.T, gobench int) *witness {
	t.Helper()
	w := &witness{gobench: gobench, stop: make(chan struct{})}
	w.lookout, w.err = theLookout()
	if w.err == nil {
		w.look()
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	w.done.Go(func() {
		for tick := time.NewTicker(watchEvery); ; {
			select {
			case <-tick.C:
				w.look()
			case <-w.stop:
				tick.Stop()
				return
			}
		}
	})
	return w
}

// end ends the watch and gives the most memory that the executor had.
func (w *witness) end() int64 {
	close(w.stop)
	w.done.Wait()
	return w.peak
}

func (w *witness) look() {
	s := sample{at: time.Now()}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		w.err = err
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
	s.tree = usedBy(w.gobench)
	if executor, err := childOf(w.gobench); err == nil {
		s.executor = usedBy(executor)
		s.tree += s.executor
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", executor))
		w.peak = max(w.peak, int64(named(status, "VmHWM:"))<<10)
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
	w.samples = append(w.samples, s)
}

// usedBy gives the seconds of CPU that a process has used; 0 when it is gone.
func usedBy(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ") // its name may have spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// named gives the number behind a name at the begin of a line.
func named(b []byte, name string) float64 {
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			v, _ := strconv.ParseFloat(f[1], 64)
			return v
		}
	}
	return 0
}

// seen is what the witness saw of some time, as shares of it and of all CPUs.
type seen struct {
	cpu, steal, tree, others, pressed, memory float64
	swapped, drops                            float64
	stall                                     time.Duration // the longest in which the machine stood still
}

// between gives what it saw from one moment to another.
func (w *witness) between(from, to time.Time) (s seen, ok bool) {
	var a, b *sample
	for i := range w.samples {
		x := &w.samples[i]
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
		pressed: (b.pressed - a.pressed) / wall, memory: max(a.memory, b.memory), swapped: b.swapped - a.swapped, drops: b.drops - a.drops, stall: w.lookout.longest(from, to)}
	s.others = s.cpu - max(0, b.executor-a.executor)/all // as gobench counts them: the target is one of them
	return s, true
}

func (s seen) String() string {
	return fmt.Sprintf("CPU %.0f %%, gobench %.0f %%, others than its executor %.0f %%, steal %.1f %%, pressure %.0f %%, memory %.0f %%, swapped in %.0f, drops %.0f, longest stall of the machine %v",
		100*s.cpu, 100*s.tree, 100*s.others, 100*s.steal, 100*s.pressed, 100*s.memory, s.swapped, s.drops, s.stall)
}

// symptoms are signals that others can cause, and host's what they are caused by. A
// symptom is excused at amber only: gobench itself lowers it to that among others.
var symptoms = map[string]bool{"start_lag": true, "rate": true, "scheduler": true, "canary": true, "gc_pause": true}

// leastStall is how long the machine stands still at least where that is a disturbance.
const leastStall = 3 * time.Millisecond

// The witness believes in a little less than the verdict's limits: its seconds and
// gobench's do not begin at the same moment.
func (s seen) confirms(signal, level string) bool {
	disturbed := s.others > 0.4 || s.steal > 0.01 || s.pressed > 0.2 && s.others > s.tree || s.stall > leastStall
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
	return symptoms[signal] && level == "amber" && disturbed
}

// clean makes a run of a generator that is well, and makes it anew, twice at most,
// when it is SUSPECT for a reason that the witness did not see: disturbances may be
// too short for that. INVALID never is.
func clean(t *testing.T, make func() *measured) *measured {
	t.Helper()
	for tries := 1; ; tries++ {
		m := make()
		complaints := m.complaints()
		if len(complaints) == 0 || t.Failed() {
			return m
		}
		if tries == 3 || m.Verdict != run.Suspect {
			t.Fatalf("run %d: %q", tries, complaints)
		}
		t.Logf("run %d, which is made anew: %q", tries, complaints)
	}
}

// complaints tell why a run of a generator that is well must not have ended as it did;
// nothing, when it is VALID, or SUSPECT for what the host did, which the witness saw.
func (m *measured) complaints() (complaints []string) {
	if m.host.err != nil {
		return []string{m.host.err.Error()}
	}
	switch m.Verdict {
	case run.Valid:
		return nil
	case run.Suspect:
	default:
		return []string{fmt.Sprintf("the verdict is %q because of %+v", m.Verdict, m.Reasons)}
	}
	for _, x := range m.Reasons {
		from := m.Start.Add(time.Duration(x.Worst * 1e9))
		s, ok := m.host.between(from.Add(-watchEvery), from.Add(time.Second+watchEvery))
		if !ok || !s.confirms(x.Signal, x.Level.String()) {
			complaints = append(complaints, fmt.Sprintf("%s %s (%s, at %.1f s) is not confirmed: %v", x.Level, x.Signal, x.Text, x.Worst, s))
		}
	}
	return complaints
}
