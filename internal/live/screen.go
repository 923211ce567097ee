package live

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/report"
	"github.com/gobench-io/gobench/internal/run"
)

// Size is what there is to draw on, and how.
type Size struct {
	Width, Height int
	Color         bool
}

// widest is how far the screen spreads on a wide terminal: eyes don't follow a line
// further.
const widest = 132

// row is a line of the screen. Where there are too few, those of the lowest rank are
// left out, the last first.
type row struct {
	rank int
	text string
}

// The ranks of rows.
const (
	air     = iota // blank
	keys           // what may be pressed
	detail         // of the target, of stages
	part           // checks, other operations
	wanted         // thresholds
	figure         // percentiles, the generator
	failure        // errors
	main           // rate, state
	always         // how far it is
)

// screen writes a Run.
type screen struct {
	*Run
	Size
	now  time.Time
	rows []row
}

// Screen draws the run as it stands at now: at most Height lines of at most Width
// columns, without line ends.
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

// row begins a row.
func (s *screen) row(rank int, write ...func(*line)) {
	l := &line{width: s.Width, color: s.Color}
	for _, f := range write {
		f(l)
	}
	s.rows = append(s.rows, row{rank, l.String()})
}

// fit leaves rows out until the rest fits.
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
			continue // no blank line at the end, and none after another
		}
		lines = append(lines, r.text)
	}
	return lines
}

// head names the run and says how it stands.
func (s *screen) head() {
	word, st := s.standing()
	s.row(main, func(l *line) {
		room := l.width - columns(word) - 2
		name := &line{width: room, color: l.color}
		name.add(bold, " "+report.Safe(s.Name))
		if s.Target != "" {
			name.add(plain, "  "+report.Safe(s.Target))
		}
		l.b.WriteString(name.b.String())
		l.n = name.n
		l.right(st, word, l.width-1)
	})
}

// standing is a word or two for how the run stands.
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

// warming tells whether what is recorded now is in no total.
func (s *screen) warming() bool {
	if s.elapsed(s.now) < s.plan.Warmup {
		return true
	}
	for _, c := range s.plan.Classes {
		if len(c.Stages) > 0 {
			if n, _, _ := s.stage(c, s.now); c.Stages[n].Warmup {
				return true
			}
		}
	}
	return false
}

// progress tells how far the run is: before its load what is being done.
func (s *screen) progress() {
	if s.began.IsZero() || s.state == run.Stopping {
		took := s.now.Sub(s.since)
		s.row(always, func(l *line) {
			l.add(cyan, " "+spinner(s.now)).add(plain, " "+orElse(s.step, "starting"))
			if took >= time.Second && !s.since.IsZero() {
				l.add(dim, "  "+clock(took))
			}
			if s.detail != "" {
				l.add(dim, "  "+report.Safe(s.detail))
			}
		})
		return
	}
	elapsed := s.elapsed(s.now)
	share, left := s.part(s.now)
	var parts []string
	if share >= 0 {
		parts = append(parts, fmt.Sprintf("%3.0f %%", share*100))
	}
	if n := s.planned(); n > 0 {
		parts = append(parts, report.Count(s.done)+" of "+report.Count(n)+" iterations")
	}
	parts = append(parts, clock(elapsed))
	if left >= 0 {
		parts[len(parts)-1] += ", " + clock(left) + " left"
	} else if share < 0 {
		parts[len(parts)-1] += ", until its work is done or it is stopped"
	}
	text := strings.Join(parts, "  ")
	s.row(always, func(l *line) {
		if share < 0 {
			l.add(cyan, " "+spinner(s.now)).add(plain, " "+text)
			return
		}
		l.add(plain, " ")
		bar := min(60, l.width-columns(text)-4)
		if bar >= 5 {
			full := int(share * float64(bar))
			l.add(green, strings.Repeat("━", full)).add(dim, strings.Repeat("─", bar-full)).add(plain, "  ")
		}
		l.add(plain, text)
	})
}

// spinner turns twice a second.
func spinner(now time.Time) string {
	return [...]string{"◐", "◓", "◑", "◒"}[now.UnixMilli()/250%4]
}

