package report

import (
	"fmt"
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
		case !ok:
		case own && r.Value != nil && strings.HasSuffix(m.Title, ".active"):
			users += *r.Value
		case r.Times != nil:
			s := fmt.Sprintf("%s %s/s p50 %s p99 %s max %s", strings.TrimPrefix(Safe(m.Title), classPrefix), Rate(*r.RPS),
				Millis(r.Times.P50), Millis(r.Times.P99), Millis(r.Times.Max))
			if own {
				iterations = append(iterations, s)
			} else {
				clients = append(clients, s)
			}
		}
	}
	parts := []string{fmt.Sprintf("%6s", fmt.Sprintf("%.4gs", i.From+i.Seconds)), fmt.Sprintf("%s users", Count(users))}
	if len(clients) == 0 {
		clients = iterations
	}
	parts = append(parts, clients...)
	if i.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s errors", Count(i.Errors)))
	}
	return strings.Join(parts, "  ")
}
