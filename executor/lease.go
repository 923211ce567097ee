package executor

import (
	"fmt"
	"sync"
	"time"
)

// leaseGrace is an extra wait before a lease ends. Renewals that arrived while this process was
// not running are read during it.
const leaseGrace = 250 * time.Millisecond

// lease ends a load that is no longer renewed, because its parent hangs or the master is gone.
// The zero value never ends. Its methods may be called by any number of goroutines at once.
type lease struct {
	mu    sync.Mutex
	end   time.Time     // by the monotonic clock
	term  time.Duration // of the last renewal
	timer *time.Timer   // nil: no lease
}

// begin starts a lease that calls over, once and in another goroutine, if it is not renewed
// for d and 250 ms more. The lease's lock is held during the call, so over must not call l's
// methods. why is a sentence for the report. If d is 0 or less, begin does nothing. It may be
// called only once.
func (l *lease) begin(d time.Duration, over func(why string)) {
	if d <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.term = time.Now().Add(d), d
	waited := false
	l.timer = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if left := time.Until(l.end); left > 0 {
			waited = false
			l.timer.Reset(left)
			return
		}
		if !waited {
			waited = true
			l.timer.Reset(leaseGrace)
			return
		}
		over(fmt.Sprintf("the load was stopped: its lease of %v was not renewed, so its master or its agent was out of reach", l.term))
	})
}

// renew extends the lease to d from now. It does nothing if d is 0 or less, and has no effect
// before begin or after the lease has ended.
func (l *lease) renew(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > 0 {
		l.end, l.term = time.Now().Add(d), d
	}
}

// close stops the lease. It waits for a call of over that has begun. If the timer has fired at
// the same moment, over may still be called later.
func (l *lease) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}
