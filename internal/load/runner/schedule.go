package runner

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// line is a segment of a schedule: a value that changes linearly in some seconds.
type line struct{ from, to, seconds float64 }

// at returns the value after s seconds of the line.
func (l line) at(s float64) float64 { return l.from + (l.to-l.from)*s/l.seconds }

// area returns the integral of the line over its first s seconds, at most l.seconds; 0 for a
// line without length, which is a jump.
func (l line) area(s float64) float64 {
	if l.seconds == 0 {
		return 0
	}
	return l.from*s + (l.to-l.from)*s*s/(2*l.seconds)
}

// reach returns the number of seconds after which the integral of the line is a, which must be
// between 0 and the whole area. It is the root of a quadratic, in the form that stays precise
// when the line is nearly level.
func (l line) reach(a float64) float64 {
	if a <= 0 {
		return 0
	}
	root := math.Sqrt(max(0, l.from*l.from+2*(l.to-l.from)*a/l.seconds))
	return min(2*a/(l.from+root), l.seconds)
}

// rateLines returns the lines of an Arrival's rate, one for each stage, in starts a second: in
// the first stage the rate is constant.
func rateLines(stages []scenario.Rate) (lines []line) {
	for i, s := range stages {
		from := s.To
		if i > 0 {
			from = stages[i-1].To
		}
		lines = append(lines, line{from, s.To, s.Over.Seconds()})
	}
	return lines
}

// arrivals is the schedule of an Arrival: a deterministic sequence of times. Evenly spaced,
// start n (from 0) is when the integral of the rate reaches n. As a Poisson process, it is
// when the integral reaches the sum of n+1 exponential variables of mean 1 (the time-rescaling
// theorem; Daley and Vere-Jones, 7.4). It is for one goroutine.
//
// If several executors share the run, each computes this schedule for the whole run and makes
// the starts of its segment, so that together they make exactly the starts of a single
// executor. A start of another executor costs nothing if evenly spaced, and a draw in a
// Poisson process.
type arrivals struct {
	round  segment.Round // the starts that this executor makes
	whole  bool          // it makes all of them
	made   int64         // of round
	lines  []line
	rand   *rand.Rand // nil: evenly spaced
	drawn  int64      // of rand, for the starts up to target
	target float64    // the integral at the next start
	passed float64    // the integral over the lines already passed
	before float64    // the seconds of the lines already passed
}

// newArrivals returns the schedule of class number class from its beginning. The rates are
// multiplied by scale; round defines which of the starts this executor makes. Equal arguments
// result in equal times.
func newArrivals(a scenario.Arrival, scale float64, seed uint64, class int, round segment.Round) *arrivals {
	s := &arrivals{lines: rateLines(a.Stages)}
	s.only(round)
	for i := range s.lines {
		s.lines[i].from *= scale
		s.lines[i].to *= scale
	}
	if a.Poisson {
		source := source(seed, uint64(class), 2)
		s.rand = rand.New(rand.NewPCG(source[0], source[1]))
	}
	return s
}

// only sets which starts this executor makes.
func (s *arrivals) only(round segment.Round) {
	own, all := round.Users()
	s.round, s.whole = round, own == all && own > 0
}

// next returns the time of the next start that this executor makes, since the schedule's
// beginning; ok is false if there are no more. Times do not decrease.
func (s *arrivals) next() (at time.Duration, ok bool) {
	n := s.made
	if !s.whole {
		if own, _ := s.round.Users(); own == 0 {
			return 0, false
		}
		n = s.round.Nth(s.made)
	}
	if s.rand == nil {
		s.target = float64(n)
	} else {
		for ; s.drawn <= n; s.drawn++ {
			s.target += s.rand.ExpFloat64()
		}
	}
	for len(s.lines) > 0 {
		l := s.lines[0]
		whole := l.area(l.seconds)
		// Slightly below the whole, so that rounding errors do not add a start.
		if left := s.target - s.passed; left < whole*(1-1e-12) {
			at := s.before + l.reach(left)
			s.made++
			return time.Duration(at * float64(time.Second)), true
		}
		s.passed += whole
		s.before += l.seconds
		s.lines = s.lines[1:]
	}
	return 0, false
}

