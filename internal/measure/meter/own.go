package meter

import (
	"sync"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// delayed adds up gobench's own part of an iteration's time. A user's operations may overlap: the
// time in which several were delayed counts once.
type delayed struct {
	mu       sync.Mutex
	own      delay.Own
	begun    time.Duration // when the iteration did
	from, to time.Duration // the last time that was added, or several that overlap
	stood    time.Duration // what delay.Stood was when the user's last operation ended
}

// BeginOwn begins to add up gobench's own part of an iteration that begins at now: of what own has
// so far. Times here are on the clock of delay.Now. Operations and waits add theirs, and while the
// user does neither, the time in which the whole process was stopped counts.
func (s *Scope) BeginOwn(now time.Duration, own delay.Own) {
	d := &s.delayed
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own, d.begun, d.from, d.to, d.stood = own, now, now, now, delay.Stood(now)
}

// Own returns gobench's own part of the current iteration up to now.
func (s *Scope) Own(now time.Duration) delay.Own {
	d := &s.delayed
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest(now)
	d.own.Burst = max(d.own.Burst, delay.AfterStop(d.begun, now))
	return d.own
}

// BeginTime notes that an operation, or a wait, of the user began at now. Call it after Begin.
func (s *Scope) BeginTime(now time.Duration) {
	if s.InFlight() > 1 {
		return
	}
	d := &s.delayed
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest(now)
}

// EndTime notes that an operation, or a wait, of the user that had begun at begun ended at now, and
// that own of its time was gobench's. It returns that with the burst of the iteration, or one that
// it met. Call it before End.
func (s *Scope) EndTime(begun, now, own time.Duration) delay.Own {
	d := &s.delayed
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(now, own)
	d.stood = delay.Stood(now)
	return delay.Own{Delay: own, Burst: max(d.own.Burst, delay.AfterStop(begun, now))}
}

// rest adds for how long the process was stopped since the last call, or the end of an operation.
func (d *delayed) rest(now time.Duration) {
	stood := delay.Stood(now)
	d.add(now, stood-d.stood)
	d.stood = max(d.stood, stood)
}

// add adds a delay that lasted until now, as far as it is not in the last one added.
func (d *delayed) add(now, late time.Duration) {
	if late <= 0 {
		return
	}
	from := max(now-late, d.begun)
	late = now - from
	if from >= d.to {
		d.own.Delay += late
		d.from, d.to = from, now
		return
	}
	d.own.Delay += max(0, now-d.to) + max(0, d.from-from)
	d.from, d.to = min(d.from, from), max(d.to, now)
}
