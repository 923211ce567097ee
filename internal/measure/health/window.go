package health

import (
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Window is one interval of a run as a Judge receives it, over all executors: the worst of
// each figure.
type Window struct {
	From    time.Duration // since the load began
	Length  time.Duration
	Warmup  bool // not in the totals, and not judged
	Values  map[Metric]float64
	Loads   []Load
	NoFiles int64         // failures because no file descriptor was free
	NoPorts int64         // failures because no local port was free
	Own     time.Duration // gobench's own part of the times recorded in it
}

// Load is what one class did in a window.
type Load struct {
	Class         string
	Starts        int64         // begun, or dropped because no user was free
	P50, P90, P99 time.Duration // delay of the starts that gobench itself caused
	Response      time.Duration // the class's median response time; 0 if unknown

	Planned int64 // starts that were due and that gobench began or dropped
	Behind  int64 // starts that were due at the window's end and not yet begun
	Dropped int64 // starts dropped because no user was free
	Done    int64 // iterations that ended
	Users   int64 // active at the window's end; 0 for a class with a schedule
	Pool    int64 // of a class with a schedule, its users; 0: unknown
}

// late returns the highest percentile of the starts' delays that their number supports: the
// 99th from 100 starts on, so that one late start of ten does not decide for all, the 90th
// from 10 on, else the median.
func (l Load) late() time.Duration {
	switch {
	case l.Starts >= 100:
		return l.P99
	case l.Starts >= 10:
		return l.P90
	}
	return l.P50
}

// grade returns the level of a value: red above the limit red, else amber above amber, else
// fine.
func grade(v, amber, red float64) run.Severity {
	switch {
	case v > red:
		return run.Red
	case v > amber:
		return run.Amber
	}
	return run.Fine
}

// small is the share of the median response time up to which start lag has no level: it moves
// no percentile from the median on by more than that.
const small = 0.05

// grade returns the level of start lag: above 1 ms amber, above 10 ms red, if it is more than
// a small part of the median response time. A median above 0.5 ms and half of the median
// response time is red too: the response time is then no longer the target's.
func (l Load) grade() run.Severity {
	switch {
	case l.outweighs(l.P50):
		return run.Red
	case float64(l.late()) <= small*float64(l.Response):
		return run.Fine
	}
	return grade(float64(l.late()), float64(time.Millisecond), float64(10*time.Millisecond))
}

// outweighs reports whether lag is more than half of the median response time, and more
// than 0.5 ms: less than that is how a machine wakes up.
func (l Load) outweighs(lag time.Duration) bool {
	return l.Response > 0 && lag > time.Millisecond/2 && lag > l.Response/2
}
