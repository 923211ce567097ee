package health

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Judge finds, in the windows of a run, what disturbed gobench. The zero value is ready to use. It
// must not be used by several goroutines at once.
type Judge struct {
	windows  int // judged
	tracks   map[string]*track
	held     map[Metric]held // latest figures, used until the next sample is due
	arrears  map[string]*arrears
	calm     calm // of Retransmits
	plateau  plateau
	starting starting
	others   float64 // CPU time of other processes, in thousandths of the machine times seconds
	sampled  time.Duration
	own      time.Duration           // gobench's own delay in the windows
	levels   map[string]run.Severity // of the window that Add is judging
}

// held is a figure, which is used until the next sample is due.
type held struct {
	value float64
	until time.Duration
}

// track is the state of a signal.
type track struct {
	signal
	windows int // that were at least amber, as for total and own
	worst   float64
	most    run.Severity // of the worst window
	at      time.Duration
	detail  string // of the worst window, if the signal has a text for it
	total   float64
	own     time.Duration
}

// Add judges the next window. It returns the level, amber or red, of each signal that is
// not fine in it, without those that only lead to notes; nil if all are fine. A window of a
// warm-up is not judged, and one without length is ignored. It does not retain w.
func (j *Judge) Add(w *Window) (levels map[string]run.Severity) {
	j.levels = nil
	j.add(w)
	return j.levels
}

// add implements Add; note collects the levels.
func (j *Judge) add(w *Window) {
	if w.Length <= 0 {
		return
	}
	j.starting.add(w)
	if w.Warmup {
		j.plateau.add(w, false)
		j.achieved(w)
		return
	}
	j.windows++
	j.own += w.Own
	values := j.values(w)
	others, known := 0.0, false
	if cpu, ok := values[CPU]; ok {
		others, known = max(0, cpu-values[OwnCPU]), true
		j.others += others * w.Length.Seconds()
		j.sampled += w.Length
	}
	late := j.achieved(w) > run.Fine // starts, goroutines or the whole process are late
	loads := j.loads(w)
	for _, l := range loads {
		if l.Starts > 0 {
			late = late || l.grade() > run.Fine
		}
	}
	for _, s := range signals {
		if v, is := values[s.metric]; is && s.lates && grade(v, s.amber, s.red) > run.Fine {
			late = true
		}
	}
	j.plateau.add(w, late)
	for _, s := range signals {
		v, is := values[s.metric]
		if !is {
			continue
		}
		g := grade(v, s.amber, s.red)
		if s.metric == Retransmits {
			g = j.calm.grade(v, g)
		}
		if s.late && !late {
			g = run.Fine
		}
		j.note(w, s, v, g, "")
	}
	if known {
		g := run.Fine
		if late && others > busy {
			g = run.Amber
		}
		j.note(w, neighbourSignal, others, g, "")
	}
	j.lags(w, loads)
	j.note(w, filesSignal, float64(w.NoFiles), grade(float64(w.NoFiles), none, 0), "")
	j.note(w, portsSignal, float64(w.NoPorts), grade(float64(w.NoPorts), none, 0), "")
}

// few is the number of starts below which a short window has no level of start lag.
const few = 10

// loads returns the classes of w whose start lag has a level. In a short window, as the rest of a
// run behind its last whole interval, a class with few starts has none: one start does not stand
// for an interval.
func (j *Judge) loads(w *Window) []Load {
	if w.Length >= shortest || j.windows == 1 {
		return w.Loads
	}
	return slices.DeleteFunc(slices.Clone(w.Loads), func(l Load) bool { return l.Starts < few })
}

// lags notes the class of loads with the worst start lag in w. It notes nothing if nothing started.
func (j *Judge) lags(w *Window, loads []Load) {
	worst, at := -1.0, run.Fine
	detail := ""
	for _, l := range loads {
		late, g := float64(l.late()), l.grade()
		if l.Starts == 0 || g < at || g == at && late <= worst {
			continue
		}
		worst, at = late, g
		detail = fmt.Sprintf("starts of class %s were up to %s late, and not for want of a free user", l.Class, duration(late))
		if l.outweighs(l.P50) {
			detail += fmt.Sprintf(", and half of them by %s of a median response time of %s", duration(float64(l.P50)), duration(float64(l.Response)))
		}
	}
	if worst >= 0 {
		j.note(w, lagSignal, worst, at, detail)
	}
}

// values returns the window's figures, and those of the last sample that are still in use:
// for a second from the begin of the window that had them, except counts of events. It must
// be called once for each window, in their order.
func (j *Judge) values(w *Window) map[Metric]float64 {
	if j.held == nil {
		j.held = map[Metric]held{}
	}
	values := maps.Clone(w.Values)
	if values == nil {
		values = map[Metric]float64{}
	}
	for m, v := range w.Values {
		j.held[m] = held{v, w.From + Every}
	}
	for m, h := range j.held {
		if _, is := values[m]; !is && w.From < h.until && !Metrics[m].Events {
			values[m] = h.value
		}
	}
	return values
}

