package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A lookout sees when the machine itself stands still, as a virtual one does whose host
// gives its CPUs to others for some milliseconds: /proc counts that by its ticks of 10 ms,
// where it counts it at all. It is a process with a thread for each CPU that wakes up every
// lookEvery and comes before all that are not in real time (sched(7), SCHED_FIFO), so that
// neither gobench nor its target nor a test can make it late.
const (
	lookEvery   = 2 * time.Millisecond
	lookoutEnv  = "GOBENCH_TEST_LOOKOUT"
	leastPause  = time.Millisecond // that a lookout tells of
	realTimePri = 10
)

// pause is a time in which a CPU did nothing.
type pause struct {
	end  time.Time
	long time.Duration
}

// lookouts is the one lookout of this process's tests.
type lookouts struct {
	process *os.Process

	mu     sync.Mutex
	pauses []pause // guarded by mu
}

// theLookout gives the lookout, which ends with this process; nil where the kernel does not
// let it be in real time, as without CAP_SYS_NICE.
var theLookout = sync.OnceValues(func() (*lookouts, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lookoutEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // its end ends the lookout
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// Pdeathsig is that of the thread which starts it: this one stays.
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		if cmd.Process != nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	l, lines := &lookouts{process: cmd.Process}, bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	case first != "on\n":
		return nil, fmt.Errorf("a lookout says %q", first)
	}
	go l.read(lines)
	return l, nil
})

func (l *lookouts) read(from *bufio.Reader) {
	for {
		var at, long int64
		if _, err := fmt.Fscanln(from, &at, &long); err != nil {
			return
		}
		l.mu.Lock()
		l.pauses = append(l.pauses, pause{time.Unix(0, at), time.Duration(long)})
		l.mu.Unlock()
	}
}

// longest gives the longest pause that was between two moments, or partly so.
func (l *lookouts) longest(from, to time.Time) (longest time.Duration) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pauses {
		if p.end.After(from) && p.end.Add(-p.long).Before(to) {
			longest = max(longest, p.long)
		}
	}
	return longest
}

// lookOut is the lookout's process.
func lookOut() {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		fmt.Fprintln(os.Stderr, "lookout:", err)
		os.Exit(1)
	}
	runtime.GOMAXPROCS(cpus.Count() + 2)
	ready := make(chan error)
	found := make(chan pause, 1000)
	for cpu := range len(cpus) * 64 {
		if cpus.IsSet(cpu) {
			go look(cpu, ready, found)
		}
	}
	for range cpus.Count() {
		if err := <-ready; err != nil {
			return // it may not
		}
	}
	fmt.Println("on")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for p := range found {
		fmt.Println(p.end.UnixNano(), int64(p.long))
	}
}

// look looks from one CPU.
func look(cpu int, ready chan<- error, found chan<- pause) {
	runtime.LockOSThread()
	var here unix.CPUSet
	here.Set(cpu)
	err := unix.SchedSetaffinity(0, &here)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: realTimePri}, 0)
	}
	ready <- err
	if err != nil {
		return
	}
	now := func() time.Duration {
		var t unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it has no way to fail
		return time.Duration(t.Nano())
	}
	const absolute = 1 // TIMER_ABSTIME
	for next := now(); ; {
		next += lookEvery
		until := unix.NsecToTimespec(int64(next))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, absolute, &until, nil) // a signal that interrupts it makes it early
		if late := now() - next; late > leastPause {
			select {
			case found <- pause{time.Now(), late}:
			default: // so many that one more is no news
			}
			next = now()
		}
	}
}

// The lookout sees that it was held up, and is not held up by who uses all CPUs.
func TestLookout(t *testing.T) {
	l, err := theLookout()
	if err != nil {
		t.Fatal(err)
	}
	if l == nil {
		t.Log("the kernel lets nothing be in real time here: clean runs go without")
		return
	}
	const long = 30 * time.Millisecond
	from := time.Now()
	if err := l.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(long)
	if err := l.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.longest(from, time.Now()) < long-lookEvery; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it was stopped for %v and saw %v", long, l.longest(from, time.Now()))
		}
	}
	for tries := 1; ; tries++ { // the host may stand still just now
		from, over := time.Now(), atomic.Bool{}
		var busy sync.WaitGroup
		for range 2 * runtime.NumCPU() {
			busy.Go(func() {
				for !over.Load() {
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		over.Store(true)
		busy.Wait()
		time.Sleep(10 * lookEvery) // what it has to tell has come
		seen := l.longest(from, time.Now())
		if seen < leastStall {
			return
		}
		if tries == 5 {
			t.Fatalf("it takes busy CPUs for a machine that stands still: %v", seen)
		}
	}
}
