package scripts

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/repo"
)

var update = flag.Bool("update", false, "write the tables of docs/metrics.md from the metrics of real runs")

// documented compares the metrics of results with docs/metrics.md: each has a row with
// its type and unit, and each row has a metric: documented FILE... With -update it adds
// and removes rows and sets types and units; descriptions are written by hand.
func documented(ts *testscript.TestScript, _ bool, args []string) {
	file := repo.Path(ts.Value(testKey{}).(testing.TB), "docs/metrics.md")
	b, err := os.ReadFile(file)
	ts.Check(err)
	page := &metricsPage{lines: strings.Split(string(b), "\n")}
	page.parse()
	var wrong []string
	for _, name := range args {
		var result struct {
			Metrics []metric
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &result))
		for _, m := range result.Metrics {
			if run.Role(m.Role).Companion() { // recorded only where gobench delayed something
				continue
			}
			if !page.has(m) {
				wrong = append(wrong, "it has no row for "+m.Title+", a "+m.Type+" of unit "+m.Unit)
				page.put(m)
			}
		}
	}
	for _, r := range slices.Backward(page.rows) {
		switch {
		case !r.seen:
			wrong = append(wrong, "no run has "+r.title)
			page.remove(r)
		case r.text == "":
			wrong = append(wrong, "describe "+r.title+" by hand")
		}
	}
	if *update {
		ts.Check(os.WriteFile(file, []byte(strings.Join(page.lines, "\n")), 0o644))
	} else if wrong != nil {
		ts.Fatalf("docs/metrics.md is not current: make docs writes its tables\n%s", strings.Join(wrong, "\n"))
	}
}

type metric struct{ Title, Type, Unit, Role string }

// metricsPage is docs/metrics.md.
type metricsPage struct {
	lines []string
	rows  []*metricsRow // of all tables, in order
}

// metricsRow is a row of a table: | `title` | type | unit | text |
type metricsRow struct {
	line                    int
	title, kind, unit, text string
	match                   *regexp.Regexp // titles of runs that it is for
	seen                    bool           // a run has it
}

var (
	rowForm  = regexp.MustCompile("^\\| `([^`]+)` \\| (\\w+) \\| (\\w+) \\| ?(.*?) ?\\|$")
	capitals = regexp.MustCompile(`[A-Z]{2,}`) // stand for what differs from run to run
)

// parse finds the rows, and keeps which of them have been seen.
func (p *metricsPage) parse() {
	seen := map[string]bool{}
	for _, r := range p.rows {
		seen[r.title] = r.seen
	}
	p.rows = nil
	for i, line := range p.lines {
		m := rowForm.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(m[1]), "CODE", `[1-5]\d\d`)
		if strings.HasPrefix(m[1], "PREFIX.status.") {
			pattern = strings.ReplaceAll(pattern, "CLASS", `(?:[2-5]xx|other)`)
		}
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "KIND", `grpc`), "PREFIX", `(?:http|home)`)
		p.rows = append(p.rows, &metricsRow{line: i, title: m[1], kind: m[2], unit: m[3], text: m[4],
			match: regexp.MustCompile("^" + capitals.ReplaceAllString(pattern, `.+`) + "$"), seen: seen[m[1]]})
	}
}

// has reports whether a row is for a metric, with its type and unit.
func (p *metricsPage) has(m metric) (found bool) {
	for _, r := range p.rows {
		if r.match.MatchString(m.Title) && r.kind == m.Type && r.unit == m.Unit {
			found, r.seen = true, true
		}
	}
	return found
}

// put sets the type and unit of a metric's row, or adds a row without a description to the
// table of similar titles.
func (p *metricsPage) put(m metric) {
	title := general(m.Title)
	cell := "| `" + title + "` | " + m.Type + " | " + m.Unit + " | "
	prefix, _, _ := strings.Cut(title, ".")
	last := p.rows[len(p.rows)-1]
	for _, r := range p.rows {
		if r.title == title {
			p.lines[r.line] = cell + r.text + " |"
			p.parse()
			p.has(m)
			return
		}
		if strings.HasPrefix(r.title, prefix+".") {
			last = r
		}
	}
	p.lines = slices.Insert(p.lines, last.line+1, cell+"|")
	p.parse()
	p.has(m)
}

func (p *metricsPage) remove(r *metricsRow) { p.lines = slices.Delete(p.lines, r.line, r.line+1) }

// general returns a title with capitals for what the scenarios of the test chose.
func general(title string) string {
	parts := strings.Split(title, ".")
	switch {
	case parts[0] == "http" || parts[0] == "home":
		parts[0] = "PREFIX"
	case parts[0] == "vu" && len(parts) > 2:
		parts[1] = "CLASS"
	}
	return strings.Join(parts, ".")
}

// TestMetricsPage holds what -update does to a page.
func TestMetricsPage(t *testing.T) {
	p := &metricsPage{lines: strings.Split("| title | type | unit | |\n| --- | --- | --- | --- |\n| `vu.CLASS.a` | counter | N | users |\n| `vu.CLASS.old` | gauge | N | gone |\n\n| `PREFIX.x` | gauge | N | what it is |\n", "\n")}
	p.parse()
	for _, m := range []metric{{"vu.one.a", "counter", "N", ""}, {"vu.one.new", "gauge", "ns", ""}, {"home.x", "counter", "B", ""}} {
		if !p.has(m) {
			p.put(m)
		}
	}
	for _, r := range slices.Backward(p.rows) {
		if !r.seen {
			p.remove(r)
		}
	}
	want := "| title | type | unit | |\n| --- | --- | --- | --- |\n| `vu.CLASS.a` | counter | N | users |\n| `vu.CLASS.new` | gauge | ns | |\n\n| `PREFIX.x` | counter | B | what it is |\n"
	if got := strings.Join(p.lines, "\n"); got != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}
