package health

import (
	"fmt"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// arrears is how far gobench is behind the schedule of one class.
type arrears struct {
	planned, started, behind int64  // since the load began; behind: at present
	before                   missed // by the end of the last warm-up

	// Since the last whole second was judged, and its result:
	length time.Duration
	due    int64
	open   int64 // before it
	last   missed
}

// missed are starts that were due and that gobench did not begin.
type missed struct{ n, due int64 }

// share returns missed starts per due start, in thousandths; 0 if nothing was due.
func (m missed) share() float64 {
	if m.due <= 0 {
		return 0
	}
	return 1000 * float64(m.n) / float64(m.due)
}

// all returns what was missed since the load began.
func (a *arrears) all() missed {
	return missed{a.planned - a.started + a.behind, a.planned + a.behind}
}

// least is how many starts must be missing before their share means anything.
const least = 2

// add adds the next window of a class. It returns by how many starts gobench fell behind
// its schedule, and how many were due. Starts that wait because no user is free, or were
// dropped for that while gobench was not late, are not missed: gobench did begin them.
//
// Shorter windows are combined to a second: a start that is in progress at the end of a
// window is no meaningful share of it. Within a second add returns the worse of the last
// whole one and the current one.
func (a *arrears) add(l Load, length time.Duration) missed {
	a.due += l.Planned + l.Behind - a.behind
	a.planned, a.started, a.behind = a.planned+l.Planned, a.started+l.Starts, l.Behind
	a.length += length
	open := a.planned - a.started + a.behind
	now := missed{open - a.open, int64(float64(a.due) * max(1, Every.Seconds()/a.length.Seconds()))}
	if now.n < least || now.due <= 0 {
		now.n = 0
	}
	if a.length < Every-shortest/2 {
		if now.share() > a.last.share() {
			return now
		}
		return a.last
	}
	a.last, a.length, a.due, a.open = now, 0, 0, open
	return now
}

// text describes m, of a class.
func (m missed) text(class string) string {
	return fmt.Sprintf("class %s reached %s of its planned rate: %d of %d starts did not begin, or were dropped, because gobench was late", class, percent(max(0, 1000-m.share())), m.n, m.due)
}

// achieved notes the class that fell behind its plan the most and returns its level. In a
// warm-up, or if no class has a plan, it returns fine and notes nothing; it must still be
// called with every window.
func (j *Judge) achieved(w *Window) (g run.Severity) {
	if j.arrears == nil {
		j.arrears = map[string]*arrears{}
	}
	var worst missed
	detail, paced := "", false
	for _, l := range w.Loads {
		a := j.arrears[l.Class]
		if a == nil {
			a = new(arrears)
			j.arrears[l.Class] = a
		}
		if l.grade() > run.Fine { // what was due while gobench was late found no user free because of that
			l.Starts -= l.Dropped
		}
		m := a.add(l, w.Length)
		if w.Warmup {
			a.before = a.all()
		}
		paced = paced || m.due > 0
		if m.share() > worst.share() {
			worst, detail = m, m.text(l.Class)
		}
	}
	if !paced || w.Warmup {
		return run.Fine
	}
	g = grade(worst.share(), rateSignal.amber, rateSignal.red)
	j.note(w, rateSignal, worst.share(), g, detail)
	return g
}
