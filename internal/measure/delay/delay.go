// Package delay computes how far a time may be off because of gobench itself.
//
// What is recorded of an operation is T: from its begin, or its planned start, to its end as this
// process saw it. Part of T may be gobench's own: the start was late, sending was held up, the
// answer waited in the kernel until its reader ran. [Own.Least] subtracts that, and for a start of a
// [Burst] what it may have waited because gobench sent too much at once. It returns a time L that
// the operation took at least; the truth lies between L and T.
//
// A distribution of T has two more beside it (see [Of]), which only operations enter whose L
// differs from T: their T, and their L. All operations less the first plus the second is the
// distribution of L. Since L <= truth <= T for each operation, a percentile of the truth lies
// between those of the two distributions: [Of] returns the difference, the figure's bound, and
// [Judge] the verdict that follows. docs/truth.md describes the method, with what it was tested
// against, to users.
package delay

import "time"

// epoch is the zero of this process's clock.
var epoch = time.Now()

// Now returns the monotonic time since the program started. It costs half of time.Now, which
// reads the wall clock too.
func Now() time.Duration { return time.Since(epoch) }

// At returns the time of day of a time of Now.
func At(t time.Duration) time.Time { return epoch.Add(t) }

// A delay below both is not recorded: gobench wakes up about as late on any machine, and a
// histogram does not separate times that differ by less than 1/128.
const (
	wakeUp  = 50 * time.Microsecond
	inRange = 128
)

// Own is gobench's own part of a time.
type Own struct {
	Delay time.Duration // gobench was late by that, in all
	Burst time.Duration // the greatest lag of the burst in which the operation started; 0: in none
}

// Least returns how long an operation with the recorded time took took at least: without o.Delay.
// If it started in a burst, it may also have waited behind the others of the burst, by the burst's
// greatest lag, but then it took no less than typical, which most operations take at least (see
// Typical). ok is false if the difference is too small to record; least is then took.
func (o Own) Least(took, typical time.Duration) (least time.Duration, ok bool) {
	least = max(0, took-o.Delay)
	if o.Burst > 0 {
		least = min(least, max(least-o.Burst, typical))
	}
	if took-least <= max(wakeUp, took/inRange) {
		return took, false
	}
	return least, true
}
