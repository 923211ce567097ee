package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// maxHosts is how many hosts a report of one screen shows.
const maxHosts = 8

// hosts writes the hosts of a master's run, at most eight unless the report is full, and how
// far apart the load began on them; nothing if the run has no hosts.
func (t *text) hosts(r *run.Result) {
	if len(r.Hosts) == 0 {
		return
	}
	rows := hostRows(r)
	shown := t.limit(len(rows), maxHosts)
	columns := []string{"Hosts", "executors", "load began", "clock", "lost"}
	if !slices.ContainsFunc(r.Hosts, func(h run.Host) bool { return h.Lost > 0 }) {
		columns = columns[:len(columns)-1]
		for i := range rows {
			rows[i] = rows[i][:len(columns)]
		}
	}
	t.table(columns, rows[:shown])
}

// hostRows returns a row for each host: its name, its executors, when its load began after
// that of the first one ("+1.20 ms"), its clock's lead over that of the master ("+1.20 ms ±
// 300 µs"), and when it was lost ("after 12.3 s"); "-" for what is unknown.
func hostRows(r *run.Result) (rows [][]cell) {
	first := firstBegan(r)
	for _, h := range r.Hosts {
		row := cells(units.Safe(cmp.Or(h.Name, h.Agent)), units.Count(int64(h.Executors)), "-", "-", "-")
		if !h.Began.IsZero() {
			row[2].text = "+" + units.Millis(float64(h.Began.Sub(first))/1e6)
		}
		if h.ClockError > 0 {
			row[3].text = signed(h.Clock) + " ± " + units.Millis(1000*h.ClockError)
		}
		if h.Lost > 0 {
			row[4] = cell{"after " + units.Seconds(h.Lost), bad}
		}
		rows = append(rows, row)
	}
	return rows
}

// firstBegan returns when the load began on the first host; the zero time if it is unknown
// of all.
func firstBegan(r *run.Result) (first time.Time) {
	for _, h := range r.Hosts {
		if !h.Began.IsZero() && (first.IsZero() || h.Began.Before(first)) {
			first = h.Began
		}
	}
	return first
}

// signed formats the seconds by which a clock is ahead, with a sign and in the unit that
// units.Millis selects: "+312 µs", "-1.50 s"; 0 is "+0".
func signed(seconds float64) string {
	sign := "+"
	if seconds < 0 {
		sign = "-"
	}
	return sign + units.Millis(1000*math.Abs(seconds))
}

// hostsLine returns the contents of hostRows in a line, with "; " between hosts and without
// what is unknown: "NAME: 2 executors, began +1.20 ms"; "" without hosts.
func hostsLine(r *run.Result) string {
	var all []string
	for _, row := range hostRows(r) {
		s := row[0].text + ": " + row[1].text + " executor"
		if row[1].text != "1" {
			s += "s"
		}
		for i, what := range []string{"began %s", "clock %s", "lost %s"} {
			if text := row[2+i].text; text != "-" {
				s += ", " + fmt.Sprintf(what, text)
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

// hosts writes a table of at most twelve hosts, and how many more there are; nothing if the
// run has no hosts.
func (m *markdown) hosts(r *run.Result) {
	if len(r.Hosts) == 0 {
		return
	}
	m.printf("\n| host | executors | load began | clock | lost |\n| --- |%s\n", strings.Repeat(" ---: |", 4))
	for i, row := range hostRows(r) {
		if i == maxMarkdownRows {
			m.printf("| %d more | | | | |\n", len(r.Hosts)-i)
			break
		}
		m.printf("| %s | %s | %s | %s | %s |\n", code(row[0].text), row[1].text, row[2].text, row[3].text, row[4].text)
	}
}
