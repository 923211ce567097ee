package executor

import (
	"fmt"
	"sync"
	"time"
)

// leaseGrace is how long renewals that came while this process stood still are waited
// for, before a lease that has run out is believed to have.
const leaseGrace = 250 * time.Millisecond

// lease ends a load that nobody renews: its parent stands still, or its master is gone.
// The zero value never ends. Its methods may be called at once by any goroutine.
type lease struct {
	mu    sync.Mutex
	end   time.Time     // by the monotonic clock
	term  time.Duration // the last renewal's
	timer *time.Timer   // nil: there is no lease
}

// begin calls over when the lease is not renewed for d. 0: there is none.
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

// renew lets the load go on for d from now.
func (l *lease) renew(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > 0 {
		l.end, l.term = time.Now().Add(d), d
	}
}

// close ends it.
func (l *lease) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}
