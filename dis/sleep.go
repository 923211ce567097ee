package dis

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// noRate is the length of a pause for an invalid rate: zero, negative or NaN. With it a loop
// that computes a rate of zero neither floods the target nor hangs past the end of its run.
const noRate = time.Second

// SleepRatePoisson sleeps for a random time with mean 1/rps seconds and returns the
// microseconds slept. The times are exponentially distributed, as are the gaps between
// independent arrivals, so a loop that only sleeps runs rps times a second on average, as a
// Poisson process. A sleep is shortened, or left out, where earlier sleeps of this process
// lasted too long.
//
// If rps is zero, negative or NaN it sleeps one second; if it is +Inf it does not sleep. The
// sleep can't be interrupted, so a rate far below one a second outlasts the end of a run: use a
// [Pacer] then, whose Wait takes a context.
func SleepRatePoisson(rps float64) int64 {
	return sleep(pause(rps, rand.ExpFloat64()))
}

// SleepRateLinear sleeps for 1/rps seconds and returns the microseconds slept. It handles
// invalid and very low rates, and earlier sleeps that were too long, as [SleepRatePoisson]
// does.
func SleepRateLinear(rps float64) int64 {
	return sleep(pause(rps, 1))
}

// pause returns the length of one pause: share times the mean gap of rps a second, or one
// second if rps is zero, negative or NaN.
func pause(rps, share float64) time.Duration {
	if !(rps > 0) { // NaN too
		return noRate
	}
	return duration(share * float64(time.Second) / rps)
}

// duration rounds ns, 0 or more, to a time.Duration, or to the longest one if ns is larger.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}

// debt is the total time by which the program's sleeps were longer than requested. Sleeping is
// coarse, half a millisecond to one too long on an idle machine, which would halve a rate of
// 1000 a second. So each sleep is shortened by the excess of the earlier ones, and their total
// rate is right.
var debt atomic.Int64

// maxDebt limits the debt, for an overloaded machine: after a long delay the missed pauses do
// not follow in a burst.
const maxDebt = 10 * time.Millisecond

// sleep sleeps for d, less the debt, and returns the microseconds slept, which may be 0.
func sleep(d time.Duration) int64 {
	start := time.Now()
	if paid := pay(d); paid < d {
		time.Sleep(d - paid)
		owe(time.Since(start) - (d - paid))
	}
	return time.Since(start).Microseconds()
}

// pay subtracts at most d from the debt and returns what it subtracted, 0 or more.
func pay(d time.Duration) time.Duration {
	for {
		owed := debt.Load()
		paid := min(owed, int64(d))
		if paid <= 0 || debt.CompareAndSwap(owed, owed-paid) {
			return time.Duration(max(paid, 0))
		}
	}
}

// owe adds d, which may be negative, to the debt, which it cuts to maxDebt.
func owe(d time.Duration) {
	if debt.Add(int64(d)) > int64(maxDebt) {
		debt.Store(int64(maxDebt))
	}
}
