package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Size is the size of the area to draw on, and its style.
type Size struct {
	Width, Height int
	Color         bool
}

// widest is the greatest width of the screen, as long lines are hard to read.
const widest = 132

// row is a line of the screen. If there are too few lines, the rows of the lowest rank are
// left out, the last first.
type row struct {
	rank int
	text string
}

// The ranks of rows.
const (
	air     = iota // blank
	keys           // available keys
	detail         // of the target, of stages
	part           // checks, other operations
	wanted         // thresholds
	figure         // percentiles, the generator
	failure        // errors
	main           // rate, state
	always         // progress
)

// screen renders a Run. Each of its methods that show a part adds rows, in their order on the
// screen; fit returns them.
type screen struct {
	*Run
	Size
	now  time.Time
	rows []row
}

// Screen renders the run at now: at most Height lines, or one if Height is less, of at most
// Width columns, and at most 132, without line ends.
func (r *Run) Screen(now time.Time, size Size) []string {
	size.Width = min(size.Width, widest)
	s := &screen{Run: r, Size: size, now: now}
	s.row(air)
	s.head()
	s.progress()
	if !r.began.IsZero() {
		s.stages()
		s.row(air)
		s.operations()
		s.counts()
		s.errors()
		s.checks()
		s.conditions()
		s.generator()
	}
	s.footer()
	return s.fit()
}

// row adds a row, which each of write appends to; without them it is blank.
func (s *screen) row(rank int, write ...func(*line)) {
	l := &line{width: s.Width, color: s.Color}
	for _, f := range write {
		f(l)
	}
	s.rows = append(s.rows, row{rank, l.String()})
}

// fit removes rows until the rest fits, and returns their texts without superfluous blank
// lines.
func (s *screen) fit() (lines []string) {
	for len(s.rows) > max(1, s.Height) {
		lowest := len(s.rows) - 1
		for i := len(s.rows) - 1; i >= 0; i-- {
			if s.rows[i].rank < s.rows[lowest].rank {
				lowest = i
			}
		}
		s.rows = slices.Delete(s.rows, lowest, lowest+1)
	}
	for i, r := range s.rows {
		if r.text == "" && (i == len(s.rows)-1 || i > 0 && s.rows[i-1].text == "") {
			continue // no blank line at the end, nor two in a row
		}
		lines = append(lines, r.text)
	}
	return lines
}

// head names the run and shows its state.
func (s *screen) head() {
	word, st := s.standing()
	s.row(main, func(l *line) {
		room := l.width - columns(word) - 2
		name := &line{width: room, color: l.color}
		name.add(bold, " "+units.Safe(s.Name))
		if s.Target != "" {
			name.add(plain, "  "+units.Safe(s.Target))
		}
		l.b.WriteString(name.b.String())
		l.n = name.n
		l.right(st, word, l.width-1)
	})
}

// standing describes the run's state in a word or two, and returns its style. The user's
// ending or pause comes before the state itself.
func (s *screen) standing() (string, style) {
	switch {
	case s.ending != nil && s.ending.Cancel:
		return "cancelling", red
	case s.ending != nil || s.state == run.Stopping:
		return "stopping", yellow
	case s.paused:
		return "paused", yellow
	case s.state == run.Running && s.warming():
		return "warm-up", cyan
	case s.state == run.Running:
		return "running", green
	case s.state == "":
		return "starting", cyan
	}
	return string(s.state), cyan
}

// label is the column in which values of the lower part begin.
const label = 11

// longestGraph is the greatest width of a graph: labels stay near their values.
const longestGraph = 72

// several is how many checks or thresholds are shown.
const several = 6

// footer lists the keys, or the help on them; once the run is being stopped, only how to
// cancel it, and once it is being cancelled, nothing.
func (s *screen) footer() {
	s.row(air)
	key := func(l *line, k, what string) {
		if l.n+columns(k)+columns(what)+4 > l.width { // only if it fits completely
			return
		}
		if l.n > 0 {
			l.add(plain, "  ")
		}
		l.add(plain, " ").add(bold, k).add(dim, " "+what)
	}
	second := "Ctrl-C"
	if s.Keys {
		second = "q"
	}
	if s.ending != nil {
		if !s.ending.Cancel {
			s.row(main, func(l *line) { key(l, second, "cancels") })
		}
		return
	}
	if s.Help {
		s.help()
		return
	}
	s.row(keys, func(l *line) {
		if !s.Keys || s.began.IsZero() {
			key(l, "Ctrl-C", "ends it")
			return
		}
		pause := "pause"
		if s.paused {
			pause = "resume"
		}
		key(l, "p", pause)
		key(l, "+ -", "10 %")
		key(l, "s", "stop")
		key(l, "?", "help")
	})
}

// help describes each key.
func (s *screen) help() {
	for _, k := range [][2]string{
		{"p", "pause: nothing new begins; p again resumes"},
		{"+ -", "10 % more or less: the rate of a schedule, else the users"},
		{"s", "stop: nothing new begins, what is in flight ends, the report comes"},
		{"q", "as Ctrl-C: the first stops, the second cancels"},
		{"Ctrl-Z", "returns to the shell; the load continues, and fg returns"},
		{"?", "hides this; gobench ctl does all of it from elsewhere"},
	} {
		s.row(keys, func(l *line) { l.add(plain, " ").add(bold, k[0]).to(9).add(dim, k[1]) })
	}
}

// clock formats a time, cut to the second or, from an hour on, to the minute: "1h02m", "1m05s"
// or "5s".
func clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	switch h, m, sec := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60; {
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, sec)
	default:
		return fmt.Sprintf("%ds", sec)
	}
}
