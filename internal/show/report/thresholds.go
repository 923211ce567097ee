package report

import (
	"fmt"
	"strings"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// crossed counts the conditions that a run did not meet.
func crossed(r *run.Result) (n int) {
	for _, x := range r.Thresholds {
		if x.Crossed() {
			n++
		}
	}
	return n
}

// undecided counts the conditions that a run neither met nor crossed for certain.
func undecided(r *run.Result) (n int) {
	for _, x := range r.Thresholds {
		if x.Undecided {
			n++
		}
	}
	return n
}

// met describes in words whether the run met its conditions; "" if it had none.
func met(r *run.Result) string {
	switch n, all := crossed(r), len(r.Thresholds); {
	case all == 0:
		return ""
	case n > 0 && all == 1:
		return "its threshold is crossed"
	case n > 0:
		return fmt.Sprintf("%d of %d thresholds crossed", n, all)
	case undecided(r) > 0 && all == 1:
		return "its threshold is not decided"
	case undecided(r) > 0:
		return fmt.Sprintf("%d of %d thresholds not decided", undecided(r), all)
	case all == 1:
		return "its threshold is met"
	default:
		return fmt.Sprintf("all %d thresholds are met", all)
	}
}

// crossedAt says when a threshold was crossed. One over the whole run that does not abort it is
// judged at the end, unless its metric can't have its statistic.
func crossedAt(x run.Threshold) string {
	if !x.Wrong && !strings.Contains(x.Expression, " over ") && !strings.HasSuffix(x.Expression, " abort") {
		return "the end"
	}
	return units.Seconds(*x.At)
}

// thresholds writes whether the run met its conditions, and below them the reason if a
// value does not show it; nothing if it had no thresholds.
func (t *text) thresholds(r *run.Result) {
	var rows [][]cell
	for _, x := range r.Thresholds {
		row := []cell{{text: units.Safe(x.Expression)}, {"ok", good}, {text: units.Safe(x.Value)}, {}}
		if x.Undecided {
			row[1] = cell{"not decided", warn}
		} else if !x.OK {
			row[1] = cell{"CROSSED", bad}
			if x.At != nil {
				row[3].text = crossedAt(x)
			}
		}
		rows = append(rows, row)
	}
	t.table([]string{"Thresholds", "", "value", "crossed at"}, rows)
	for _, x := range r.Thresholds {
		if x.Reason != "" {
			t.say("  ", units.Safe(x.Expression)+": "+units.Safe(x.Reason))
		}
	}
}

// checks writes how often each check of the scenario passed; unless the report is full, of at
// most eight.
func (t *text) checks(r *run.Result) {
	all := checks(r)
	var rows [][]cell
	for _, c := range all[:t.limit(len(all), maxChecks)] {
		row := []cell{{text: units.Safe(c.name)}, {text: units.Count(c.passed)}, {text: units.Count(c.failed)}, {text: exactShare(c.rate())}}
		if c.failed > 0 {
			row[2].tone = bad
		}
		rows = append(rows, row)
	}
	t.table([]string{"Checks", "passed", "failed", "rate"}, rows)
}

// exactShare formats a part of a whole with two decimals: "12.34 %". Only the whole is shown
// as "100.00 %" and only 0 as "0.00 %"; what is close to them is "> 99.99 %" or "< 0.01 %".
func exactShare(part float64) string {
	if s := fmt.Sprintf("%.2f", part*100); part == 0 || part == 1 || s != "100.00" && s != "0.00" {
		return s + " %"
	}
	if part > 0.5 {
		return "> 99.99 %"
	}
	return "< 0.01 %"
}
