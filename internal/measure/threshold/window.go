package threshold

import (
	"time"

	"github.com/gobench-io/gobench/internal/measure/hdr"
)

// tally is what a threshold's metrics recorded in some time. Tallies can be added.
type tally struct {
	length    time.Duration
	count     int64 // of a counter, or the numerator of a rate
	all       int64 // the denominator of a rate
	lost      int64 // operations without an answer
	histogram *hdr.Histogram

	disturbed, corrected *hdr.Histogram // the companions of the metric; nil: none
}

// add adds o, which does not change and is not retained.
func (t *tally) add(o tally) {
	t.length += o.length
	t.count += o.count
	t.all += o.all
	t.lost += o.lost
	merge(&t.histogram, o.histogram)
	merge(&t.disturbed, o.disturbed)
	merge(&t.corrected, o.corrected)
}

// merge adds h, which may be nil, to a histogram, which it creates if it is nil.
func merge(to **hdr.Histogram, h *hdr.Histogram) {
	if h == nil {
		return
	}
	if *to == nil {
		*to = new(hdr.Histogram)
	}
	(*to).Merge(h)
}

// queue is a sliding window of tallies with their sum. Subtracting histograms leaves their
// least and greatest values unknown, so the queue is two stacks: the older half has the sums from
// each tally to the end of that half, the newer half has the tallies and one sum. The work per
// interval does not grow with the window.
type queue struct {
	older []tally         // the last is the sum of all, the first the youngest tally alone
	ages  []time.Duration // length of each tally of older
	newer []tally
	sum   tally // of newer
}

// push adds the youngest tally, whose histogram must not change from now on.
func (q *queue) push(t tally) {
	q.newer = append(q.newer, t)
	q.sum.add(t)
}

// pop drops the oldest tally. The queue must not be empty.
func (q *queue) pop() {
	q.turn()
	n := len(q.older) - 1
	q.older[n] = tally{} // for the garbage collector
	q.older, q.ages = q.older[:n], q.ages[:n]
}

// turn moves the newer half to the older one when that is empty. The queue may be empty.
func (q *queue) turn() {
	if len(q.older) > 0 {
		return
	}
	var sum tally
	for i := len(q.newer) - 1; i >= 0; i-- {
		next := tally{}
		next.add(sum)
		next.add(q.newer[i])
		sum = next
		q.older, q.ages = append(q.older, sum), append(q.ages, q.newer[i].length)
	}
	clear(q.newer)
	q.newer, q.sum = q.newer[:0], tally{}
}

// length returns how much time the window covers.
func (q *queue) length() time.Duration {
	length := q.sum.length
	if n := len(q.older); n > 0 {
		length += q.older[n-1].length
	}
	return length
}

// shrink drops the oldest tallies as long as the rest covers at least to.
func (q *queue) shrink(to time.Duration) {
	for q.length() > to {
		q.turn()
		if q.length()-q.ages[len(q.ages)-1] < to {
			return
		}
		q.pop()
	}
}

// total returns the sum of all tallies, which shares nothing with them.
func (q *queue) total() (t tally) {
	if n := len(q.older); n > 0 {
		t.add(q.older[n-1])
	}
	t.add(q.sum)
	return t
}
