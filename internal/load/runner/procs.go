package runner

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/gobench-io/gobench/internal/measure/health"
)

// How the number of processors (Go's Ps) follows the load.
const (
	fitEvery   = 50 * time.Millisecond
	fullShare  = 0.95                   // of the processors, from which on there are more
	lightShare = 0.8                    // of half of them, up to which there are fewer
	longWait   = time.Millisecond       // of goroutines for a processor (p99): there are more
	shortWait  = longWait / 2           // up to which there are fewer
	fewWaits   = 8                      // waits that tell nothing
	firstCalm  = 2 * time.Second        // how long a load is light before there are fewer
	longest    = 32 * time.Second       // of that, after it was doubled again and again
	settleTime = 200 * time.Millisecond // from a change to the next look
)

// FitProcs lets the load run on as many processors as it needs, until done is closed:
// on one at first, on more when they are used or waited for, on fewer again when the
// load is light for a while. Goroutines that hand work to each other, as those of a
// load do, cost a processor of their own much less than several: a request at 2,000 a
// second half the CPU and half the delay.
//
// Each change is told to log. It leaves alone who has said how many there are to be, by GOMAXPROCS or in Go.
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
			return // somebody has decided
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
	calm        time.Duration // how long the load has to be light before there are fewer
	light       time.Duration // how long it has been so
	settled     time.Duration // how long the number has not changed
}

// next gives the number for the time to come, after so much time in which so many
// processors were in use and goroutines waited so long for one.
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