// note records that signal s has value v and level g in w. detail, if not empty, replaces
// the signal's text in the verdict if w is its worst window.
func (j *Judge) note(w *Window, s signal, v float64, g run.Severity, detail string) {
	t := j.tracks[s.name]
	if t == nil {
		if g == run.Fine {
			return
		}
		if j.tracks == nil {
			j.tracks = map[string]*track{}
		}
		t = &track{signal: s, worst: math.Inf(-1)}
		j.tracks[s.name] = t
	}
	if g > run.Fine && !s.note {
		if j.levels == nil {
			j.levels = map[string]run.Severity{}
		}
		j.levels[s.name] = g
	}
	if g > run.Fine {
		t.windows++
		t.total += v
		t.own += w.Own
	}
	if g > t.most || g == t.most && g > run.Fine && v > t.worst {
		t.most, t.worst, t.at, t.detail = g, v, w.From, detail
	}
}

// calm is the mean of a figure over the windows in which it was fine.
type calm struct {
	sum float64
	n   int
}

// risen is the factor of its mean above which a figure has risen.
const risen = 2

// grade returns g if it is above fine and v has risen above twice the mean, else fine; v is
// then added to the mean. Without a mean it returns g.
func (c *calm) grade(v float64, g run.Severity) run.Severity {
	if g > run.Fine && (c.n == 0 || v > risen*c.sum/float64(c.n)) {
		return g
	}
	c.sum, c.n = c.sum+v, c.n+1
	return run.Fine
}

// Others returns the share of the machine's CPUs that other processes used, from 0 to 1,
// averaged over all windows added so far whose CPU figures are known, without those of a
// warm-up; 0 without such a window.
func (j *Judge) Others() float64 {
	if j.sampled <= 0 {
		return 0
	}
	return j.others / 1000 / j.sampled.Seconds()
}

// Reasons returns what disturbed gobench in the windows so far, what did most first: by how much
// of its own delay was in the windows in which a signal was bad. Windows may be added afterwards.
func (j *Judge) Reasons() (all []run.Reason) {
	for _, t := range j.tracks {
		if t.most == run.Fine || t.signal.note || t.name == Rate {
			continue
		}
		r := run.Reason{Signal: t.name, Level: t.most, Text: t.detail, Advice: t.advice, Windows: t.windows, Worst: t.at.Seconds(), Cause: !t.decides}
		if r.Text == "" {
			value := t.worst
			if t.signal.sum {
				value = t.total
			}
			r.Text = t.text(value)
		}
		if j.own > 0 {
			r.Share = float64(t.own) / float64(j.own)
		}
		all = append(all, r)
	}
	if r := j.missed(); r != nil {
		all = append(all, *r)
	}
	SortReasons(all)
	return all
}

// Own returns the sum of gobench's own delay in the windows so far.
func (j *Judge) Own() time.Duration { return j.own }

// specific are the signals that name who disturbed gobench; others show only that it was.
var specific = map[string]bool{Neighbours: true, "steal": true, "throttled": true, "cpu_quota": true, "gc_cpu": true, "gc_pause": true, "swap_in": true, "memory": true, "memory_limit": true}

// SortReasons sorts reasons by what they did, to a tenth, then those first that name who disturbed
// gobench, then the worst, then what was bad in the fewest intervals: it fits best.
func SortReasons(all []run.Reason) {
	tenths := func(r run.Reason) float64 { return math.Round(r.Share * 10) }
	slices.SortFunc(all, func(a, b run.Reason) int {
		return cmp.Or(cmp.Compare(tenths(b), tenths(a)), cmp.Compare(oneIf(specific[b.Signal]), oneIf(specific[a.Signal])), cmp.Compare(b.Level, a.Level), cmp.Compare(a.Windows, b.Windows), cmp.Compare(a.Signal, b.Signal))
	})
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// missed returns a reason if more starts than is allowed of a class, the worst of them, were due so
// far and gobench itself did not begin them; nil if not.
func (j *Judge) missed() *run.Reason {
	var worst missed
	var text string
	for _, class := range slices.Sorted(maps.Keys(j.arrears)) {
		a := j.arrears[class]
		m := a.all()
		if m.n, m.due = m.n-a.before.n, m.due-a.before.due; m.n >= least && m.share() > worst.share() {
			worst, text = m, m.text(class)
		}
	}
	level := grade(worst.share(), rateSignal.amber, rateSignal.red)
	if level == run.Fine {
		return nil
	}
	r := &run.Reason{Signal: Rate, Level: level, Text: text, Advice: rateSignal.advice}
	if t := j.tracks[Rate]; t != nil {
		r.Windows, r.Worst = t.windows, t.at.Seconds()
	}
	return r
}
