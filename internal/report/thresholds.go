package report

import (
	"fmt"

	"github.com/gobench-io/gobench/internal/run"
)

// thresholds shows whether the run met its conditions, and below them why not where
// a value does not say it.
func (t *text) thresholds(r *run.Result) {
	var rows [][]string
	for _, x := range r.Thresholds {
		row := []string{Safe(x.Expression), "ok", Safe(x.Value), ""}
		if !x.OK {
			row[1] = "CROSSED"
			if x.At != nil {
				row[3] = Seconds(*x.At)
			}
		}
		rows = append(rows, row)
	}
	head := []string{"Thresholds", "", "value", "crossed at"}
	t.table(head, rows)
	for _, x := range r.Thresholds {
		if x.Reason != "" {
			t.printf("  %s\n", fmt.Sprintf("%s: %s", Safe(x.Expression), Safe(x.Reason)))
		}
	}
}
