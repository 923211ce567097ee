package health

import (
	"fmt"
	"time"
)

// arrears is what one class's schedule has asked of gobench so far.
type arrears struct{ planned, started, behind int64 }

// least is how many starts must be missing before a share of them means anything.
const least = 2

// missed takes the next window of a class and tells what share, in thousandths, of
// the starts that its schedule wanted in this window gobench had not come to at its
// end; missing is how many that are, of due. Starts that wait because no user is
// free, or were dropped for that, are no part of it: gobench has come to them.
//
// A window shorter than a second is taken as a second's part: a start in flight at
// its border is no share of it.
func (a *arrears) missed(l Load, length time.Duration) (permille float64, missing, due int64) {
	due = l.Planned + l.Behind - a.behind
	a.planned, a.started, a.behind = a.planned+l.Planned, a.started+l.Starts, l.Behind
	missing = a.planned - a.started + a.behind
	if due <= 0 || missing < least {
		return 0, 0, max(0, due)
	}
	due = int64(float64(due) * max(1, Every.Seconds()/length.Seconds()))
	missing = min(missing, due)
	return 1000 * float64(missing) / float64(due), missing, due
}

// achieved notes the class that is the furthest behind its plan.
func (j *Judge) achieved(w *Window, crowded bool) (g level) {
	if j.arrears == nil {
		j.arrears = map[string]*arrears{}
	}
	worst, detail := -1.0, ""
	for _, l := range w.Loads {
		a := j.arrears[l.Class]
		if a == nil {
			a = new(arrears)
			j.arrears[l.Class] = a
		}
		share, missing, due := a.missed(l, w.Length)
		if due > 0 && share > worst {
			worst = share
			detail = fmt.Sprintf("class %s reached %s of its planned rate: %d of the %d starts due in one second had not begun, although no user was waited for", l.Class, percent(1000-share), missing, due)
		}
	}
	if worst < 0 || w.Warmup {
		return ok
	}
	g = grade(worst, rateSignal.amber, rateSignal.red)
	j.note(w, rateSignal, worst, lower(rateSignal, g, crowded), detail)
	return g
}
