package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
)

// Line is an interval in one line, for a run that goes on: the time, the users,
// and the rate and times of what clients measured, or of iterations where no
// client measured a time.
func Line(i run.Interval, metrics []run.Metric) string {
	var users int64
	var clients, iterations []string
	for _, m := range metrics {
		r, ok := i.Metrics[m.Title]
		own := strings.HasPrefix(m.Title, classPrefix)
		switch {
		case !ok || strings.HasPrefix(m.Title, ownPrefix):
		case own && r.Value != nil && strings.HasSuffix(m.Title, ".active"):
			users += *r.Value
		case r.Times != nil && !(own && !strings.HasSuffix(m.Title, ".response")):
			s := fmt.Sprintf("%s %s/s p50 %s p99 %s max %s", title(m.Title), Rate(*r.RPS),
				Millis(r.Times.P50), Millis(r.Times.P99), Millis(r.Times.Max))
			if own {
				iterations = append(iterations, s)
			} else {
				clients = append(clients, s)
			}
		}
	}
	parts := []string{fmt.Sprintf("%7s", strconv.FormatFloat(math.Round((i.From+i.Seconds)*10)/10, 'f', -1, 64)+"s"), fmt.Sprintf("%s users", Count(users))}
	if len(clients) == 0 {
		clients = iterations
	}
	parts = append(parts, clients...)
	if i.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s errors", Count(i.Errors)))
	}
	return strings.Join(parts, "  ")
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
	return Safe(strings.Replace(own, ".task.", " task ", 1))
}
