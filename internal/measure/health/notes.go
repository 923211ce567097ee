package health

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// Notes returns what a reader should know of the windows so far that lowers no verdict,
// sorted as texts; nil without any.
func (j *Judge) Notes() (notes []string) {
	for _, t := range j.tracks {
		if t.signal.note && t.most > run.Fine {
			when := fmt.Sprintf("in %d intervals, the worst at %s", t.windows, duration(float64(t.at)))
			if t.windows == 1 {
				when = "in one interval, at " + duration(float64(t.at))
			}
			notes = append(notes, fmt.Sprintf("%s (%s): %s", t.text(t.worst), when, t.advice))
		}
	}
	if s := j.plateau.note(); s != "" {
		notes = append(notes, s)
	}
	if s := j.starting.note(); s != "" {
		notes = append(notes, s)
	}
	slices.Sort(notes)
	return notes
}

// starting compares a run's first window with those after it.
type starting struct {
	windows int
	warmed  bool // the run has a warm-up
	first   map[string]time.Duration
	rest    map[string]mean
}

type mean struct {
	sum time.Duration
	n   int64
}

// How many windows represent a warm target, how many starts a window's median needs, and
// how much slower than the rest the first window must be to be noted.
const (
	warmWindows = 5
	warmStarts  = 100
	slower      = 2
	slowerBy    = time.Millisecond
)

// add adds the next window, also of a warm-up. Classes with fewer than warmStarts
// iterations in it, or without a response time, are left out.
func (s *starting) add(w *Window) {
	if s.first == nil {
		s.first, s.rest = map[string]time.Duration{}, map[string]mean{}
	}
	s.warmed = s.warmed || w.Warmup
	s.windows++
	for _, l := range w.Loads {
		switch {
		case l.Response <= 0 || l.Done < warmStarts:
		case s.windows == 1:
			s.first[l.Class] = l.Response
		default:
			m := s.rest[l.Class]
			s.rest[l.Class] = mean{m.sum + l.Response, m.n + 1}
		}
	}
}

// note describes a first window whose median response time was much longer than the later
// ones, of the first such class by name; "" if it was not, after a warm-up, or with fewer than
// warmWindows windows.
func (s *starting) note() string {
	if s.warmed || s.windows < warmWindows {
		return ""
	}
	for _, class := range slices.Sorted(maps.Keys(s.first)) {
		first := s.first[class]
		m := s.rest[class]
		if m.n == 0 {
			continue
		}
		if rest := m.sum / time.Duration(m.n); first > slower*rest && first-rest > slowerBy {
			return fmt.Sprintf("the totals have a cold start in them: in the first interval the median response time of class %s was %s, later about %s; --warmup leaves it out", class, duration(float64(first)), duration(float64(rest)))
		}
	}
	return ""
}
