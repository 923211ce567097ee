package live

import (
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// maxPoints is how many intervals are stored for graphs.
const maxPoints = longestGraph

// history is what the last intervals recorded, the newest last.
type history struct {
	points []point
	titles map[string]bool // of everything recorded since the begin
}

// point is one interval of the history.
type point struct {
	users  int64
	errors float64 // per second
	times  map[string]figures
}

// figures are those of a distribution of times in one interval.
type figures struct{ rate, p50, p90, p99, max float64 }

// add adds the next interval of a run with these metrics; the oldest is dropped if there are maxPoints.
func (h *history) add(i run.Interval, metrics []run.Metric) {
	if h.titles == nil {
		h.titles = map[string]bool{}
	}
	p := point{users: report.Users(i, metrics), times: map[string]figures{}}
	if i.Seconds > 0 {
		p.errors = float64(i.Errors) / i.Seconds
	}
	for title, r := range i.Metrics {
		if t := r.Times; t != nil {
			h.titles[title] = true
			p.times[title] = figures{*r.RPS, report.Drawn(r, "p50"), report.Drawn(r, "p90"), report.Drawn(r, "p99"), t.Max}
		}
	}
	if len(h.points) == maxPoints {
		copy(h.points, h.points[1:])
		h.points = h.points[:maxPoints-1]
	}
	h.points = append(h.points, p)
}

func (h *history) has(title string) bool { return h.titles[title] }

// series returns a figure of each interval, the newest last; known is false for an interval
// without it.
func (h *history) series(of func(point) (float64, bool)) (values []float64, known []bool) {
	for _, p := range h.points {
		v, ok := of(p)
		values, known = append(values, v), append(known, ok)
	}
	return values, known
}

// sparks are the eight heights of a graph's column.
var sparks = []rune("▁▂▃▄▅▆▇█")

// spark draws the last values, one a column in at most the given number of columns, scaled
// from 0 to the greatest; an unknown value is a gap. It returns "" without columns.
func spark(values []float64, known []bool, columns int) string {
	if columns <= 0 {
		return ""
	}
	if n := len(values) - columns; n > 0 {
		values, known = values[n:], known[n:]
	}
	most := 0.0
	for i, v := range values {
		if known[i] {
			most = max(most, v)
		}
	}
	line := make([]rune, 0, columns)
	for i, v := range values {
		switch {
		case !known[i]:
			line = append(line, ' ')
		case most <= 0 || v <= 0:
			line = append(line, sparks[0])
		default:
			line = append(line, sparks[min(len(sparks)-1, int(v/most*float64(len(sparks))))])
		}
	}
	return string(line)
}
