package scenario

import "time"

// Load says when a class's iterations start. In a closed load ([Loop], [Times],
// [Shared], [Ramp]) a user begins its next iteration when the last one is over, so
// a target that stalls is asked less. In an open load ([Arrival]) iterations start
// on a schedule, whatever the target does.
type Load interface{ load() }

// Loop lets every user repeat its iteration for so long, from the class's start.
type Loop time.Duration

// Times is the number of iterations of each user, one after the other.
type Times int

// Shared is the number of iterations of the whole class, taken by whichever user
// is free.
type Shared int

// Ramp lets the number of active users follow its stages, over the whole run; Nu
// is at least the greatest of them. A user that is no longer wanted ends its
// iteration and waits until it is wanted again.
type Ramp []Users

// Users is a stage of a Ramp: the number of active users goes in a straight line
// from that of the stage before (at first from 0) to To.
type Users struct {
	To     int
	Over   time.Duration // 0 jumps
	Warmup bool          // left out of the totals, kept in the series
}

// Arrival starts iterations on a schedule, served by at most Nu users. A planned
// start that finds no user free waits for one, and its response time counts from
// the plan.
type Arrival struct {
	Stages  []Rate
	Poisson bool // starts are a Poisson process; else evenly spaced
	Drop    bool // a start that finds no user free is dropped and counted, not queued
	Queue   int  // most starts waiting, those beyond are dropped and counted; 0: no limit
}

// Rate is a stage of an Arrival: the rate goes in a straight line from that of the
// stage before to To; the first stage holds its own.
type Rate struct {
	To     float64       // starts a second, over the whole run
	Over   time.Duration // 0 jumps
	Warmup bool          // left out of the totals, kept in the series
}

func (Loop) load()    {}
func (Times) load()   {}
func (Shared) load()  {}
func (Ramp) load()    {}
func (Arrival) load() {}
