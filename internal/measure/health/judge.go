package health

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// When a signal's bad windows count: at least this many in a row that last this long
// together, or this share of the run.
const (
	rowWindows = 3
	rowTime    = 3 * time.Second
	runShare   = 0.05
	single     = 3 // up to this many red windows count as amber
)

// Verdict is a run's verdict with its reasons.
type Verdict struct {
	Word    run.Verdict
	Reasons []Reason // the worst first
}

// Reason is a signal that lowered a verdict.
type Reason struct {
	Signal  string
	Level   run.Severity
	Text    string
	Advice  string
	Windows int           // that were at least amber
	Worst   time.Duration // begin of the worst window, since the begin of the load
}

// Judge judges a run by its windows, in order. The zero value is ready to use. It must not
// be used by several goroutines at once.
type Judge struct {
	total    time.Duration // of the windows judged
	windows  int
	tracks   map[string]*track
	held     map[Metric]held // latest figures, used until the next sample is due
	arrears  map[string]*arrears
	calm     calm // of Retransmits
	plateau  plateau
	starting starting
	others   float64 // CPU time of other processes, in thousandths of the machine times seconds
	sampled  time.Duration
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
	levels  [run.Red + 1]spell // amber includes red windows
	windows int
	worst   float64
	most    run.Severity // of the worst window
	at      time.Duration
	detail  string  // of the worst window, if the signal has a text for it
	total   float64 // of the windows that were at least amber
}

// spell is how long a level lasted.
type spell struct {
	time, row, longest time.Duration
	windows, most      int // of the current row and of the longest
	n                  int // windows in all
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
	j.plateau.add(w)
	j.starting.add(w)
	if w.Warmup {
		j.achieved(w, false)
		return
	}
	j.total += w.Length
	j.windows++
	values := j.values(w)
	others, known := 0.0, false
	if cpu, ok := values[CPU]; ok {
		others, known = max(0, cpu-values[OwnCPU]), true
		j.others += others * w.Length.Seconds()
		j.sampled += w.Length
	}
	crowded := others > busy || values[Steal] > stealAmber || values[Pressure] > pressed && others > values[OwnCPU]

	late := j.achieved(w, crowded) > run.Fine // starts, goroutines or the whole process are late
	loads := j.loads(w)
	for _, l := range loads {
		if l.Starts > 0 {
			late = late || l.grade() > run.Fine
		}
	}
	for _, s := range signals {
		if v, is := values[s.metric]; is && s.yields && !s.late && grade(v, s.amber, s.red) > run.Fine {
			late = true
		}
	}
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
		j.note(w, s, v, lower(s, g, crowded), "")
	}
	if known {
		g := run.Fine
		if late && others > busy {
			g = run.Amber
		}
		j.note(w, neighbourSignal, others, g, "")
	}
	j.lags(w, loads, crowded)
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

// lags notes the class of loads with the worst start lag in w, and how late starts were that
// matter only for high percentiles. It notes nothing if nothing started.
func (j *Judge) lags(w *Window, loads []Load, crowded bool) {
	worst, at := -1.0, run.Fine
	detail, tail := "", 0.0
	for _, l := range loads {
		late, g := float64(l.late()), l.grade()
		if g == run.Fine && l.outweighs(l.late()) { // else the text of the verdict has it
			tail = max(tail, late)
		}
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
		j.note(w, tailSignal, tail, grade(tail, 0, none), "")
		j.note(w, lagSignal, worst, lower(lagSignal, at, crowded), detail)
	}
}

// lower returns the level that counts while others use the machine: g, but at most amber
// for a signal that yields to them.
func lower(s signal, g run.Severity, crowded bool) run.Severity {
	if s.yields && crowded {
		return min(g, run.Amber)
	}
	return g
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
	}
	for l := run.Amber; l <= run.Red; l++ {
		t.levels[l].add(w.Length, g >= l)
	}
	if g > t.most || g == t.most && g > run.Fine && v > t.worst {
		t.most, t.worst, t.at, t.detail = g, v, w.From, detail
	}
}

// add adds a window; one that is not bad ends the current row.
func (s *spell) add(length time.Duration, bad bool) {
	if !bad {
		s.row, s.windows = 0, 0
		return
	}
	s.time += length
	s.n++
	s.row += length
	s.windows++
	if s.windows > s.most || s.row > s.longest {
		s.longest, s.most = max(s.longest, s.row), max(s.most, s.windows)
	}
}

// counts reports whether a level lasted long enough, in a run of total, to lower a verdict;
// with instant, any time is enough.
func (s *spell) counts(total time.Duration, instant bool) bool {
	return s.time > 0 && (instant || s.most >= rowWindows && s.longest >= rowTime || float64(s.time) >= runShare*float64(total))
}

// level returns the signal's level over the windows so far: the worst that lasted long
// enough (see spell.counts). A single red window in a run of more than three counts as
// amber, unless the signal is instant.
func (t *track) level(j *Judge) run.Severity {
	l := run.Red
	if t.levels[run.Red].n == 1 && j.windows > single && !t.instant {
		l = run.Amber
	}
	for l > run.Fine && !t.levels[l].counts(j.total, t.instant) {
		l--
	}
	return l
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

// Verdict returns the verdict on the windows so far, VALID before the first; it may be
// called at any time. missing lists the reasons why the totals are not exactly what the
// executors counted: any makes it INVALID and is the first reason.
func (j *Judge) Verdict(missing []string) Verdict {
	v := Verdict{Word: run.Valid}
	if len(missing) > 0 {
		v.Word = run.Invalid
		v.Reasons = append(v.Reasons, Reason{Signal: Totals, Level: run.Red,
			Text:   "not all that was counted is in the totals: " + strings.Join(missing, "; "),
			Advice: "run it again; if an executor died, its log says why"})
	}
	var bad []Reason
	for _, t := range j.tracks {
		l := t.level(j)
		if l == run.Fine || t.signal.note {
			continue
		}
		if v.Word != run.Invalid {
			v.Word = run.Suspect
			if l == run.Red && !t.host {
				v.Word = run.Invalid
			}
		}
		text := t.detail
		if text == "" {
			value := t.worst
			if t.signal.sum {
				value = t.total
			}
			text = t.text(value)
		}
		bad = append(bad, Reason{Signal: t.name, Level: l, Text: text, Advice: t.advice, Windows: t.windows, Worst: t.at})
	}
	slices.SortFunc(bad, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.Signal, b.Signal))
	})
	v.Reasons = append(v.Reasons, bad...)
	return v
}
