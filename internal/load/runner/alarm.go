package runner

import (
	"runtime"
	"time"
)

// An alarm wakes its one user at a given time, more exactly than a timer of the runtime: an
// idle runtime waits in steps of a millisecond, and sleeps of 100 µs were measured to last 1.06
// ms.
//
// A wait can't be interrupted, so it is only for short waits.
type alarm interface {
	// wait returns after d, or a little later.
	wait(d time.Duration)
	close()
}

// near is the longest wait for which an alarm is used.
const near = 4 * time.Millisecond

// sleeper sleeps until a given time: by a timer while it is far away, by an alarm when it is
// near. It is for one goroutine, which must close it.
type sleeper struct {
	timer *time.Timer
	alarm alarm
}

// newSleeper returns a sleeper that uses a for short waits, and closes it in its own close.
func newSleeper(a alarm) *sleeper { return &sleeper{timer: time.NewTimer(time.Hour), alarm: a} }

// slept is the reason why a sleep ended.
type slept int

const (
	due     slept = iota // the time was reached
	stopped              // stop was closed
	woken                // changed was closed
)

// until sleeps until the clock now has reached at, or stop or changed is closed, and returns
// which. A closed channel goes before a time that is reached; if both are closed it returns
// either. It may notice a closed channel up to near (4 ms) late. Before it sleeps, it lets the
// goroutines that wait for a processor run: their work is already due.
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

// plainAlarm is the runtime's timer, for systems without a better one.
type plainAlarm struct{}

func (plainAlarm) wait(d time.Duration) { time.Sleep(d) }
func (plainAlarm) close()               {}

// Lateness waits n times (0 or more) for d, as a schedule does, and returns by how much each
// wait was too long, in order. It blocks for n times d.
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
