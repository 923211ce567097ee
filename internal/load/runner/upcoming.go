package runner

import (
	"math"
	"sync/atomic"
	"time"
)

// upcoming shows the state of a schedule to other goroutines: whether starts are due that it
// has not made yet, because it got no CPU or the process was stopped. Such starts have no lag
// yet, so they would be missing in the metrics. One goroutine sets it; any may call overdue.
type upcoming struct {
	at   atomic.Int64 // planned time of the next start
	plan atomic.Pointer[plan]
}

// plan is a rate of starts over time; it is immutable.
type plan struct {
	lines  []line
	begins time.Duration
	share  float64 // fraction of the starts that this executor makes
}

// steady returns the lines of a constant rate without end.
func steady(rate float64) []line { return []line{{rate, rate, math.MaxFloat64}} }

// follow sets the current schedule: the lines of its rate, when they begin, and this executor's
// share of the starts.
func (u *upcoming) follow(lines []line, begins time.Duration, share float64) {
	u.plan.Store(&plan{lines, begins, share})
}

// next sets the planned time of the next start.
func (u *upcoming) next(at time.Duration) { u.at.Store(int64(at)) }

// over reports that there are no more starts for now.
func (u *upcoming) over() { u.next(forever) }

// overdue returns how many starts are due at now, a time of the class's clock, and not made:
// exactly if they are evenly spaced, the expected number for a Poisson process. It returns 0
// if no schedule is followed.
func (u *upcoming) overdue(now time.Duration) int64 {
	at, p := time.Duration(u.at.Load()), u.plan.Load()
	if at >= now || p == nil {
		return 0
	}
	return 1 + int64((p.starts(now)-p.starts(at))*p.share)
}

// starts returns the integral of the rate from the plan's beginning up to a time: the number
// of starts of all executors.
func (p *plan) starts(at time.Duration) (n float64) {
	s := (at - p.begins).Seconds()
	for _, l := range p.lines {
		if s <= 0 {
			break
		}
		n += l.area(min(s, l.seconds))
		s -= l.seconds
	}
	return n
}
