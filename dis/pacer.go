package dis

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// A Pacer waits for the starts of a schedule with a given rate:
//
//	p := dis.NewPacer(10, true)
//	for p.Wait(ctx) == nil {
//		go client.Get(ctx, url, nil)
//	}
//
// The schedule is absolute and begins with the first Wait. If a start is late, because the loop
// was busy or the sleep too long, the next ones follow sooner, so that after t seconds rps*t
// starts are due, whatever the loop did.
//
// A Pacer is for one goroutine. The zero value never starts anything.
type Pacer struct {
	rps     float64
	poisson bool

	begin  time.Time // of the schedule; set by the first Wait
	due    time.Duration
	count  int64   // starts planned so far
	offset float64 // ns from begin to the last planned start (Poisson)
}

// NewPacer returns a schedule of rps starts a second. If poisson is set, it is a Poisson
// process, whose gaps are independent and exponential; else the starts are evenly spaced and
// the first one is at once. If rps is zero, negative or NaN there are no starts, and Wait
// returns only when its context ends; if it is +Inf, every start is due at once.
func NewPacer(rps float64, poisson bool) *Pacer {
	return &Pacer{rps: rps, poisson: poisson}
}

// Wait returns nil when the next start is due, at once if it is overdue. It returns the
// context's error as soon as ctx is done, even if starts are overdue. If ctx ends while Wait
// waits, a later Wait does not return for that start.
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

// Planned returns the time at which the start of the last Wait was due. A latency measured
// from it includes the lateness of the start; time.Since(p.Planned()) right after Wait is that
// lateness. Before the first Wait it returns the zero time, and without any starts a time
// centuries ahead.
func (p *Pacer) Planned() time.Time {
	if p.begin.IsZero() {
		return time.Time{}
	}
	return p.begin.Add(p.due)
}

// next plans one more start and returns its distance from the schedule's beginning, the
// longest Duration if there are no starts. It reads no clock: the result depends only on the
// starts planned before and on exp, which draws from the exponential distribution of mean 1.
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
