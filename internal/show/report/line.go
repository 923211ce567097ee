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
	parts := []string{fmt.Sprintf("%7s", strconv.FormatFloat(math.Round((i.From+i.Seconds)*10)/10, 'f', -1, 64)+"s"), fmt.Sprintf("%s users", units.Count(Users(i, metrics)))}
	for _, m := range Headline(metrics, func(title string) bool { _, ok := i.Metrics[title]; return ok }) {
		if scheduled(m, metrics) {
			parts = append(parts, ofSchedule(i, m, metrics))
		} else if r := i.Metrics[m.Title]; r.Times != nil {
			parts = append(parts, Title(m)+" "+times(m, r))
		}
	}
	if i.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s failed", units.Count(i.Errors)))
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
	for _, m := range metrics {
		switch {
		case m.Role == run.ClassResponse && scheduled(m, metrics):
			open = append(open, m)
		case !recorded(m.Title):
		case m.Role == run.ClassResponse:
			iterations = append(iterations, m)
		case leading[m.Title]:
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

// scheduled reports whether m is of a class whose iterations start on a schedule.
func scheduled(m run.Metric, metrics []run.Metric) bool {
	return m.Role.OfClass() && run.Find(metrics, m.As(run.ClassPlanned)) != nil
}

// Of returns what a metric of another role and the same owner as m recorded in an interval; a
// zero Record without one.
func Of(i run.Interval, m run.Metric, r run.Role, metrics []run.Metric) run.Record {
	if other := run.Find(metrics, m.As(r)); other != nil {
		return i.Metrics[other.Title]
	}
	return run.Record{}
}

// Users returns the number of users in an interval: those at its end or, if that is 0, those
// that ended in it.
func Users(i run.Interval, metrics []run.Metric) (users int64) {
	var finished int64
	for _, m := range metrics {
		switch r := i.Metrics[m.Title]; {
		case m.Role == run.ClassActive && r.Value != nil:
			users += *r.Value
		case m.Role == run.ClassFinished && r.Count != nil:
			finished += *r.Count
		}
	}
	if users == 0 {
		return finished
	}
	return users
}

// times formats the rate and the times of m's record r, "120/s p50 1.20 ms p99 3.40 ms max 5.60
// ms". r must have both.
func times(m run.Metric, r run.Record) string {
	return fmt.Sprintf("%s/s p50 %s p99 %s max %s", units.Rate(*r.RPS), Percentile(m, r, "p50"), Percentile(m, r, "p99"), units.Millis(r.Times.Max))
}

// ofSchedule formats what a class with a schedule did; m is its response time.
func ofSchedule(i run.Interval, m run.Metric, metrics []run.Metric) string {
	of := func(r run.Role) run.Record { return Of(i, m, r, metrics) }
	s := Title(m)
	if r := i.Metrics[m.Title]; r.Times != nil {
		s += " " + times(m, r)
	} else {
		planned := int64(0)
		if n := of(run.ClassPlanned).Count; n != nil {
			planned = *n
		}
		s += fmt.Sprintf(" none, %s planned", units.Count(planned))
	}
	for _, role := range []run.Role{run.ClassService, run.ClassLag, run.ClassWait} {
		if r := of(role); r.Times != nil {
			s += fmt.Sprintf(", %s p99 %s", roleNames[role], Percentile(m, r, "p99"))
		}
	}
	for _, x := range []struct {
		role run.Role
		name string
	}{{run.ClassLate, "late"}, {run.ClassDropped, "dropped"}} {
		if r := of(x.role); r.Count != nil && *r.Count > 0 {
			s += fmt.Sprintf(", %s %s", units.Count(*r.Count), x.name)
		}
	}
	return s
}

// roleNames are the names shown for the distributions of classes.
var roleNames = map[run.Role]string{
	run.ClassResponse: "response time", run.ClassService: "service time", run.ClassFailure: "failure time", run.ClassWait: "queue wait", run.ClassLag: "start lag",
	run.ClassDone: "iterations",
}

// Title returns the name shown for a metric, safe for a terminal: "CLASS response time" for a
// class's response time, the title of most others.
func Title(m run.Metric) string {
	switch name := roleNames[m.Role]; {
	case m.Role == run.ClassTask:
		return units.Safe(m.Of) + " task " + units.Safe(m.Part)
	case name != "":
		return units.Safe(m.Of) + " " + name
	}
	return units.Safe(m.Title)
}
