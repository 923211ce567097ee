package delay

import (
	"sync"
	"sync/atomic"
	"time"
)

// Nap is how long the watch sleeps at a time.
const Nap = 10 * time.Millisecond

// least is the shortest stop that counts: sleeps are longer than asked for by less.
const least = time.Millisecond

// state is what is known of this process's stops at a moment. It is replaced, never changed.
type state struct {
	stood time.Duration // sum of the stops so far
	until time.Duration // end of the last one counted
	due   time.Duration // when the watch is to wake up next; 0: there is no watch

	// Of the watch's last late waking:
	wasDue, woke time.Duration

	// Of the last burst of operations after a stop (see Burst):
	burst time.Duration // the greatest lateness of the watch in it; 0 before the first
	ended time.Duration // when it had ended; 0: it has not

	ahead time.Duration // the wall clock (Unix time) less Now; 0: unknown
}

var (
	mu      sync.Mutex // held by writers of current
	current atomic.Pointer[state]
)

func init() { current.Store(new(state)) }

// Watch notes when this process was stopped, until stop is closed: it sleeps, and whatever
// stops the process delays it. After each sleep it calls each with how much longer it was than
// Nap. Operations that become due while the process is stopped, as when users end to think, begin
// all at once when it runs again: a burst, which lasts until no more of them are in flight than is
// usual. inFlight returns how many are. Only one goroutine may run Watch at a time.
func Watch(stop <-chan struct{}, inFlight func() int64, each func(over time.Duration)) {
	var burst Burst
	due := Now() + Nap
	update(func(s *state) { s.due, s.ahead = due, ahead() })
	defer update(func(s *state) { s.due, s.ahead = 0, 0 })
	timer := time.NewTimer(Nap)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		now := Now()
		was, offset := due, ahead()
		due = now + Nap
		update(func(s *state) {
			s.late(was, now)
			s.due, s.ahead = due, offset
			s.follow(burst.Start(now, now-was, inFlight()), now)
			if now-was > least {
				s.wasDue, s.woke = was, now
			}
		})
		each(max(0, now-was))
		timer.Reset(Nap)
	}
}

// follow notes the greatest lateness of the burst that lasts at now; 0: none does.
func (s *state) follow(greatest, now time.Duration) {
	switch {
	case greatest > 0:
		s.burst, s.ended = greatest, 0
	case s.burst > 0 && s.ended == 0:
		s.ended = now
	}
}

// AfterStop returns by how much an operation that began at begin and ended at end, a moment ago, may
// have been delayed by others that began all at once after a stop of this process: by the longest
// stop of a burst that lasted meanwhile; 0 without one.
func AfterStop(begin, end time.Duration) time.Duration {
	s := current.Load()
	burst := time.Duration(0)
	if s.burst > 0 && (s.ended == 0 || s.ended > begin) {
		burst = s.burst
	}
	if s.due > 0 && end-s.due > least { // the watch has not yet noted the last stop
		burst = max(burst, end-s.due)
	}
	return burst
}

// Late notes that something that was due at a time of Now runs only at another: what runs on a
// schedule finds stops too short for the watch. Any goroutine may call it.
func Late(due, now time.Duration) {
	if now-due > least {
		update(func(s *state) { s.late(due, now) })
	}
}

// late adds a stop from due to now, as far as it is not counted yet.
func (s *state) late(due, now time.Duration) {
	if from := max(due, s.until); now-due > least && now > from {
		s.stood += now - from
		s.until = now
	}
}

// update replaces the current state by a changed copy.
func update(change func(*state)) {
	mu.Lock()
	defer mu.Unlock()
	s := *current.Load()
	change(&s)
	current.Store(&s)
}

// Stood returns for how long in all this process had stood still by now, the current time. The
// difference of two calls is for how long it did in between.
func Stood(now time.Duration) time.Duration {
	s := current.Load()
	if s.due == 0 || now-s.due <= least {
		return s.stood
	}
	return s.stood + max(0, now-max(s.due, s.until))
}

// Waited returns an upper limit of how long this process may have had to wait before it did at end,
// a moment ago, what something that began at begin had been waiting for: from when the watch was
// due, if it is overdue; or if it woke up late, since the begin, and what had to wait for that has
// had no more time yet than it waited.
func Waited(begin, end time.Duration) time.Duration {
	s := current.Load()
	switch {
	case s.due == 0:
		return 0
	case end-s.due > least:
		return end - max(begin, s.due)
	case begin < s.woke && end-s.woke <= s.woke-s.wasDue:
		return max(0, end-max(begin, s.wasDue))
	}
	return 0
}

// FromUnix returns the time of Now at a Unix time in nanoseconds of the last moments; ok is false
// while there is no watch.
func FromUnix(ns int64) (t time.Duration, ok bool) {
	ahead := current.Load().ahead
	return time.Duration(ns) - ahead, ahead != 0
}

// ahead returns the Unix time less Now. Between the readings of the two clocks this goroutine may
// be stopped, so it takes the closest of three.
func ahead() (offset time.Duration) {
	best := time.Hour
	for range 3 {
		before := Now()
		wall := time.Duration(time.Now().UnixNano())
		after := Now()
		if after-before < best {
			best, offset = after-before, wall-(before+after)/2
		}
		if best < time.Microsecond {
			break
		}
	}
	return offset
}
