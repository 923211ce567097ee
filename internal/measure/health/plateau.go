package health

import (
	"fmt"
	"math/bits"
	"time"
)

// plateau detects that more work in flight does not increase throughput. It stores one step
// for each doubling of what is in flight.
type plateau struct {
	waiting map[string]int64 // by class with a schedule: iterations due and not ended
	before  int64            // in flight at the window's begin
	steps   [64]step
}

// step is all windows in which about as much was in flight.
type step struct {
	time          time.Duration
	flight        float64 // in flight, times seconds
	done, planned float64
}

// Each of the two steps that are compared must last this long; what is in flight must have
// grown by this factor, and throughput by no more than that one.
const (
	stepTime   = 2 * time.Second
	moreFlight = 1.5
	moreDone   = 1.1
	keepsUp    = 0.95 // a schedule that demands no more gets no more
)

// add adds the next window; one of a warm-up, or in which gobench was late, only for what it left in
// flight.
func (p *plateau) add(w *Window, late bool) {
	if p.waiting == nil {
		p.waiting = map[string]int64{}
	}
	var now, done, planned int64
	for _, l := range w.Loads {
		done += l.Done
		if l.Users > 0 {
			now += l.Users
			continue
		}
		p.waiting[l.Class] += l.Planned - l.Done - l.Dropped
		flight := max(0, p.waiting[l.Class])
		if l.Pool > 0 {
			flight = min(flight, l.Pool) // others wait for a user
		}
		now += flight
		planned += l.Planned
	}
	flight := float64(p.before+now) / 2
	p.before = now
	if w.Warmup || late || flight < 1 || done == 0 { // a target that answers nothing has no throughput to compare
		return
	}
	s := &p.steps[bits.Len64(uint64(flight))]
	s.time += w.Length
	s.flight += flight * w.Length.Seconds()
	s.done += float64(done)
	s.planned += float64(planned)
}

// note describes a throughput that did not grow while ever more was in flight; "" if it grew,
// if it kept up with its schedule, or if fewer than two steps lasted stepTime.
func (p *plateau) note() string {
	var low *step
	for i := range p.steps {
		s := &p.steps[i]
		if s.time < stepTime || s.done == 0 {
			continue
		}
		if low != nil && s.flight/s.time.Seconds() >= moreFlight*low.flight/low.time.Seconds() &&
			s.rate() < moreDone*low.rate() && (s.planned == 0 || s.done < keepsUp*s.planned) {
			return fmt.Sprintf("throughput stood still at about %.0f iterations a second while those in flight grew from about %.0f to %.0f: that is a limit of the target, if gobench kept up; more load only waits longer",
				s.rate(), low.flight/low.time.Seconds(), s.flight/s.time.Seconds())
		}
		low = s
	}
	return ""
}

func (s *step) rate() float64 { return s.done / s.time.Seconds() }
