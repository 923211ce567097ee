package dis

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// noRate is how long one pause lasts when the rate is not a rate: zero,
// negative or NaN. A loop that computes its rate and arrives at zero then
// neither floods the target nor hangs past the end of its run.
const noRate = time.Second

// SleepRatePoisson sleeps for a random time with mean 1/rps seconds and returns
// the microseconds slept. The times are exponential, as the gaps between
// independent arrivals are, so that a loop of nothing else turns rps times a
// second on average, as a Poisson process.
//
// An rps of zero, less than zero or NaN sleeps one second; +Inf does not sleep.
// The sleep can't be interrupted, so a rate far below one a second outlives the
// end of a run: there use a [Pacer], whose Wait obeys a context.
func SleepRatePoisson(rps float64) int64 {
	return sleep(pause(rps, rand.ExpFloat64()))
}

// SleepRateLinear sleeps for 1/rps seconds and returns the microseconds slept.
// It treats rates that are none, and very low ones, as [SleepRatePoisson] does.
func SleepRateLinear(rps float64) int64 {
	return sleep(pause(rps, 1))
}

// pause is the length of one pause: share times the mean gap of rps a second.
func pause(rps, share float64) time.Duration {
	if !(rps > 0) { // NaN too
		return noRate
	}
	return duration(share * float64(time.Second) / rps)
}

// duration rounds ns to a time.Duration, the longest one where ns is beyond it.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}

// debt is by how much the program's sleeps have been longer than they were meant
// to be. Sleeping is coarse, half a millisecond to one too long on an idle machine,
// which would halve a rate of 1000 a second; so each sleep is shorter by what the
// ones before it were too long, and the rate of all of them together is right.
var debt atomic.Int64

// maxDebt bounds the debt, for a machine that can't keep up: a rate that was lost
// for long is not made good in a burst.
const maxDebt = 10 * time.Millisecond

// sleep sleeps for d, less the debt, and gives the microseconds slept.
func sleep(d time.Duration) int64 {
	start := time.Now()
	if paid := pay(d); paid < d {
		time.Sleep(d - paid)
		owe(time.Since(start) - (d - paid))
	}
	return time.Since(start).Microseconds()
}

// pay takes what is owed, at most d.
func pay(d time.Duration) time.Duration {
	for {
		owed := debt.Load()
		paid := min(owed, int64(d))
		if paid <= 0 || debt.CompareAndSwap(owed, owed-paid) {
			return time.Duration(max(paid, 0))
		}
	}
}

// owe adds to the debt.
func owe(d time.Duration) {
	if debt.Add(int64(d)) > int64(maxDebt) {
		debt.Store(int64(maxDebt))
	}
}