// skip omits all starts before a time, so that next returns the first one at or after it. Call
// it before the first next.
func (s *arrivals) skip(to time.Duration) {
	if to <= 0 {
		return
	}
	if s.rand == nil { // estimated slightly too low, then exact one by one
		s.made = s.round.Below(int64((&plan{lines: s.lines}).starts(to)) - 1)
	}
	for {
		before := *s
		if at, ok := s.next(); !ok || at >= to {
			s.made, s.lines, s.passed, s.before = before.made, before.lines, before.passed, before.before
			return
		}
	}
}

// divide divides the remaining starts again, including the one that next returned last: the
// caller must call next again for it. now is the position in the schedule, for an executor
// that has had no starts so far.
func (s *arrivals) divide(round segment.Round, now time.Duration) {
	if s.made == 0 {
		s.only(round)
		s.skip(now)
		return
	}
	at := s.round.Nth(s.made - 1)
	s.only(round)
	s.made = round.Below(at)
}

// ramp is the schedule of a Ramp: how many users are active at any time.
type ramp []line

// newRamp returns the ramp with a line for each stage; the first begins at 0 users.
func newRamp(stages scenario.Ramp) (r ramp) {
	from := 0
	for _, s := range stages {
		r = append(r, line{float64(from), float64(s.To), s.Over.Seconds()})
		from = s.To
	}
	return r
}

// forever is later than any time.
const forever = time.Duration(math.MaxInt64)

// active reports whether user n (from 0) is active at a time. It also returns that time if so,
// and otherwise when the user is active next, or forever. The number of active users is the
// ramp's value rounded to an integer, so user n is active while the value is above n + 1/2.
// After the ramp no user is active.
func (r ramp) active(n int64, at time.Duration) (bool, time.Duration) {
	begin, level := 0.0, float64(n)+0.5
	for _, l := range r {
		end := begin + l.seconds
		if now := at.Seconds(); now < end {
			s := max(0, now-begin)
			if l.at(s) > level {
				return true, at
			}
			if l.to > level { // it rises above the level within this line
				cross := begin + (level-l.from)/(l.to-l.from)*l.seconds
				// The first nanosecond above the level.
				return false, max(time.Duration(cross*float64(time.Second))+1, at+1)
			}
		}
		begin = end
	}
	return false, forever
}

// length returns when the ramp ends.
func (r ramp) length() time.Duration {
	seconds := 0.0
	for _, l := range r {
		seconds += l.seconds
	}
	return time.Duration(seconds * float64(time.Second))
}

// window is a period of the run.
type window struct{ from, to time.Duration }

type windows []window

// at reports whether a time is in one of the windows, and returns the next time after it at
// which a window begins or ends, or forever. A window includes its beginning and not its end.
func (ws windows) at(t time.Duration) (inside bool, border time.Duration) {
	border = forever
	for _, w := range ws {
		switch {
		case t < w.from:
			border = min(border, w.from)
		case t < w.to:
			inside, border = true, min(border, w.to)
		}
	}
	return inside, border
}

// outside returns how much of the time up to t is in none of the windows.
func (ws windows) outside(t time.Duration) (sum time.Duration) {
	for at := time.Duration(0); at < t; {
		inside, border := ws.at(at)
		border = min(border, t)
		if !inside {
			sum += border - at
		}
		at = border
	}
	return sum
}

// warm returns the windows in which the run warms up, in no order: those of its loads, and
// that of the start message. A time is warm-up while any class warms up.
func (r *Runner) warm() (ws windows) {
	if r.start.WarmupNs > 0 {
		ws = windows{{0, time.Duration(r.start.WarmupNs)}}
	}
	for _, c := range r.classes {
		ws = append(ws, warmups(c.vu.Load)...)
	}
	return ws
}

// warmups returns the windows in which a load warms up, in order: its stages with Warmup,
// joined where they touch. They are since the class's start; nil without such a stage.
func warmups(load scenario.Load) (ws []window) {
	var at time.Duration
	add := func(over time.Duration, warmup bool) {
		if warmup && over > 0 {
			if n := len(ws); n > 0 && ws[n-1].to == at {
				ws[n-1].to += over
			} else {
				ws = append(ws, window{at, at + over})
			}
		}
		at += over
	}
	switch load := load.(type) {
	case scenario.Arrival:
		for _, s := range load.Stages {
			add(s.Over, s.Warmup)
		}
	case scenario.Ramp:
		for _, s := range load {
			add(s.Over, s.Warmup)
		}
	}
	return ws
}
