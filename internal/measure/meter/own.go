package meter

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// BeginOwn begins to add up gobench's own part of an iteration that begins at now: of what own has
// so far. Times here are on the clock of delay.Now. Operations and waits add theirs, and while the
// user does neither, the time in which the whole process stood still counts.
func (s *Scope) BeginOwn(now time.Duration, own delay.Own) {
	s.own.Store(int64(own.Delay))
	s.burst.Store(int64(own.Burst))
	s.stood.Store(int64(delay.Stood(now)))
}

// Own returns gobench's own part of the current iteration up to now.
func (s *Scope) Own(now time.Duration) delay.Own {
	s.rest(now)
	return delay.Own{Delay: time.Duration(s.own.Load()), Burst: time.Duration(s.burst.Load())}
}

// BeginTime notes that an operation, or a wait, of the user began at now. Call it after Begin.
func (s *Scope) BeginTime(now time.Duration) {
	if s.InFlight() <= 1 {
		s.rest(now)
	}
}

// EndTime notes that an operation, or a wait, of the user ended at now, and that own of its time
// was gobench's. It returns that with the burst of the iteration. Call it before End.
func (s *Scope) EndTime(now, own time.Duration) delay.Own {
	if own > 0 {
		s.own.Add(int64(own))
	}
	s.stood.Store(int64(delay.Stood(now)))
	return delay.Own{Delay: own, Burst: time.Duration(s.burst.Load())}
}

// rest adds for how long the process has stood still since the last call, or EndTime.
func (s *Scope) rest(now time.Duration) {
	stood := int64(delay.Stood(now))
	if was := s.stood.Swap(stood); stood > was {
		s.own.Add(stood - was)
	}
}
