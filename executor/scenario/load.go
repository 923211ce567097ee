package scenario

import "time"

// Load defines when a class's iterations start. In a closed load ([Loop], [Times], [Shared],
// [Ramp]) a user begins its next iteration when the last one is over, so a slow target receives
// fewer requests. In an open load ([Arrival]) iterations start on a schedule, whatever the
// target does.
type Load interface{ load() }

// Loop makes every user repeat its iteration for this long, which must be above 0, from the
// class's start. The end does not interrupt an iteration.
type Loop time.Duration

// Times is the number of iterations of each user, 1 or more, run in sequence.
type Times int

// Shared is the number of iterations of the whole class, 1 or more, over all hosts. Each is
// run by the next free user.
type Shared int

// Ramp changes the number of active users by its stages, over the whole run; Nu is at least
// the greatest of them, and Rate is 0. A user that is no longer active ends its iteration and
// waits until it is active again.
type Ramp []Users

// Users is a stage of a Ramp: the number of active users changes linearly from that of the
// previous stage (at first 0) to To.
type Users struct {
	To     int
	Over   time.Duration // 0: at once
	Warmup bool          // omitted from the totals, included in the series
}

// Arrival starts iterations on a schedule, served by at most Nu users. A planned start without
// a free user waits for one, and its response time counts from the planned time. Some stage
// has a rate above 0, and some a duration above 0.
type Arrival struct {
	Stages  []Rate
	Poisson bool // starts are a Poisson process; otherwise evenly spaced
	Drop    bool // a start without a free user is dropped and counted, not queued
	Queue   int  // most starts waiting, further ones are dropped and counted; 0: no limit, or Drop
}

// Rate is a stage of an Arrival: the rate changes linearly from that of the previous stage to
// To; in the first stage it is To throughout.
type Rate struct {
	To     float64       // starts a second, over the whole run
	Over   time.Duration // 0: at once
	Warmup bool          // omitted from the totals, included in the series
}

func (Loop) load()    {}
func (Times) load()   {}
func (Shared) load()  {}
func (Ramp) load()    {}
func (Arrival) load() {}
