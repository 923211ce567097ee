package runner

import (
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
)

// flow is the schedule of an Arrival as it is controlled: pauses shift the rest of the
// schedule, and a new rate replaces the stages until their end. Set class, schedule, end and a
// rate of -1, and call follow before next. It is for one goroutine.
type flow struct {
	class     *class
	schedule  *arrivals
	shift     time.Duration   // total time by which pauses have shifted the schedule
	begins    time.Duration   // where schedule begins, on its own clock
	end       time.Duration   // of the stages, on the schedule's clock
	rate      float64         // in force; below 0: the stages
	divisions int             // how often the starts were divided again
	missed    []time.Duration // planned times of the starts that were due when the load ended, and that next had not returned
}

// next waits until the next start is due and returns its planned time, on the class's clock,
// with ok. Without ok there are no more starts, and the stages are over, or the load ended
// first: over is true then, and f.missed is set, except during a pause and at the end of the
// class's data. It also waits while the class is paused.
func (f *flow) next(sleeper *sleeper) (planned time.Duration, ok, over bool) {
	at, ok := f.schedule.next()
	for {
		w := f.class.control.state()
		switch {
		case w.over:
			return 0, false, true
		case w.paused:
			f.class.coming.over()
			began := f.class.now()
			for w.paused && !w.over {
				select {
				case <-w.changed:
				case <-f.class.stop:
					return 0, false, true
				}
				w = f.class.control.state()
			}
			f.shift += f.class.now() - began
			f.follow()
			continue
		case w.divisions != f.divisions:
			f.divisions = w.divisions
			f.schedule.divide(w.round, f.class.now()-f.shift-f.begins)
			f.follow()
			at, ok = f.schedule.next()
			continue
		case w.rate >= 0 && w.rate != f.rate:
			f.rate = w.rate
			f.restart(max(f.class.now()-f.shift, 0))
			f.follow()
			at, ok = f.schedule.next()
			continue
		}
		// Users may still be added here, the rate raised, and starts may wait for a user.
		if own, _ := f.schedule.round.Users(); (own == 0 || !ok) && f.class.now() < f.end+f.shift {
			f.class.coming.over()
			if sleeper.until(f.class.now, f.end+f.shift, f.class.stop, w.changed) == stopped {
				return 0, false, true
			}
			continue
		}
		if !ok {
			return 0, false, false
		}
		planned = f.begins + at + f.shift
		f.class.coming.next(planned)
		switch sleeper.until(f.class.now, planned, f.class.stop, w.changed) {
		case due:
			return planned, true, false
		case stopped:
			f.miss(at)
			return 0, false, true
		}
	}
}

// tooLate is how long before the end of the load a start must be due to count as missed.
const tooLate = time.Millisecond

// miss counts in f.missed the starts, from at, that next should have returned before the load
// ended. Call it once, when it has ended; it uses up the schedule.
func (f *flow) miss(at time.Duration) {
	end := time.Duration(f.class.stopped.Load() - f.class.zero.Load())
	until := end - tooLate - f.begins - f.shift
	for ok := true; ok && at <= until; at, ok = f.schedule.next() {
		f.missed = append(f.missed, f.begins+at+f.shift)
	}
}

// follow passes the current schedule to the class, for its gauge of late starts.
func (f *flow) follow() {
	left := time.Duration(f.schedule.before * float64(time.Second)) // already passed
	f.class.coming.follow(f.schedule.lines, f.begins+f.shift+left, f.schedule.round.Share())
}

// restart begins a schedule with the current rate, from now, a time on the schedule's clock,
// to the end of the stages. Call follow after it.
func (f *flow) restart(now time.Duration) {
	f.begins = now
	stages := []scenario.Rate{{To: f.rate, Over: max(f.end-now, 0)}}
	load := f.class.vu.Load.(scenario.Arrival)
	f.schedule = newArrivals(scenario.Arrival{Stages: stages, Poisson: load.Poisson}, f.class.scale(), f.class.seed, f.class.number, f.schedule.round)
}
