package runner

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// line is a piece of a schedule: a quantity goes in a straight line from one value
// to another in some seconds.
type line struct{ from, to, seconds float64 }

// at is the value after so many seconds of the line.
func (l line) at(s float64) float64 { return l.from + (l.to-l.from)*s/l.seconds }

// area is the integral of the line over its first s seconds. A line of no length is
// a jump and has none.
func (l line) area(s float64) float64 {
	if l.seconds == 0 {
		return 0
	}
	return l.from*s + (l.to-l.from)*s*s/(2*l.seconds)
}

// reach is after how many seconds the integral of the line is a, which is at least
// 0 and at most the whole area: the root of a quadratic, in the form that loses no
// digits when the line is nearly level.
func (l line) reach(a float64) float64 {
	if a <= 0 {
		return 0
	}
	root := math.Sqrt(max(0, l.from*l.from+2*(l.to-l.from)*a/l.seconds))
	return min(2*a/(l.from+root), l.seconds)
}

// rateLines are the lines of an Arrival's rate: the first stage holds its own.
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

// arrivals is the schedule of an Arrival: a pure sequence of times. Evenly spaced,
// start n (from 0) is when the integral of the rate reaches n. As a Poisson
// process, it is when the integral reaches the sum of n+1 exponential variables of
// mean 1 (the time-rescaling theorem; Daley and Vere-Jones, 7.4).
//
// Where several executors share the run, each has this schedule of the whole and makes
// the starts of its segment: together they make exactly those that one executor
// would. Evenly spaced, a start of others costs nothing; of a Poisson process, a draw.
type arrivals struct {
	round  segment.Round // the starts that are made here
	whole  bool          // all of them are
	made   int64         // of round
	lines  []line
	rand   *rand.Rand // nil: evenly spaced
	drawn  int64      // of rand, for the starts up to target
	target float64    // the integral at the next start
	passed float64    // the integral over the lines left behind
	before float64    // the seconds of the lines left behind
}

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

// only sets which starts are made here.
func (s *arrivals) only(round segment.Round) {
	own, all := round.Users()
	s.round, s.whole = round, own == all && own > 0
}

// next is the time of the next start; ok is false when there is none.
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
		// A hair below the whole: the rounding of many additions makes no extra start.
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

// skip leaves out all starts before a moment.
func (s *arrivals) skip(to time.Duration) {
	if to <= 0 {
		return
	}
	if s.rand == nil { // a rounding error below, and on one by one from there
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

// divide divides the remaining starts anew, including the one that next returned last. now
// is the position in the schedule, for an executor that has had no starts so far.
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

func newRamp(stages scenario.Ramp) (r ramp) {
	from := 0
	for _, s := range stages {
		r = append(r, line{float64(from), float64(s.To), s.Over.Seconds()})
		from = s.To
	}
	return r
}

// forever is a time that never comes.
const forever = time.Duration(math.MaxInt64)

// active tells whether user n (from 0) is active at a time; if not, when next it
// is, or forever. The number of active users is the ramp's value to the nearest
// whole, so user n is active while the value is above n + 1/2.
func (r ramp) active(n int64, at time.Duration) (bool, time.Duration) {
	begin, level := 0.0, float64(n)+0.5
	for _, l := range r {
		end := begin + l.seconds
		if now := at.Seconds(); now < end {
			s := max(0, now-begin)
			if l.at(s) > level {
				return true, at
			}
			if l.to > level { // it rises above within this line
				cross := begin + (level-l.from)/(l.to-l.from)*l.seconds
				// The first nanosecond above.
				return false, max(time.Duration(cross*float64(time.Second))+1, at+1)
			}
		}
		begin = end
	}
	return false, forever
}

// length is when the ramp ends.
func (r ramp) length() time.Duration {
	seconds := 0.0
	for _, l := range r {
		seconds += l.seconds
	}
	return time.Duration(seconds * float64(time.Second))
}

// window is a piece of the run.
type window struct{ from, to time.Duration }

type windows []window

// at tells whether a moment lies in one of the windows, and when next that changes.
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

// warmups are the windows in which the run warms up: those of its loads, and what
// the start says. A moment is warm-up while any class warms up.
func (r *Runner) warmups() windows {
	ws := windows{{0, time.Duration(r.start.WarmupNs)}}
	for _, c := range r.classes {
		ws = append(ws, warmups(c.vu.Load)...)
	}
	return ws
}

// warmups are the windows in which a load warms up: its stages so marked.
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
