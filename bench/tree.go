package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sampling uses CPU of the measured machine: reading one process takes 10 us, a search for
// new ones 200 us, and PSS, which walks page tables, 1 ms for 100 MB.
const (
	sampleEvery = 50 * time.Millisecond
	searchEvery = 8  // samples, after the same number at the start
	pssEvery    = 20 // samples
)

// A treeWatch samples the memory of a process and all its descendants, by a goroutine that
// runs from watch to stop; only it calls search, sample and look. Read its figures after
// stop.
type treeWatch struct {
	rss, pss int64 // bytes, the largest sums seen; read after stop, like the next two
	top      int64 // the root's own maximum
	last     child // the process of the tree, except the root, that was started last

	root int
	pids []int          // the tree as of the last search
	seen map[int]uint64 // every process seen: pid and its start time
	end  chan struct{}
	done chan struct{}
}

// A child is what one process below the root used, according to the samples: what it did
// after the last one, at most 50 ms before its end, is missing. Gobench's last one is its
// executor, the process that generates the load.
type child struct {
	pid  int
	cpu  time.Duration // user and system
	peak int64         // bytes; its maximum resident memory, by the kernel's account
	rss  []int64       // bytes, at each sample
	used []cpuSample   // at each sample
}

// A cpuSample is the CPU time that a process had used at a moment.
type cpuSample struct {
	at  time.Time
	cpu time.Duration
}

// steady returns how many CPUs the child used from the half to four fifths of its samples,
// without its start and its end, as when it closes all connections; 0 for fewer than 5
// samples.
func (c child) steady() float64 {
	if len(c.used) < 5 {
		return 0
	}
	from, to := c.used[len(c.used)/2], c.used[len(c.used)*4/5]
	return (to.cpu - from.cpu).Seconds() / to.at.Sub(from.at).Seconds()
}

// settled returns the child's resident memory in bytes in the second half of its life: the
// median of the samples; 0 without any.
func (c child) settled() int64 {
	if len(c.rss) == 0 {
		return 0
	}
	half := slices.Clone(c.rss[len(c.rss)/2:])
	slices.Sort(half)
	return half[len(half)/2]
}

// look takes a sample of the process of w.pids that was started last, the root excluded. A
// process that has just ended, a zombie included, shows nothing, and earlier samples
// remain; those of another process are replaced.
func (w *treeWatch) look() {
	pid, started := 0, uint64(0)
	for _, p := range w.pids {
		if at := w.seen[p]; p != w.root && (at > started || at == started && p > pid) {
			pid, started = p, at
		}
	}
	rss := residentBytes(pid)
	if pid == 0 || rss == 0 {
		return
	}
	if w.last.pid != pid {
		w.last = child{pid: pid}
	}
	w.last.rss = append(w.last.rss, rss)
	w.last.cpu = max(w.last.cpu, statTime(stat(pid)))
	w.last.used = append(w.last.used, cpuSample{time.Now(), w.last.cpu})
	var kb int64
	if _, err := fmt.Sscanf(value(proc(pid, "status"), "VmHWM", ":"), "%d kB", &kb); err == nil {
		w.last.peak = max(w.last.peak, kb*1024)
	}
}

// watch starts to sample the tree below root, root included, every 50 ms; PSS each second.
// New processes are found within 0.4 s. The caller must call stop.
func watch(root int) *treeWatch {
	w := &treeWatch{root: root, seen: map[int]uint64{}, end: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			if n < searchEvery || n%searchEvery == 0 {
				w.search()
			}
			w.sample(n%pssEvery == pssEvery/2)
			select {
			case <-tick.C:
			case <-w.end:
				return
			}
		}
	}()
	return w
}

// search sets w.pids to the processes of the tree, and adds new ones to w.seen with their
// start times. Only the goroutine of watch calls it.
func (w *treeWatch) search() {
	w.pids = descendants(w.root)
	for _, pid := range w.pids {
		if _, ok := w.seen[pid]; !ok {
			w.seen[pid] = startTime(pid)
		}
	}
}

