package delay

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
)

// Burst follows the starts of a schedule. When gobench starts late what was due at different
// times, the target gets it at once, and it queues there, or for users: an operation of such a
// burst, or after it, may wait for the others by the greatest lag, no longer, since in a queue that
// is served in order, arrivals that are delayed by at most M delay no departure by more than M
// (Baccelli, Cohen, Olsder, Quadrat: Synchronization and Linearity, 1992). The zero value is ready
// to use. It is for one goroutine.
type Burst struct {
	greatest time.Duration // lag in the current burst; 0 outside of one
	last     time.Duration // when its last late start was

	usual          int64         // 0, on the careful side, in the first second
	recent, before hdr.Histogram // what was in flight at punctual starts, every nap: in this half and the one before
	sampled        time.Duration // when it was noted
	judged         time.Duration // when usual was computed
	since          time.Duration // when this half began
}

// How a burst ends.
const (
	usualShare = 0.1              // quantile of what is in flight that is as in quiet times
	refresh    = time.Second      // how often that is computed
	half       = 10 * time.Second // of the time that it is of, as the load may change
	patience   = 10               // times the greatest lag, after the last late start, at most
)

// Start notes a start at now that was lag late, and before which inFlight others had begun or
// waited for a user, and had not ended. It returns the greatest lag of the burst that the start
// belongs to; 0 if it belongs to none.
func (b *Burst) Start(now, lag time.Duration, inFlight int64) time.Duration {
	drained := inFlight <= b.usual
	if lag >= least {
		if drained { // this one is of another burst, or the first to reach the target
			b.greatest = 0
		}
		b.greatest, b.last = max(b.greatest, lag), now
		return b.greatest
	}
	b.note(now, inFlight)
	if drained || now > b.last+patience*b.greatest {
		b.greatest = 0
	}
	return b.greatest
}

// note notes what is in flight, and computes what is usual.
func (b *Burst) note(now time.Duration, inFlight int64) {
	if b.judged > 0 && now < b.sampled+Nap {
		return
	}
	b.sampled = now
	b.recent.Record(inFlight)
	if now < b.judged+refresh {
		return
	}
	all := new(hdr.Histogram)
	all.Merge(&b.before)
	all.Merge(&b.recent)
	b.usual, b.judged = all.Quantile(usualShare), now
	if now >= b.since+half {
		b.before.Reset()
		b.before.Merge(&b.recent)
		b.recent.Reset()
		b.since = now
	}
}

// Lag notes that one of the burst's starts, or the first of a new one, turned out to be lag late at
// now, after Start. It returns the greatest lag of its burst; 0 if it belongs to none.
func (b *Burst) Lag(now, lag time.Duration) time.Duration {
	if lag >= least {
		b.greatest, b.last = max(b.greatest, lag), max(b.last, now)
	}
	return b.greatest
}

// typicalShare is the quantile of undisturbed operations that one in a burst took at least.
const typicalShare = 0.25

// Typical returns what most operations take at least: the first quartile of those that were not
// disturbed, of all that were recorded and of the disturbed ones among them. If fewer than one in
// ten were undisturbed it is, on the careful side, the least of all.
func Typical(all, disturbed *hdr.Histogram) time.Duration {
	if disturbed.Count() == 0 {
		return time.Duration(all.Quantile(typicalShare))
	}
	if 10*disturbed.Count() > 9*all.Count() {
		return time.Duration(all.Min())
	}
	rest := new(hdr.Histogram)
	rest.Merge(all)
	rest.Subtract(disturbed)
	return time.Duration(rest.Quantile(typicalShare))
}
