// Package roles sets the roles of metrics in tests, which these would otherwise have to write
// beside each title.
package roles

import (
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Of returns what a metric with a title of gobench's own, or of its HTTP client, counts,
// whatever its group.
func Of(title string, t run.MetricType) run.Counts {
	group := ""
	switch name := strings.Split(title, "."); {
	case name[0] == "check":
		group = "Checks"
	case name[0] == "step":
		group = "Steps"
	case name[0] == "vu" && strings.Contains(title, ".task."):
		class, _, _ := strings.Cut(strings.TrimPrefix(title, "vu."), ".task.")
		group = "Users (" + class + ")"
	case name[0] == "vu":
		group = "Users (" + strings.Join(name[1:len(name)-1], ".") + ")"
	case strings.HasSuffix(title, ".ok"), strings.HasSuffix(title, ".fail"):
		group = "Results (" + title[:strings.LastIndexByte(title, '.')] + ")"
	default:
		group = "HTTP (" + name[0] + ")"
	}
	return run.Counts1(title, t, group)
}

// Metric sets the role of m, as Set does, and returns m.
func Metric(m run.Metric) run.Metric { return Set(m)[0] }

// Set sets the role of each of metrics to what Of returns for it, unless it has one, and
// returns them.
func Set(metrics ...run.Metric) []run.Metric {
	for i := range metrics {
		if m := &metrics[i]; m.Role == run.Other {
			m.Counts = Of(m.Title, m.Type)
		}
	}
	return metrics
}

// Declare sets the role of each of metrics to what Of returns for it, unless it has one, and
// returns them.
func Declare(metrics ...*wire.Metric) []*wire.Metric {
	for _, m := range metrics {
		if m.Role == "" {
			m.SetCounts(Of(m.Title, run.MetricType(m.Type)))
		}
	}
	return metrics
}