// stages tells what the schedules of classes want now.
func (s *screen) stages() {
	for _, c := range s.plan.Classes {
		set := s.set[c.Name]
		what := ""
		level := s.level(c, s.now)
		switch {
		case c.Open && set != nil && set.rate >= 0:
			what = "set to " + quantity(level) + "/s"
		case !c.Open && set != nil && set.users >= 0:
			what = "set to " + report.Count(set.users) + " users"
		case len(c.Stages) == 0:
			continue
		default:
			n, _, left := s.stage(c, s.now)
			unit := "users"
			if c.Open {
				unit = "/s"
			}
			what = fmt.Sprintf("stage %d of %d", n+1, len(c.Stages))
			if len(c.Stages) == 1 {
				what = "schedule"
			}
			from := c.Stages[0].To
			if !c.Open {
				from = 0
			}
			if n > 0 {
				from = c.Stages[n-1].To
			}
			to := c.Stages[n].To
			if from == to {
				what += ": " + strings.TrimSpace(quantity(to)+separated(unit))
			} else {
				what += ": " + quantity(from) + " → " + quantity(to) + separated(unit) + ", now " + quantity(level) + separated(unit)
			}
			if len(c.Stages) > 1 {
				what += ", " + clock(left) + " left"
			}
		}
		s.row(detail, func(l *line) {
			l.add(plain, " ")
			if len(s.plan.Classes) > 1 {
				l.add(plain, report.Safe(c.Name)+" ")
			}
			l.add(dim, what)
		})
	}
}

func separated(unit string) string {
	if unit == "/s" {
		return unit
	}
	return " " + unit
}

// quantity writes users or a rate, without digits that say nothing.
func quantity(v float64) string {
	if v == float64(int64(v)) {
		return report.Count(int64(v))
	}
	return report.Rate(v)
}

// label is the column in which values of the lower part begin.
const label = 11

// operations shows what the run is about: the first distribution over time, the
// others in a line each.
func (s *screen) operations() {
	for i, m := range s.headline() {
		if i == 0 {
			s.overTime(m)
			continue
		}
		s.row(part, func(l *line) {
			r := s.last.Metrics[m.Title]
			l.add(bold, " "+report.Title(m.Title)).add(plain, "  ")
			if r.Times == nil {
				l.add(dim, "nothing")
				return
			}
			l.add(plain, report.Rate(*r.RPS)+"/s").add(dim, "  p50 ").add(plain, report.Millis(r.Times.P50)).
				add(dim, "  p99 ").add(plain, report.Millis(r.Times.P99)).add(dim, "  max ").add(plain, report.Millis(r.Times.Max))
		})
	}
}

// longestGraph is how many columns a graph has at most: labels stay near their values.
const longestGraph = 72

// overTime shows a distribution over time: its rate and its figures now and of the
// whole run so far.
func (s *screen) overTime(m run.Metric) {
	const cell = 11
	now, all := s.last.Metrics[m.Title], m
	room := s.Width - 1 - 6 - 2*cell
	graph := min(room-1, longestGraph)
	at := 1 + 6 + max(0, graph) // where the two columns begin
	s.row(figure, func(l *line) {
		l.add(bold, " "+report.Title(m.Title))
		if l.n < at+cell-4 {
			l.right(dim, "now", at+cell)
			l.right(dim, "so far", at+2*cell)
		}
	})
	draw := func(rank int, name string, st style, of func(point) (float64, bool), last, whole string) {
		s.row(rank, func(l *line) {
			l.add(dim, " "+name).to(7)
			values, known := s.history.series(of)
			s := spark(values, known, graph)
			l.to(at-1-columns(s)).add(st, s) // the newest beside its figure
			l.right(plain, last, at+cell)
			l.right(dim, whole, at+2*cell)
		})
	}
	of := func(pick func(figures) float64) func(point) (float64, bool) {
		return func(p point) (float64, bool) { f, ok := p.times[m.Title]; return pick(f), ok }
	}
	rate, so := "0", "-"
	if now.RPS != nil {
		rate = report.Rate(*now.RPS)
	}
	if all.RPS != nil && all.Count != nil && *all.Count > 0 {
		so = report.Rate(*all.RPS)
	}
	draw(main, "rate", cyan, of(func(f figures) float64 { return f.rate }), rate+"/s", so+"/s")
	for _, x := range []struct {
		name string
		rank int
		q    float64
		pick func(figures) float64
		of   func(*run.Times) float64
	}{
		{"p50", figure, 0.5, func(f figures) float64 { return f.p50 }, func(t *run.Times) float64 { return t.P50 }},
		{"p90", part, 0.9, func(f figures) float64 { return f.p90 }, func(t *run.Times) float64 { return t.P90 }},
		{"p99", figure, 0.99, func(f figures) float64 { return f.p99 }, func(t *run.Times) float64 { return t.P99 }},
		{"max", part, 0, func(f figures) float64 { return f.max }, func(t *run.Times) float64 { return t.Max }},
	} {
		draw(x.rank, x.name, dim, of(x.pick), timeOf(now, x.q, x.of), timeOf(all.Record, x.q, x.of))
	}
	most := ""
	if s.plan.Users > 0 {
		most = "of " + report.Count(s.plan.Users)
	}
	draw(figure, "users", dim, func(p point) (float64, bool) { return float64(p.users), true }, report.Count(report.Users(s.last)), most)
	s.lateness(m)
}

