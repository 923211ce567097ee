package main

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep wakes up at this rate, a second, for d, on one thread that the kernel wakes at
// absolute times, and returns how late that was and the CPU time of the thread. Both must
// be above 0. It blocks for about d. The thread keeps its Go processor, so that no other
// thread wakes up.
func sleep(rate float64, d time.Duration) wakes {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lags := make([]float64, 0, int(rate*d.Seconds())+1)
	before, began := threadTime(), now()
	for n := 0; ; n++ {
		at := time.Duration(float64(n) / rate * float64(time.Second))
		if at >= d {
			break
		}
		until := unix.NsecToTimespec(int64(began + at))
		const absolute = 1 // TIMER_ABSTIME
		for now() < began+at {
			unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, absolute, uintptr(unsafe.Pointer(&until)), 0, 0, 0)
		}
		lags = append(lags, float64(now()-began-at)/1e3)
	}
	took := threadTime() - before
	slices.Sort(lags)
	return wakes{CPU: took.Seconds() / (now() - began).Seconds() * 100, P50: lags[len(lags)/2], P99: lags[len(lags)*99/100]}
}

// now returns the time of the clock that threads are woken by, which begins at any moment.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return time.Duration(t.Nano())
}

// threadTime returns the user and system time of the calling thread so far; 0 if it can't
// be read. The goroutine must be locked to its thread.
func threadTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
