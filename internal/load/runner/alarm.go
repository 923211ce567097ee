package runner

import (
	"runtime"
	"time"
)

// An alarm wakes its one user at a moment, more exactly than a timer of the
// runtime: an idle runtime waits in steps of a millisecond, and sleeps of 100 µs
// were measured to last 1.06 ms.
//
// A wait can't be interrupted, so it is for moments that are near.
type alarm interface {
	// wait returns when d has passed, or a little later.
	wait(d time.Duration)
	close()
}

// near is how far off a moment may be for an alarm.
const near = 4 * time.Millisecond

// sleeper sleeps to moments: by a timer while they are far, by an alarm when near.
type sleeper struct {
	timer *time.Timer
	alarm alarm
}

func newSleeper(a alarm) *sleeper { return &sleeper{timer: time.NewTimer(time.Hour), alarm: a} }

// slept is why a sleep ended.
type slept int

const (
	due     slept = iota // the moment has come
	stopped              // stop was closed
	woken                // changed was closed
)

// until sleeps until the clock now has reached at, or stop or changed is closed. When
// it sleeps it lets the goroutines that wait for a processor run first: what was
// given to them is due, and what is slept for is not.
func (s *sleeper) until(now func() time.Duration, at time.Duration, stop, changed <-chan struct{}) slept {
	for {
		rest := at - now()
		if rest <= near {
			select {
			case <-stop:
				return stopped
			case <-changed:
				return woken
			default:
			}
			if rest <= 0 {
				return due
			}
			runtime.Gosched()
			if rest = at - now(); rest > 0 {
				s.alarm.wait(rest)
			}
			continue
		}
		s.timer.Reset(rest - near/2)
		select {
		case <-s.timer.C:
		case <-stop:
			return stopped
		case <-changed:
			return woken
		}
	}
}

func (s *sleeper) close() {
	s.timer.Stop()
	s.alarm.close()
}

// plainAlarm is the runtime's own timer, where the system has nothing better.
type plainAlarm struct{}

func (plainAlarm) wait(d time.Duration) { time.Sleep(d) }
func (plainAlarm) close()               {}

// Lateness waits n times for d, as a schedule does, and gives by how much each wait was
// too long.
func Lateness(d time.Duration, n int) []time.Duration {
	a := newAlarm()
	defer a.close()
	late := make([]time.Duration, n)
	for i := range late {
		began := clock()
		a.wait(d)
		late[i] = clock() - began - d
	}
	return late
}
