package api

import (
	"sync"
	"time"
)

// Attempts to log in that may fail in window.
const (
	perAccount = 5  // for one account from one address
	perAddress = 30 // from one address
	window     = time.Minute
)

// maxAttempts is how many keys are remembered. More come only while somebody guesses
// from many addresses: then those that are not known yet wait.
const maxAttempts = 10_000

// attempts counts attempts to log in by key. Its zero value is ready; all its methods
// may be called at once.
type attempts struct {
	mu sync.Mutex
	of map[string][]time.Time // the last ones, the first first
}

// begin counts an attempt; forget takes it back when it was none of a guesser. Where
// there were too many, it is not counted, and wait tells when there may be another.
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

func recent(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= window {
		times = times[1:]
	}
	return times
}
