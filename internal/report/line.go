package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Line is an interval in one line, for a run that goes on: the time, the users, and
// the rate and times of what was done. Of a class whose iterations start on a
// schedule that is its response time, with service time, start lag and queue wait
// beside it; else what clients measured, the first times of each group, or iterations
// where no client measured a time.
func Line(i run.Interval, metrics []run.Metric) string {
	var users int64
	var open, clients, iterations []string
	leading := run.Leading(metrics)
	for _, m := range metrics {
		r, ok := i.Metrics[m.Title]
		own := strings.HasPrefix(m.Title, classPrefix)
		switch {
		case !ok || strings.HasPrefix(m.Title, ownPrefix):
		case own && r.Value != nil && strings.HasSuffix(m.Title, ".active"):
			users += *r.Value
		case own && strings.HasSuffix(m.Title, ".planned"):
			open = append(open, scheduled(i, strings.TrimSuffix(m.Title, "planned")))
		case r.Times != nil && !(own && !strings.HasSuffix(m.Title, ".response")):
			s := title(m.Title) + " " + times(r)
			if own {
				iterations = append(iterations, s)
			} else if leading[m.Title] {
				clients = append(clients, s)
			}
		}
	}
	parts := []string{fmt.Sprintf("%7s", strconv.FormatFloat(math.Round((i.From+i.Seconds)*10)/10, 'f', -1, 64)+"s"), fmt.Sprintf("%s users", Count(users))}
	switch {
	case len(open) > 0:
		parts = append(parts, open...)
	case len(clients) > 0:
		parts = append(parts, clients...)
	default:
		parts = append(parts, iterations...)
	}
	if i.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s errors", Count(i.Errors)))
	}
	return strings.Join(parts, "  ")
}

// times shows a histogram's rate and times.
func times(r run.Record) string {
	return fmt.Sprintf("%s/s p50 %s p99 %s max %s", Rate(*r.RPS), Millis(r.Times.P50), Millis(r.Times.P99), Millis(r.Times.Max))
}

// scheduled shows what a class did whose iterations start on a schedule; prefix is
// that of its metrics.
func scheduled(i run.Interval, prefix string) string {
	s := title(prefix + "response")
	if r := i.Metrics[prefix+"response"]; r.Times != nil {
		s += " " + times(r)
	} else {
		s += fmt.Sprintf(" none, %s planned", Count(*i.Metrics[prefix+"planned"].Count))
	}
	for _, name := range []string{"service", "start_lag", "queue_wait"} {
		if r := i.Metrics[prefix+name]; r.Times != nil {
			s += fmt.Sprintf(", %s p99 %s", ownNames[name], Millis(r.Times.P99))
		}
	}
	for _, name := range []string{"late", "dropped"} {
		if r := i.Metrics[prefix+name]; r.Count != nil && *r.Count > 0 {
			s += fmt.Sprintf(", %s %s", Count(*r.Count), name)
		}
	}
	return s
}

// ownNames are what people see of the users' own distributions.
var ownNames = map[string]string{
	"response": "response time", "service": "service time", "failure": "failure time", "queue_wait": "queue wait", "start_lag": "start lag",
}

// title is what people see of a metric's title.
func title(s string) string {
	own, ok := strings.CutPrefix(s, classPrefix)
	if !ok {
		return Safe(s)
	}
	if dot := strings.LastIndexByte(own, '.'); dot > 0 && ownNames[own[dot+1:]] != "" {
		return Safe(own[:dot]) + " " + ownNames[own[dot+1:]]
	}
	if class, ok := strings.CutSuffix(own, ".iterations"); ok {
		return Safe(class) + " iterations"
	}
	return Safe(strings.Replace(own, ".task.", " task ", 1))
}
