package health

import (
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Window is one interval of a run as a Judge sees it, over all executors: of each
// figure the worst.
type Window struct {
	From    time.Duration // since the load began
	Length  time.Duration
	Warmup  bool // in no total, and not judged
	Values  map[Metric]float64
	Loads   []Load
	NoFiles int64 // failures for want of a file descriptor
	NoPorts int64 // failures for want of a local port
}

// Load is what one class did in a window.
type Load struct {
	Class         string
	Starts        int64         // that began, or found no user free
	P50, P90, P99 time.Duration // how late gobench was with them: its own lateness
	Response      time.Duration // the class's median response time; 0: none

	Planned int64 // starts whose time came, and which gobench came to
	Behind  int64 // starts whose time had come at the window's end, and which it had not come to
	Dropped int64 // starts that were given up
	Done    int64 // iterations that ended
	Users   int64 // active at the window's end; 0 for a class with a schedule of its own
}

// late is the percentile that so many starts can tell: the 99th of 100 and more,
// so that one late start of ten does not stand for all.
func (l Load) late() time.Duration {
	switch {
	case l.Starts >= 100:
		return l.P99
	case l.Starts >= 10:
		return l.P90
	}
	return l.P50
}

// grade compares a value with a signal's two limits.
func grade(v, amber, red float64) run.Severity {
	switch {
	case v > red:
		return run.Red
	case v > amber:
		return run.Amber
	}
	return run.Fine
}

// grade of start lag: above 1 ms amber, above 10 ms red. So is a median above 0.5 ms
// and half of the median response time, which is then no longer the target's.
func (l Load) grade() run.Severity {
	if l.outweighs(l.P50) {
		return run.Red
	}
	return grade(float64(l.late()), float64(time.Millisecond), float64(10*time.Millisecond))
}

// outweighs tells whether so much lag is more than half of the median response time,
// and more than 0.5 ms: below that it is how a machine wakes.
func (l Load) outweighs(lag time.Duration) bool {
	return l.Response > 0 && lag > time.Millisecond/2 && lag > l.Response/2
}
