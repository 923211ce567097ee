package runner

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
)

// Parameters that adapt the number of processors (Go's Ps) to the load.
const (
	fitEvery   = 50 * time.Millisecond
	fullShare  = 0.95                   // share of the processors in use from which on another is added
	lightShare = 0.8                    // share of half of them in use up to which the number is reduced
	longWait   = time.Millisecond       // wait of goroutines for a processor (p99) from which on one is added
	shortWait  = longWait / 2           // wait up to which the number is reduced
	fewWaits   = 8                      // number of waits that is too small to be meaningful
	firstCalm  = 2 * time.Second        // how long a load must be light before the number is reduced
	longest    = 32 * time.Second       // limit of that time, which is doubled repeatedly
	settleTime = 200 * time.Millisecond // from a change to the next measurement
)

// FitProcs adapts GOMAXPROCS to the load and returns when done is closed. It starts with one
// processor, adds more when they are used or waited for, and removes some when the load has
// been light for a while. Goroutines that pass work to each other, as those of a load do, cost
// much less on one processor than on several: a request at 2,000 a second takes half the CPU
// time and has half the delay.
//
// It passes each later change to log, and leaves the last number in force. If the user has set
// GOMAXPROCS in the environment, if there is only one processor, or on systems other than
// Unix, FitProcs returns at once; if the number is later changed in Go, it returns and changes
// nothing more.
func FitProcs(done <-chan struct{}, log func(line func() string)) {
	most := runtime.GOMAXPROCS(0)
	if most == 1 || os.Getenv("GOMAXPROCS") != "" || !canReadCPU {
		return
	}
	f := fit{most: most, procs: 1, calm: firstCalm}
	runtime.GOMAXPROCS(1)
	var latency health.Latency
	latency.P99()
	ticker := time.NewTicker(fitEvery)
	defer ticker.Stop()
	at, used := clock(), ownCPU()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		if runtime.GOMAXPROCS(0) != f.procs {
			return // the number was set by the user
		}
		now, cpu := clock(), ownCPU()
		wait, n := latency.P99()
		if n < fewWaits {
			wait = 0
		}
		if procs := f.next(now-at, float64(cpu-used)/float64(max(now-at, 1)), wait); procs != f.procs {
			f.procs = procs
			log(func() string { return fmt.Sprintf("the load runs on %d of %d processors", procs, most) })
			runtime.GOMAXPROCS(procs)
		}
		at, used = now, cpu
	}
}

// fit decides on a number of processors.
type fit struct {
	most, procs int
	calm        time.Duration // how long the load must be light before the number is reduced
	light       time.Duration // how long it has been light
	settled     time.Duration // how long the number has not changed
}

// next returns the number of processors to use next, 1 to most; the caller stores it in procs.
// elapsed is the time since the last call, use the average number of processors in use, and
// wait how long goroutines waited for one (p99). The number at most doubles, or is halved.
func (f *fit) next(elapsed time.Duration, use float64, wait time.Duration) int {
	if f.settled += elapsed; f.settled < settleTime {
		return f.procs
	}
	switch {
	case f.procs < f.most && (use > fullShare*float64(f.procs) || wait > longWait):
		f.light, f.settled = 0, 0
		return min(2*f.procs, f.most)
	case f.procs > 1 && use < lightShare*float64(f.procs)/2 && wait < shortWait:
		if f.light += elapsed; f.light >= f.calm {
			f.light, f.settled = 0, 0
			f.calm = min(2*f.calm, longest)
			return (f.procs + 1) / 2
		}
	default:
		f.light = 0
	}
	return f.procs
}
