package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// warming reports whether what is recorded at present is left out of the totals.
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

// progress shows the progress of the run: a bar if it is known how much is left. Before the
// load, and while it stops, the current step.
func (s *screen) progress() {
	if s.began.IsZero() || s.state == run.Stopping {
		took := s.now.Sub(s.since)
		s.row(always, func(l *line) {
			l.add(cyan, " "+spinner(s.now)).add(plain, " "+cmp.Or(s.step, "starting"))
			if took >= time.Second && !s.since.IsZero() {
				l.add(dim, "  "+clock(took))
			}
			if left := s.until.Sub(s.now); s.state == run.Stopping && left > 0 {
				l.add(dim, ", at most "+clock(left)+" left")
			}
			if s.detail != "" {
				l.add(dim, "  "+units.Safe(s.detail))
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
		parts = append(parts, units.Count(s.done)+" of "+units.Count(n)+" iterations")
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

// spinner returns the character of now: four of them make one turn a second.
func spinner(now time.Time) string {
	return [...]string{"◐", "◓", "◑", "◒"}[now.UnixMilli()/250%4]
}

// stages shows what the schedules of classes currently demand, or what the user has set
// instead. Other classes have no row.
func (s *screen) stages() {
	for _, c := range s.plan.Classes {
		set := s.set[c.Name]
		what := ""
		level := s.level(c, s.now)
		switch {
		case c.Open && set != nil && set.rate >= 0:
			what = "set to " + quantity(level) + "/s"
		case !c.Open && set != nil && set.users >= 0:
			what = "set to " + units.Count(set.users) + " users"
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
				l.add(plain, units.Safe(c.Name)+" ")
			}
			l.add(dim, what)
		})
	}
}

// separated returns a unit as it follows a number: with a space before it, unless it is
// "/s".
func separated(unit string) string {
	if unit == "/s" {
		return unit
	}
	return " " + unit
}

// quantity formats users or a rate, without meaningless digits.
func quantity(v float64) string {
	if v == float64(int64(v)) {
		return units.Count(int64(v))
	}
	return units.Rate(v)
}
