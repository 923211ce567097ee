package api

import (
	"sync"
	"time"
)

// Limits of failed logins in one window.
const (
	perAccount = 5  // for one account from one address
	perAddress = 30 // from one address
	window     = time.Minute
)

// maxAttempts is how many keys are in memory. There are more only while passwords are
// guessed from many addresses; new keys are then refused.
const maxAttempts = 10_000

// attempts counts logins by key. Its zero value is ready to use. It may be used by several
// goroutines at once.
type attempts struct {
	mu sync.Mutex
	of map[string][]time.Time // of the last attempts, oldest first
}

// begin counts an attempt with a key and returns 0 and forget, which removes the attempt:
// the caller must call it if the password was right. If the last window has most attempts
// already, or there are too many keys, it counts nothing and returns nil and the time to wait:
// until the next one is allowed, or for a whole window.
func (a *attempts) begin(now time.Time, key string, most int) (wait time.Duration, forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	past := recent(a.of[key], now)
	if len(past) >= most {
		return window - now.Sub(past[len(past)-most]), nil
	}
	if len(past) == 0 && len(a.of) >= maxAttempts {
		for k, times := range a.of {
			if len(recent(times, now)) == 0 {
				delete(a.of, k)
			}
		}
		if len(a.of) >= maxAttempts {
			return window, nil
		}
	}
	if a.of == nil {
		a.of = map[string][]time.Time{}
	}
	a.of[key] = append(past, now)
	return 0, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, t := range a.of[key] {
			if t.Equal(now) {
				a.of[key] = append(a.of[key][:i:i], a.of[key][i+1:]...)
				break
			}
		}
		if len(a.of[key]) == 0 {
			delete(a.of, key)
		}
	}
}

// recent returns those of times, oldest first, that are in the last window before now. It
// shares the slice.
func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= window {
		times = times[1:]
	}
	return times
}
