package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// Line formats an interval of an active run in one line, without its end: the time since the
// load began, the users, the rate and times of what was done, and the errors if there are any.
// For a class whose iterations start on a schedule, service time, start lag and queue wait
// follow its response time. metrics are those of the run so far.
func Line(i run.Interval, metrics []run.Metric) string {
	parts := []string{fmt.Sprintf("%7s", strconv.FormatFloat(math.Round((i.From+i.Seconds)*10)/10, 'f', -1, 64)+"s"), fmt.Sprintf("%s users", units.Count(Users(i)))}
	for _, m := range Headline(metrics, func(title string) bool { _, ok := i.Metrics[title]; return ok }) {
		prefix := strings.TrimSuffix(m.Title, "response")
		if i.Metrics[prefix+"planned"].Count != nil {
			parts = append(parts, scheduled(i, prefix))
		} else if r := i.Metrics[m.Title]; r.Times != nil {
			parts = append(parts, Title(m.Title)+" "+times(r))
		}
	}
	if i.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s errors", units.Count(i.Errors)))
	}
	return strings.Join(parts, "  ")
}

// Headline returns a run's main distributions of times: the response time of classes whose
// iterations start on a schedule, also before it has recordings; without such classes, what
// clients measured, the first times of each group; if no client measured a time, iterations.
// Of the latter two it returns only what recorded says has recordings, so it may return nil.
func Headline(metrics []run.Metric, recorded func(title string) bool) []run.Metric {
	var open, clients, iterations []run.Metric
	leading := run.Leading(metrics)
	scheduled := map[string]bool{} // prefixes of classes
	for _, m := range metrics {
		if prefix, ok := strings.CutSuffix(m.Title, "planned"); ok && strings.HasPrefix(m.Title, classPrefix) {
			scheduled[prefix] = true
		}
	}
	for _, m := range metrics {
		prefix, response := strings.CutSuffix(m.Title, "response")
		class := strings.HasPrefix(m.Title, classPrefix)
		switch {
		case own(m):
		case class && response && scheduled[prefix]:
			open = append(open, m)
		case !recorded(m.Title):
		case class && response:
			iterations = append(iterations, m)
		case !class && leading[m.Title]:
			clients = append(clients, m)
		}
	}
	switch {
	case len(open) > 0:
		return open
	case len(clients) > 0:
		return clients
	}
	return iterations
}

// Users returns the number of users in an interval: those at its end or, if that is 0, those
// that ended in it.
func Users(i run.Interval) (users int64) {
	var finished int64
	for title, r := range i.Metrics {
		switch {
		case !strings.HasPrefix(title, classPrefix):
		case r.Value != nil && strings.HasSuffix(title, ".active"):
			users += *r.Value
		case r.Count != nil && strings.HasSuffix(title, ".finished"):
			finished += *r.Count
		}
	}
	if users == 0 {
		return finished
	}
	return users
}

// times formats a histogram's rate and times, "120/s p50 1.20 ms p99 3.40 ms max 5.60 ms". r
// must have both.
func times(r run.Record) string {
	return fmt.Sprintf("%s/s p50 %s p99 %s max %s", units.Rate(*r.RPS), units.Millis(r.Times.P50), units.Millis(r.Times.P99), units.Millis(r.Times.Max))
}

// scheduled formats what a class with a schedule did; prefix is that of its metrics,
// "vu.NAME.". The interval must have its planned starts.
func scheduled(i run.Interval, prefix string) string {
	s := Title(prefix + "response")
	if r := i.Metrics[prefix+"response"]; r.Times != nil {
		s += " " + times(r)
	} else {
		s += fmt.Sprintf(" none, %s planned", units.Count(*i.Metrics[prefix+"planned"].Count))
	}
	for _, name := range []string{"service", "start_lag", "queue_wait"} {
		if r := i.Metrics[prefix+name]; r.Times != nil {
			s += fmt.Sprintf(", %s p99 %s", ownNames[name], units.Millis(r.Times.P99))
		}
	}
	for _, name := range []string{"late", "dropped"} {
		if r := i.Metrics[prefix+name]; r.Count != nil && *r.Count > 0 {
			s += fmt.Sprintf(", %s %s", units.Count(*r.Count), name)
		}
	}
	return s
}

// ownNames are the names shown for the users' own distributions.
var ownNames = map[string]string{
	"response": "response time", "service": "service time", "failure": "failure time", "queue_wait": "queue wait", "start_lag": "start lag",
}

// Title returns the name shown for a metric's title, safe for a terminal: "NAME response
// time" for vu.NAME.response, most others unchanged.
func Title(s string) string {
	own, ok := strings.CutPrefix(s, classPrefix)
	if !ok {
		return units.Safe(s)
	}
	if dot := strings.LastIndexByte(own, '.'); dot > 0 && ownNames[own[dot+1:]] != "" {
		return units.Safe(own[:dot]) + " " + ownNames[own[dot+1:]]
	}
	if class, ok := strings.CutSuffix(own, ".iterations"); ok {
		return units.Safe(class) + " iterations"
	}
	return units.Safe(strings.Replace(own, ".task.", " task ", 1))
}
