package scripts

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
)

// sums checks that the totals of a run are the same in all its reports:
// sums FILE.json FILE.csv FILE.xml FILE.md FILE.txt.
func sums(ts *testscript.TestScript, _ bool, args []string) {
	var r run.Result
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	want := map[string]int64{}
	named := map[string]string{}
	for _, m := range r.Metrics {
		if m.Count != nil {
			want[m.Title], named[m.Title] = *m.Count, m.Unit
		}
	}
	want["errors"] = r.Outcome().Main().Bad()
	for _, title := range []string{"http.http_ok", "http.http_fail", "http.http_other_fail", "http.latency", "errors"} {
		if want[title] == 0 {
			ts.Fatalf("the run has no %s to compare", title)
		}
	}
	rows, properties := csvSums(ts, args[1]), xmlSums(ts, args[2])
	for title, n := range want {
		if rows[title] != n {
			ts.Fatalf("%s is %d in JSON, its rows in CSV add up to %d", title, n, rows[title])
		}
		if got, ok := properties[title]; (!ok || got != strconv.FormatInt(n, 10)) && !strings.HasPrefix(title, "gobench.") {
			ts.Fatalf("%s is %d in JSON, %q in XML", title, n, got)
		}
	}
	pages := map[string]map[string]string{
		"Markdown": pageTotals(ts.ReadFile(args[3]), regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|")),
		"text":     pageTotals(ts.ReadFile(args[4]), regexp.MustCompile(`(?m)^  (\S.*?)  +([0-9][0-9,.]*(?: [KMG]?i?B)?)(?:  |$)`)),
	}
	for form, totals := range pages {
		for _, title := range []string{"http.http_ok", "http.http_fail", "http.http_other_fail", "http.latency", "http.bytes_in", "http.bytes_out"} {
			shown := units.Count(want[title])
			if named[title] == "B" {
				shown = units.Bytes(float64(want[title]))
			}
			if totals[title] != shown {
				ts.Fatalf("%s is %s in JSON, %q in %s", title, shown, totals[title], form)
			}
		}
		for _, f := range r.Errors {
			if got := totals[f.Source+" "+f.Class+": "+f.Text]; got != units.Count(f.Count) {
				ts.Fatalf("%d failures %q in JSON, %q in %s", f.Count, f.Text, got, form)
			}
		}
	}
}

// csvSums returns the counts of each metric, added up over the intervals after the warm-up.
func csvSums(ts *testscript.TestScript, file string) map[string]int64 {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
	ts.Check(err)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	sums, warmups := map[string]int64{}, 0
	for _, row := range rows[1:] {
		switch row[column["warmup"]] {
		case "true":
			warmups++
		case "false":
			if count := row[column["count"]]; count != "" {
				n, err := strconv.ParseInt(count, 10, 64)
				ts.Check(err)
				sums[row[column["metric"]]] += n
			}
		}
	}
	if warmups == 0 {
		ts.Fatalf("%s has no row of the warm-up", file)
	}
	return sums
}

// xmlSums returns the counts among the properties of a suite.
func xmlSums(ts *testscript.TestScript, file string) map[string]string {
	var suites struct {
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"testsuite>properties>property"`
	}
	ts.Check(xml.Unmarshal([]byte(ts.ReadFile(file)), &suites))
	counts := map[string]string{}
	for _, p := range suites.Properties {
		if title, ok := strings.CutSuffix(p.Name, ".count"); ok {
			counts[title] = p.Value
		}
	}
	return counts
}

// pageTotals returns the first column of figures by the name before it. If a name has several
// rows, the first is used.
func pageTotals(page string, row *regexp.Regexp) map[string]string {
	totals := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		if _, known := totals[m[1]]; !known {
			totals[m[1]] = strings.TrimSpace(m[2])
		}
	}
	return totals
}
