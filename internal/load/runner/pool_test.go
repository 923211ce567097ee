package runner

import (
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/delay"
)

// What of a start's time is gobench's own: until it began or, if no user was free, until it was
// offered; a start that is late, and those with it, belong to a burst.
func TestOwnOfStarts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	p := newPool(false, 0)
	w := &worker{number: 0, calls: make(chan call, 1)}
	p.free = append(p.free, w)
	for _, tt := range []struct {
		name         string
		planned, now time.Duration
		fate         fate
		begin        time.Duration
		want         delay.Own
		ends         int
	}{
		{"on time", 10 * ms, 10 * ms, given, 10*ms + 20*time.Microsecond, delay.Own{Delay: 20 * time.Microsecond}, 1},
		{"its user was late", 20 * ms, 20 * ms, given, 22 * ms, delay.Own{Delay: 2 * ms, Burst: 2 * ms}, 0},
		{"waits for the user", 21 * ms, 21 * ms, queued, 40 * ms, delay.Own{Burst: 2 * ms}, 0},
		{"late, then waits", 30 * ms, 36 * ms, queued, 50 * ms, delay.Own{Delay: 6 * ms, Burst: 6 * ms}, 3},
		{"the burst is over", 60 * ms, 60 * ms, given, 60 * ms, delay.Own{}, 1},
	} {
		if fate := p.offer(tt.planned, tt.now); fate != tt.fate {
			t.Fatalf("%s: fate %d, want %d", tt.name, fate, tt.fate)
		}
		c, ok := call{}, false
		if tt.fate == given {
			c = <-w.calls
			ok = true
		} else {
			c, ok = p.take(w)
		}
		if own := p.begin(c, tt.begin); !ok || own != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, own, tt.want)
		}
		for range tt.ends {
			p.end()
		}
		if tt.ends > 0 {
			p.free = append(p.free, w)
		}
	}
	if n := p.inFlight.Load(); n != 0 {
		t.Errorf("%d starts are in flight", n)
	}
}
