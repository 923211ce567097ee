package scripts

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gobench-io/gobench/internal/testing/repo"
)

// documented compares the metrics of results with docs/metrics.md: each metric has a row with
// its type and unit, and each row has a metric: documented FILE...
func documented(ts *testscript.TestScript, _ bool, args []string) {
	page, err := os.ReadFile(repo.Path(ts.Value(testKey{}).(testing.TB), "docs/metrics.md"))
	ts.Check(err)
	type row struct {
		title      *regexp.Regexp
		text, kind string
		seen       bool
	}
	capitals := regexp.MustCompile(`[A-Z]{2,}`)
	var rows []*row
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\| (\\w+) \\|").FindAllStringSubmatch(string(page), -1) {
		pattern := regexp.QuoteMeta(m[1])
		pattern = strings.ReplaceAll(pattern, "CODE", `[1-5]\d\d`)
		if strings.HasPrefix(m[1], "PREFIX.status.") {
			pattern = strings.ReplaceAll(pattern, "CLASS", `(?:[2-5]xx|other)`)
		}
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "KIND", `grpc`), "PREFIX", `(?:http|home)`)
		rows = append(rows, &row{title: regexp.MustCompile("^" + capitals.ReplaceAllString(pattern, `.+`) + "$"), text: m[1], kind: m[2] + " " + m[3]})
	}
	for _, file := range args {
		var result struct {
			Metrics []struct{ Title, Type, Unit string }
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &result))
		for _, m := range result.Metrics {
			found := false
			for _, r := range rows {
				if r.title.MatchString(m.Title) && r.kind == m.Type+" "+m.Unit {
					found, r.seen = true, true
				}
			}
			if !found {
				ts.Fatalf("docs/metrics.md has no row for %s, a %s of unit %s", m.Title, m.Type, m.Unit)
			}
		}
	}
	for _, r := range rows {
		if !r.seen {
			ts.Fatalf("docs/metrics.md has a row for %s (%s), which no run has", r.text, r.kind)
		}
	}
}
