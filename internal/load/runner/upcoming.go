package runner

import (
	"math"
	"sync/atomic"
	"time"
)

// upcoming lets others than its goroutine see where a schedule is: whether starts
// are due that it has not come to, for want of a CPU or because the process stood
// still. Such starts have no lag yet, and would be seen by no one.
type upcoming struct {
	at   atomic.Int64 // when the next start is planned
	plan atomic.Pointer[plan]
}

// plan is a rate of starts over time; it is not changed.
type plan struct {
	lines  []line
	begins time.Duration
	share  float64 // of the starts, that are made here
}

// steady are the lines of a rate without end.
func steady(rate float64) []line { return []line{{rate, rate, math.MaxFloat64}} }

// follow sets the schedule in force: the lines of its rate, where they begin, and how
// much of it is made here.
func (u *upcoming) follow(lines []line, begins time.Duration, share float64) {
	u.plan.Store(&plan{lines, begins, share})
}

// next tells when the next start is planned.
func (u *upcoming) next(at time.Duration) { u.at.Store(int64(at)) }

// over tells that no start is to come, for now.
func (u *upcoming) over() { u.next(forever) }

// overdue is how many starts are due now and not made: of an evenly spaced schedule
// exactly, of a Poisson process so many as are to be expected.
func (u *upcoming) overdue(now time.Duration) int64 {
	at, p := time.Duration(u.at.Load()), u.plan.Load()
	if at >= now || p == nil {
		return 0
	}
	return 1 + int64((p.starts(now)-p.starts(at))*p.share)
}

// starts is the integral of the rate up to a moment.
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
