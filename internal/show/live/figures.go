package live

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/report"
)

// operations shows the run's main figures: the first distribution over time, the others in a
// line each, of the last interval.
func (s *screen) operations() {
	for i, m := range s.headline() {
		if i == 0 {
			s.overTime(m)
			continue
		}
		s.row(part, func(l *line) {
			r := s.last.Metrics[m.Title]
			l.add(bold, " "+report.Title(m)).add(plain, "  ")
			if r.Times == nil {
				l.add(dim, "nothing")
				return
			}
			l.add(plain, units.Rate(*r.RPS)+"/s").add(dim, "  p50 ").add(plain, report.Percentile(m, r, "p50")).
				add(dim, "  p99 ").add(plain, report.Percentile(m, r, "p99")).add(dim, "  max ").add(plain, units.Millis(r.Times.Max))
		})
	}
}

// overTime shows a distribution over time: its rate and its figures at present and of the
// whole run so far, and the users. A figure without a value is "-".
func (s *screen) overTime(m run.Metric) {
	const cell = 11
	now, all := s.last.Metrics[m.Title], m
	room := s.Width - 1 - 6 - 2*cell
	graph := min(room-1, longestGraph)
	at := 1 + 6 + max(0, graph) // the column in which the two columns of figures begin
	s.row(figure, func(l *line) {
		l.add(bold, " "+report.Title(m))
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
			l.to(at-1-columns(s)).add(st, s) // the newest value is beside its figure
			l.right(plain, last, at+cell)
			l.right(dim, whole, at+2*cell)
		})
	}
	of := func(pick func(figures) float64) func(point) (float64, bool) {
		return func(p point) (float64, bool) { f, ok := p.times[m.Title]; return pick(f), ok }
	}
	rate, so := "0", "-"
	if now.RPS != nil {
		rate = units.Rate(*now.RPS)
	}
	if all.RPS != nil && all.Count != nil && *all.Count > 0 {
		so = units.Rate(*all.RPS)
	}
	draw(main, "rate", cyan, of(func(f figures) float64 { return f.rate }), rate+"/s", so+"/s")
	for _, x := range []struct {
		name string
		rank int
		pick func(figures) float64
	}{
		{"p50", figure, func(f figures) float64 { return f.p50 }},
		{"p90", part, func(f figures) float64 { return f.p90 }},
		{"p99", figure, func(f figures) float64 { return f.p99 }},
		{"max", part, func(f figures) float64 { return f.max }},
	} {
		draw(x.rank, x.name, dim, of(x.pick), report.ShortPercentile(m, now, x.name), report.ShortPercentile(m, all.Record, x.name))
	}
	most := ""
	if s.plan.Users > 0 {
		most = "of " + units.Count(s.plan.Users)
	}
	draw(figure, "users", dim, func(p point) (float64, bool) { return float64(p.users), true }, units.Count(report.Users(s.last, s.totals.Metrics)), most)
	s.lateness(m)
}

// lateness shows the p99 of each component of a scheduled class's response time m in the last
// interval; nothing if m is of another class.
func (s *screen) lateness(m run.Metric) {
	of := func(r run.Role) run.Record { return report.Of(s.last, m, r, s.totals.Metrics) }
	if !m.Role.OfClass() || of(run.ClassPlanned).Count == nil {
		return
	}
	s.row(part, func(l *line) {
		l.add(dim, " p99 of it")
		for _, x := range []struct {
			role run.Role
			name string
		}{{run.ClassService, "service"}, {run.ClassWait, "queue wait"}, {run.ClassLag, "start lag"}} {
			value := "-"
			if r := of(x.role); r.Times != nil {
				value = report.ShortPercentile(m, r, "p99")
			}
			l.add(dim, "  "+x.name+" ").add(plain, value)
		}
	})
}

// counts shows the number of iterations, warm-ups included, and, if there are schedules, how
// many were late or dropped after the warm-ups, with their share of those planned.
func (s *screen) counts() {
	var late, dropped, planned int64
	scheduled := false
	for _, m := range s.totals.Metrics {
		switch m.Role {
		case run.ClassPlanned:
			scheduled = true
			planned += *m.Count
		case run.ClassLate:
			late += *m.Count
		case run.ClassDropped:
			dropped += *m.Count
		}
	}
	s.row(air)
	s.row(figure, func(l *line) {
		l.add(dim, " iterations").to(label+1).add(plain, " "+units.Count(s.done))
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
			l.add(dim, "   "+x.name+" ").add(st, units.Count(x.n))
			if x.n > 0 && planned > 0 {
				l.add(dim, fmt.Sprintf(" (%s)", units.Percent(float64(x.n)/float64(planned))))
			}
		}
	})
}
