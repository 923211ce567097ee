package report

import (
	"cmp"
	"slices"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// maxParts is how many names of operations a report of one screen shows.
const maxParts = 12

// ofName reports whether m counts, or times, the operations of one name, as those of a URL.
func ofName(m run.Metric) bool {
	return m.By != "" && m.By != "status" && m.By != "error" &&
		slices.Contains([]run.Role{run.OpOK, run.OpFailed, run.OpUnanswered, run.OpTime}, m.Role)
}

// parts writes how the operations went that are counted by name, as those of each URL, a row a
// name: first those of which most failed, then in the order of their declaration.
func (t *text) parts(r *run.Result) {
	type part struct {
		of, by, name string
		all, bad     int64
		rate         float64
		times        run.Metric
	}
	var all []*part
	for _, m := range r.Metrics {
		if !ofName(m) {
			continue
		}
		i := slices.IndexFunc(all, func(p *part) bool { return p.of == m.Of && p.by == m.By && p.name == m.Part })
		if i < 0 {
			i = len(all)
			all = append(all, &part{of: m.Of, by: m.By, name: m.Part})
		}
		p := all[i]
		if m.Role == run.OpTime {
			p.times = m
			continue
		}
		if m.Count != nil {
			p.all += *m.Count
			if m.Role != run.OpOK {
				p.bad += *m.Count
			}
		}
		if m.RPS != nil {
			p.rate += *m.RPS
		}
	}
	slices.SortStableFunc(all, func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.by, b.by), cmp.Compare(b.bad, a.bad))
	})
	for len(all) > 0 {
		first, n := all[0], 1
		for n < len(all) && all[n].of == first.of && all[n].by == first.by {
			n++
		}
		var rows [][]cell
		for _, p := range all[:t.limit(n, maxParts)] {
			row := append(cells(units.Safe(p.name), units.Count(p.all)), cell{text: units.Count(p.bad)}, cell{text: units.Rate(p.rate) + "/s"})
			if p.bad > 0 {
				row[2].tone = bad
			}
			for _, name := range []string{"p50", "p95", "p99", "max"} {
				row = append(row, cell{text: wholeFigure(p.times, name), tone: toneOf(p.times, name)})
			}
			rows = append(rows, row)
		}
		t.table([]string{units.Safe(first.of + " by " + first.by), "total", "failed", "rate", "p50", "p95", "p99", "max"}, rows)
		all = all[n:]
	}
}

// wholeFigure formats a percentile of m, or its maximum, for a narrow column; "-" if m has none.
func wholeFigure(m run.Metric, name string) string {
	for _, f := range quantiles(m) {
		if f.name == name {
			return f.short(m)
		}
	}
	return "-"
}
