package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// errors shows how many operations failed so far, of how many, and why, and the text of the most
// frequent failure.
func (s *screen) errors() {
	o := run.OutcomeOf(s.totals.Metrics, func(m run.Metric) int64 {
		if m.Count == nil {
			return 0
		}
		return *m.Count
	})
	main := o.Main()
	rank, st := figure, plain
	if main.Bad() > 0 {
		rank, st = failure, red
	}
	s.row(rank, func(l *line) {
		l.add(dim, " failed").to(label+1).add(st, " "+units.Count(main.Bad()))
		if main.Bad() == 0 {
			return
		}
		l.add(dim, " of "+units.Count(main.All())).add(st, " ("+units.Percent(float64(main.Bad())/float64(main.All()))+")")
		for i, c := range o.Causes {
			sep := ", "
			if i == 0 {
				sep = "   "
			}
			l.add(plain, sep+units.Safe(c.Part)+" "+units.Count(c.Count))
		}
	})
	if len(s.totals.Failures) > 0 {
		f := s.totals.Failures[0]
		s.row(part, func(l *line) {
			l.to(label+2).add(dim, units.Safe(run.SourceName(f.Source))+": "+units.Safe(f.Text))
		})
	}
}

// checks shows what share of the calls of each check passed and how many failed, the worst
// check first, for at most six checks, and the number of the others.
func (s *screen) checks() {
	type check struct {
		name        string
		passed, all int64
	}
	byName := map[string]*check{}
	var checks []*check
	for _, m := range s.totals.Metrics {
		passed := m.Role == run.CheckPassed
		if !passed && m.Role != run.CheckFailed {
			continue
		}
		c := byName[m.Of]
		if c == nil {
			c = &check{name: m.Of}
			byName[m.Of] = c
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
			l.add(st, mark+" ").add(plain, units.Safe(c.name)+"  "+units.Percent(float64(c.passed)/float64(c.all)))
			if n := c.all - c.passed; n > 0 {
				l.add(dim, fmt.Sprintf("  %s of %s failed", units.Count(n), units.Count(c.all)))
			}
		})
	}
}

// conditions shows the state of the thresholds, of more than seven the first six.
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
			value := units.Safe(t.Value)
			switch {
			case t.Crossed:
				l.add(red, "✗ ").add(plain, units.Safe(t.Expression)).add(red, "  crossed at "+clock(time.Duration(t.At*float64(time.Second))))
			case !t.Known:
				l.add(dim, "· ").add(plain, units.Safe(t.Expression)).add(dim, "  not yet known")
			case t.Undecided:
				l.add(yellow, "? ").add(plain, units.Safe(t.Expression)).add(yellow, "  not decided so far")
			case t.Met:
				l.add(green, "✓ ").add(plain, units.Safe(t.Expression)).add(green, "  met so far")
			default:
				l.add(yellow, "! ").add(plain, units.Safe(t.Expression)).add(yellow, "  not met so far")
			}
			if value != "" {
				l.add(plain, ": "+value)
			}
			if t.Reason != "" {
				l.add(dim, "  "+units.Safe(t.Reason))
			}
		})
	}
}

// generator shows whether the numbers can be trusted so far; nothing while no verdict is
// known.
func (s *screen) generator() {
	v := s.totals.Verdict
	if v == "" {
		return
	}
	st := green
	switch v {
	case run.Suspect:
		st = yellow
	case run.Invalid:
		st = red
	}
	s.row(figure, func(l *line) {
		l.add(dim, " generator").to(label+2).add(st, string(v)).add(dim, " so far")
		if len(s.totals.Reasons) > 0 {
			l.add(plain, ": "+units.Safe(s.totals.Reasons[0].Text))
			return
		}
		own, all := s.ownFigure("cpu_own"), s.ownFigure("cpu")
		if own.Sizes != nil && all.Sizes != nil { // they are measured by two clocks
			l.add(dim, "   CPUs ").add(plain, fmt.Sprintf("%.0f %%", max(all.Sizes.Max, own.Sizes.Max)/10)).
				add(dim, " in use, ").add(plain, fmt.Sprintf("%.0f %%", own.Sizes.Max/10)).add(dim, " by the load")
		}
	})
}

// ownFigure returns what gobench recorded of itself under a name in the last interval.
func (s *screen) ownFigure(name string) run.Record {
	if m := run.Find(s.totals.Metrics, run.Counts{Role: run.Own, Part: name}); m != nil {
		return s.last.Metrics[m.Title]
	}
	return run.Record{}
}