// timeOf shows a figure of a record. A percentile among operations without an answer
// has no time.
func timeOf(r run.Record, q float64, of func(*run.Times) float64) string {
	switch {
	case q > 0 && r.Lost != nil && r.Count != nil && !run.Answered(q, *r.Count, *r.Lost):
		return "no answer"
	case r.Times == nil:
		return "-"
	}
	return report.Millis(of(r.Times))
}

// lateness shows the parts of a scheduled class's response time.
func (s *screen) lateness(m run.Metric) {
	prefix := strings.TrimSuffix(m.Title, "response")
	if s.last.Metrics[prefix+"planned"].Count == nil {
		return
	}
	s.row(part, func(l *line) {
		l.add(dim, " p99 of it")
		for _, x := range [][2]string{{"service", "service"}, {"queue_wait", "queue wait"}, {"start_lag", "start lag"}} {
			value := "-"
			if t := s.last.Metrics[prefix+x[0]].Times; t != nil {
				value = report.Millis(t.P99)
			}
			l.add(dim, "  "+x[1]+" ").add(plain, value)
		}
	})
}

// counts shows how many iterations there were, and what became of those on a
// schedule.
func (s *screen) counts() {
	var late, dropped, planned int64
	scheduled := false
	for _, m := range s.totals.Metrics {
		if m.Count == nil || !strings.HasPrefix(m.Title, "vu.") {
			continue
		}
		switch {
		case strings.HasSuffix(m.Title, ".planned"):
			scheduled = true
			planned += *m.Count
		case strings.HasSuffix(m.Title, ".late"):
			late += *m.Count
		case strings.HasSuffix(m.Title, ".dropped"):
			dropped += *m.Count
		}
	}
	s.row(air)
	s.row(figure, func(l *line) {
		l.add(dim, " iterations").to(label+1).add(plain, " "+report.Count(s.done))
		if !scheduled {
			return
		}
		for _, x := range []struct {
			n    int64
			name string
		}{{late, "late"}, {dropped, "dropped"}} {
			st := plain
			if x.n > 0 {
				st = yellow
			}
			l.add(dim, "   "+x.name+" ").add(st, report.Count(x.n))
			if x.n > 0 && planned > 0 {
				l.add(dim, fmt.Sprintf(" (%s)", percent(float64(x.n)/float64(planned))))
			}
		}
	})
}