// sample reads the memory of the processes in w.pids and raises the maxima; withPSS also
// that of shared pages, which takes longer. Only the goroutine of watch calls it.
func (w *treeWatch) sample(withPSS bool) {
	var rss, pss int64
	for _, pid := range w.pids {
		r := residentBytes(pid)
		if rss += r; pid == w.root {
			w.top = max(w.top, r)
		}
		if withPSS {
			pss += proportionalBytes(pid)
		}
	}
	w.rss, w.pss = max(w.rss, rss), max(w.pss, pss)
	w.look()
	if onSample != nil {
		onSample(w.pids)
	}
}

// onSample, unless nil, is called with the processes of each sample. Tests set it before any
// is taken.
var onSample func(pids []int)

// stop ends the sampling, after the root has ended. Processes of the tree that outlive it
// by more than a second are killed and returned as "NAME (PID)", in any order. Call it
// once.
func (w *treeWatch) stop() (left []string) {
	close(w.end)
	<-w.done
	alive := func() (pids []int) {
		for pid, start := range w.seen {
			if pid != w.root && start != 0 && startTime(pid) == start {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	for deadline := time.Now().Add(time.Second); len(alive()) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range alive() {
		name, _ := os.ReadFile(proc(pid, "comm"))
		left = append(left, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(name)), pid))
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	return left
}

// descendants returns the pids of the tree below pid, pid first, whether or not it exists.
// A process that has ended has no children in it.
func descendants(pid int) []int {
	pids := []int{pid}
	lists, _ := filepath.Glob(proc(pid, "task/*/children"))
	for _, name := range lists {
		b, _ := os.ReadFile(name) // a thread may have ended meanwhile
		for _, f := range bytes.Fields(b) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, descendants(child)...)
			}
		}
	}
	return pids
}

func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// stat returns the fields of /proc/PID/stat from the third on, which is at index 0: the
// second, the name in parentheses, may contain spaces. It is empty if there is no such
// process.
func stat(pid int) []string {
	b, _ := os.ReadFile(proc(pid, "stat"))
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// startTime returns when a process started, in clock ticks since the machine did: it
// distinguishes two processes that had the same pid. It is 0 for one that has ended, a
// zombie included.
func startTime(pid int) uint64 {
	f := stat(pid)
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return 0
	}
	t, _ := strconv.ParseUint(f[19], 10, 64)
	return t
}

// residentBytes returns the resident memory (RSS) of a process in bytes; 0 for one that has
// ended.
func residentBytes(pid int) int64 {
	b, _ := os.ReadFile(proc(pid, "statm"))
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// proportionalBytes returns the memory of a process in bytes, with each shared page divided
// by its users (PSS); 0 for one that has ended or is not ours.
func proportionalBytes(pid int) int64 {
	b, _ := os.ReadFile(proc(pid, "smaps_rollup"))
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pss:")); ok {
			kb, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
			n, _ := strconv.ParseInt(kb, 10, 64)
			return n * 1024
		}
	}
	return 0
}

const clockTick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on

// cpuTime returns the user and system time that the processes have used so far, all
// threads together; a process that has ended counts as 0. The scheduler's own nanoseconds
// are used if available; they miss threads that have ended, which no server of ours has.
func cpuTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		tasks, _ := filepath.Glob(proc(pid, "task/*/schedstat"))
		for _, name := range tasks {
			b, _ := os.ReadFile(name)
			ns, _, _ := strings.Cut(string(b), " ")
			n, _ := strconv.ParseInt(ns, 10, 64)
			sum += time.Duration(n)
		}
		if len(tasks) == 0 {
			sum += statTime(stat(pid))
		}
	}
	return sum
}

// statTime returns the user and system time of a process by its stat, its ended threads
// included, in steps of 10 ms; 0 for an empty stat.
func statTime(f []string) time.Duration {
	if len(f) <= 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	sys, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+sys) * clockTick
}

// machineBusy returns the time that the CPUs of this machine were not idle so far, all
// together and without this process, in steps of 10 ms; not above 0 if it can't be read. Time
// stolen by other machines on the same host is included: it disturbs a measurement too.
func machineBusy() (sum time.Duration) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line) {
		switch i {
		case 0, 4, 5, 9, 10: // the word cpu, idle, iowait; guest is in user already
		default:
			n, _ := strconv.ParseInt(f, 10, 64)
			sum += time.Duration(n) * clockTick
		}
	}
	return sum - cpuTime([]int{os.Getpid()})
}
