package dis

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// A Pacer says when to start, again and again, at a given rate:
//
//	p := dis.NewPacer(10, true)
//	for p.Wait(ctx) == nil {
//		go client.Get(ctx, url, nil)
//	}
//
// The starts stand on an absolute schedule that begins with the first Wait. A
// start that comes late, because the loop was busy or the sleep too long, is
// made up for by the next ones, so that after t seconds rps*t starts are due
// whatever the loop did meanwhile.
//
// A Pacer is for one goroutine. Its zero value never starts anything.
type Pacer struct {
	rps     float64
	poisson bool

	begin  time.Time // of the schedule; set by the first Wait
	due    time.Duration
	count  int64   // starts planned so far
	offset float64 // ns from begin to the last planned start (Poisson)
}

// NewPacer returns a schedule of rps starts a second: a Poisson process, whose
// gaps are independent and exponential, or else an even one, whose first start
// is at once. With an rps of zero, less than zero or NaN no start ever comes,
// and Wait returns only with its context; with +Inf every start is due at once.
func NewPacer(rps float64, poisson bool) *Pacer {
	return &Pacer{rps: rps, poisson: poisson}
}

// Wait returns nil when the next start is due, at once when it is overdue. It
// returns the context's error as soon as ctx is done, also when starts are
// overdue; that start is not made up for by a later Wait.
func (p *Pacer) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := time.Now()
	if p.begin.IsZero() {
		p.begin = now
	}
	p.due = p.next(rand.ExpFloat64)
	wait := p.due - now.Sub(p.begin)
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Planned is the moment at which the start that the last Wait waited for was
// due. A latency counted from here includes the time that the start came late;
// time.Since(p.Planned()) straight after Wait is that lateness. It is the zero
// time before the first Wait.
func (p *Pacer) Planned() time.Time {
	if p.begin.IsZero() {
		return time.Time{}
	}
	return p.begin.Add(p.due)
}

// next plans one more start and returns its distance from the schedule's
// beginning. It reads no clock: the result follows from the starts planned
// before and from exp, which draws from the exponential distribution of mean 1.
func (p *Pacer) next(exp func() float64) time.Duration {
	if !(p.rps > 0) {
		return math.MaxInt64
	}
	gap := float64(time.Second) / p.rps
	if p.poisson {
		// A float64 holds each nanosecond of the first 100 days.
		p.offset += exp() * gap
		return duration(p.offset)
	}
	// By multiplication: a sum of rounded gaps would drift.
	n := p.count
	p.count++
	return duration(float64(n) * gap)
}