// percent writes a share so that little is not nothing, and nearly all not all.
func percent(share float64) string {
	switch p := share * 100; {
	case share > 0 && p < 0.01:
		return "<0.01 %"
	case share < 1 && p > 99.99:
		return ">99.99 %"
	case p < 0.1 && p > 0:
		return fmt.Sprintf("%.2f %%", p)
	case p >= 99.95 && share < 1:
		return fmt.Sprintf("%.2f %%", p)
	case share == 1 || share == 0:
		return fmt.Sprintf("%.0f %%", p)
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}

// errors shows failures by class.
func (s *screen) errors() {
	var all int64
	byClass := map[string]int64{}
	var classes []string // the most frequent first, about: as failures are
	for _, f := range s.totals.Failures {
		if byClass[f.Class] == 0 {
			classes = append(classes, f.Class)
		}
		byClass[f.Class] += f.Count
		all += f.Count
	}
	slices.SortStableFunc(classes, func(a, b string) int { return int(min(1, max(-1, byClass[b]-byClass[a]))) })
	rank, st := figure, plain
	if all > 0 {
		rank, st = failure, red
	}
	s.row(rank, func(l *line) {
		l.add(dim, " errors").to(label+1).add(st, " "+report.Count(all))
		for i, c := range classes {
			sep := ", "
			if i == 0 {
				sep = "   "
			}
			l.add(plain, sep+report.Safe(c)+" "+report.Count(byClass[c]))
		}
	})
	if all > 0 {
		f := s.totals.Failures[0]
		s.row(part, func(l *line) {
			l.to(label+2).add(dim, report.Safe(strings.TrimPrefix(f.Source, "vu."))+": "+report.Safe(f.Text))
		})
	}
}

// several is how many checks or thresholds are shown.
const several = 6

// checks shows how many of each check passed, the worst first.
func (s *screen) checks() {
	type check struct {
		name        string
		passed, all int64
	}
	byName := map[string]*check{}
	var checks []*check
	for _, m := range s.totals.Metrics {
		name, ok := strings.CutPrefix(m.Title, "check.")
		if !ok || m.Count == nil {
			continue
		}
		base, passed := strings.CutSuffix(name, ".passed")
		if !passed {
			base = strings.TrimSuffix(name, ".failed")
		}
		c := byName[base]
		if c == nil {
			c = &check{name: base}
			byName[base] = c
			checks = append(checks, c)
		}
		c.all += *m.Count
		if passed {
			c.passed += *m.Count
		}
	}
	checks = slices.DeleteFunc(checks, func(c *check) bool { return c.all == 0 })
	slices.SortStableFunc(checks, func(a, b *check) int { return int(min(1, max(-1, a.passed*b.all-b.passed*a.all))) })
	for i, c := range checks {
		if i == several {
			s.row(part, func(l *line) { l.to(label+2).add(dim, fmt.Sprintf("and %d checks more", len(checks)-several)) })
			break
		}
		s.row(part, func(l *line) {
			if i == 0 {
				l.add(dim, " checks")
			}
			l.to(label + 2)
			mark, st := "✓", green
			if c.passed < c.all {
				mark, st = "✗", red
			}
			l.add(st, mark+" ").add(plain, report.Safe(c.name)+"  "+percent(float64(c.passed)/float64(c.all)))
			if n := c.all - c.passed; n > 0 {
				l.add(dim, fmt.Sprintf("  %s of %s failed", report.Count(n), report.Count(c.all)))
			}
		})
	}
}

// conditions shows how the thresholds stand.
func (s *screen) conditions() {
	for i, t := range s.thresholds {
		if i == several && len(s.thresholds) > several+1 {
			s.row(wanted, func(l *line) {
				l.to(label+2).add(dim, fmt.Sprintf("and %d thresholds more", len(s.thresholds)-several))
			})
			break
		}
		s.row(wanted, func(l *line) {
			if i == 0 {
				l.add(dim, " thresholds")
			}
			l.to(label + 2)
			value := report.Safe(t.Value)
			switch {
			case t.Crossed:
				l.add(red, "✗ ").add(plain, report.Safe(t.Expression)).add(red, "  crossed at "+clock(time.Duration(t.At*float64(time.Second))))
			case !t.Known:
				l.add(dim, "· ").add(plain, report.Safe(t.Expression)).add(dim, "  not yet known")
			case t.Met:
				l.add(green, "✓ ").add(plain, report.Safe(t.Expression)).add(green, "  met so far")
			default:
				l.add(yellow, "! ").add(plain, report.Safe(t.Expression)).add(yellow, "  not met so far")
			}
			if value != "" {
				l.add(plain, ": "+value)
			}
			if t.Reason != "" {
				l.add(dim, "  "+report.Safe(t.Reason))
			}
		})
	}
}

// generator shows whether the numbers can be trusted so far.
func (s *screen) generator() {
	v := s.totals.Verdict
	if v.Word == "" {
		return
	}
	st := green
	switch run.Verdict(v.Word) {
	case run.Suspect:
		st = yellow
	case run.Invalid:
		st = red
	}
	s.row(figure, func(l *line) {
		l.add(dim, " generator").to(label+2).add(st, v.Word).add(dim, " so far")
		if len(v.Reasons) > 0 {
			l.add(plain, ": "+report.Safe(v.Reasons[0].Text))
			return
		}
		own, all := s.last.Metrics["gobench.cpu_own"], s.last.Metrics["gobench.cpu"]
		if own.Sizes != nil && all.Sizes != nil { // measured by two clocks
			l.add(dim, "   CPUs ").add(plain, fmt.Sprintf("%.0f %%", max(all.Sizes.Max, own.Sizes.Max)/10)).
				add(dim, " in use, ").add(plain, fmt.Sprintf("%.0f %%", own.Sizes.Max/10)).add(dim, " by the load")
		}
	})
}

// footer tells what may be pressed.
func (s *screen) footer() {
	s.row(air)
	key := func(l *line, k, what string) {
		if l.n+columns(k)+columns(what)+4 > l.width { // whole or not at all
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
			pause = "go on"
		}
		key(l, "p", pause)
		key(l, "+ -", "10 %")
		key(l, "s", "stop")
		key(l, "?", "help")
	})
}

// help says more of each key.
func (s *screen) help() {
	for _, k := range [][2]string{
		{"p", "pause: nothing new begins; p again goes on"},
		{"+ -", "10 % more or less: the rate of a schedule, else the users"},
		{"s", "stop: nothing new begins, what is in flight ends, the report comes"},
		{"q", "as Ctrl-C: the first stops, the second cancels"},
		{"Ctrl-Z", "gives the shell; the load goes on, and fg comes back"},
		{"?", "hides this; gobench ctl does all of it from elsewhere"},
	} {
		s.row(keys, func(l *line) { l.add(plain, " ").add(bold, k[0]).to(9).add(dim, k[1]) })
	}
}

// clock writes a time to the second.
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

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
