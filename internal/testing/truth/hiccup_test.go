//go:build linux

package truth

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The hiccup meter is a process that notices when the machine itself pauses, as a virtual
// machine does when its host runs others on its CPUs for some milliseconds. /proc counts such
// time in ticks of 10 ms, if at all. The meter has a thread for each CPU that wakes up every
// hiccupEvery with a real-time priority (sched(7), SCHED_FIFO), so that neither gobench nor
// its target nor a test can make it late.
const (
	hiccupEvery = 2 * time.Millisecond
	hiccupEnv   = "GOBENCH_TEST_HICCUPS"
	leastPause  = time.Millisecond // shorter ones are not reported
	realTimePri = 10
)

// pause is a time in which a CPU ran nothing.
type pause struct {
	end  time.Time
	long time.Duration
}

// hiccupMeter is this process's connection to its hiccup meter.
type hiccupMeter struct {
	process *os.Process

	mu     sync.Mutex
	pauses []pause // guarded by mu
}

// theHiccupMeter returns the only meter, which ends with this process. It is nil if the kernel
// refuses real-time priorities, as without CAP_SYS_NICE.
var theHiccupMeter = sync.OnceValues(func() (*hiccupMeter, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hiccupEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // closing it ends the meter
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// The kernel kills the meter when the thread that started it ends: this one waits.
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
	l, lines := &hiccupMeter{process: cmd.Process}, bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	case first != "on\n":
		return nil, fmt.Errorf("the hiccup meter wrote %q", first)
	}
	go l.read(lines)
	return l, nil
})

func (l *hiccupMeter) read(from *bufio.Reader) {
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

// between returns the longest of the pauses that overlap with the time between two moments, and
// the sum of them. Both are 0 if there is no meter.
func (l *hiccupMeter) between(from, to time.Time) (longest, sum time.Duration) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pauses {
		if p.end.After(from) && p.end.Add(-p.long).Before(to) {
			longest, sum = max(longest, p.long), sum+p.long
		}
	}
	return longest, sum
}

// longest returns the longest pause since a moment.
func (l *hiccupMeter) longest(from time.Time) time.Duration {
	longest, _ := l.between(from, time.Now())
	return longest
}

// hiccupMain is the main function of the meter's process.
func hiccupMain() {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		fmt.Fprintln(os.Stderr, "hiccup meter:", err)
		os.Exit(1)
	}
	runtime.GOMAXPROCS(cpus.Count() + 2)
	ready := make(chan error)
	found := make(chan pause, 1000)
	for cpu := range len(cpus) * 64 {
		if cpus.IsSet(cpu) {
			go watchCPU(cpu, ready, found)
		}
	}
	for range cpus.Count() {
		if err := <-ready; err != nil {
			return // not permitted
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

// watchCPU reports the pauses of one CPU.
func watchCPU(cpu int, ready chan<- error, found chan<- pause) {
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
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail here
		return time.Duration(t.Nano())
	}
	const absolute = 1 // TIMER_ABSTIME
	for next := now(); ; {
		next += hiccupEvery
		until := unix.NsecToTimespec(int64(next))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, absolute, &until, nil) // a signal makes it return early
		if late := now() - next; late > leastPause {
			select {
			case found <- pause{time.Now(), late}:
			default: // there are enough
			}
			next = now()
		}
	}
}

// The meter reports a pause of its own.
func TestHiccupMeter(t *testing.T) {
	meter := needHiccupMeter(t)
	if meter == nil {
		return
	}
	const length = 30 * time.Millisecond
	from := time.Now()
	if err := meter.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(length)
	if err := meter.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); meter.longest(from) < length-hiccupEvery; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it was stopped for %v and reported %v", length, meter.longest(from))
		}
	}
}

// needHiccupMeter returns the meter, or nil where the kernel refuses real-time priorities.
func needHiccupMeter(t *testing.T) *hiccupMeter {
	t.Helper()
	meter, err := theHiccupMeter()
	if err != nil {
		t.Fatal(err)
	}
	if meter == nil {
		t.Log("the kernel refuses real-time priorities: clean runs go without a hiccup meter")
	}
	return meter
}
