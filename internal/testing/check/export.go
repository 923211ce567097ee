package check

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// exports checks I13: of each final run with a result, the API's result, its reports and, with
// Options.Gobench, gobench show have the totals of the store. The CSV report only has to be
// readable if intervals of the run are missing or were made coarser. An error means that the
// API did not answer 200, or gobench show failed.
func (c *checker) exports(ctx context.Context, s *stored) error {
	for _, r := range s.runs {
		if !r.final || r.result == nil || r.totals == nil {
			continue
		}
		for _, e := range []struct {
			what, path string
			read       func([]byte) (*tallied, error)
		}{
			{"the API's result", "result", resultTotals},
			{"the JSON report", "report?format=json", resultTotals},
			{"the HTML report", "report?format=html", htmlTotals},
			{"the CSV report", "report?format=csv", csvTotals},
			{"the JUnit report", "report?format=xml", junitTotals},
		} {
			b, err := c.get(ctx, "/api/v1/runs/"+r.id+"/"+e.path)
			if err != nil {
				return err
			}
			got, err := e.read(b)
			if err != nil {
				c.fault("I13", r.id, "%s can't be read: %v", e.what, err)
				continue
			}
			if e.what == "the CSV report" && (r.kept[0] > 0 || len(r.result.Missing) > 0) {
				continue // its intervals are by now coarser than the warm-up's end, or some are missing
			}
			own := c.sumsOf(r, r.totals).withLost(r)
			for title, h := range own.histograms { // reports have their counts
				own.counters[title] = int64(h.Count())
			}
			if e.what == "the JUnit report" { // which leaves out gobench's own metrics
				for title := range own.counters {
					if _, told := got.counters[title]; !told && strings.HasPrefix(title, "gobench.") {
						delete(own.counters, title)
					}
				}
			}
			counts, _ := (&tallied{counters: got.counters}).differ(&tallied{counters: own.counters})
			for _, text := range counts {
				c.fault("I13", r.id, "%s: %s", e.what, text)
			}
			want := own.failed
			if e.what == "the CSV report" || e.what == "the JUnit report" { // the others have them by kind
				want = bad(r.titlesOf(), own.counters)
			}
			c.failures(r, e.what, got.failed, want)
		}
		if c.o.Gobench != "" {
			if err := c.show(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// get sends a GET request to the API, within a minute, and returns the body. An answer
// other than 200 is an error.
func (c *checker) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.o.API, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	if c.o.Token != "" {
		q.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", path, answer.Status, b)
	}
	return b, err
}

// resultTotals returns, of a result in JSON, the counts of counters and histograms, all as
// counters, and the number of failures. An error is of the JSON.
func resultTotals(b []byte) (*tallied, error) {
	var r run.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	t := newTallied()
	for _, m := range r.Metrics {
		if m.Count != nil {
			t.counters[m.Title] = *m.Count
		}
	}
	for _, f := range r.Errors {
		t.failed += f.Count
	}
	return t, nil
}

// htmlTotals returns the counts of the result in an HTML report, as resultTotals does. A page
// without one is an error.
func htmlTotals(b []byte) (*tallied, error) {
	_, rest, ok := bytes.Cut(b, []byte(`<script type="application/json" id="result">`))
	text, _, end := bytes.Cut(rest, []byte("</script>"))
	if !ok || !end {
		return nil, fmt.Errorf("there is no result in the page")
	}
	return resultTotals(text)
}

// junitTotals returns the counts in a JUnit report, its properties METRIC.count, and the
// number of failures, errors.count. It returns an error if the document or a count is
// malformed.
func junitTotals(b []byte) (*tallied, error) {
	var suites struct {
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"testsuite>properties>property"`
	}
	if err := xml.Unmarshal(b, &suites); err != nil {
		return nil, err
	}
	t := newTallied()
	for _, p := range suites.Properties {
		if title, ok := strings.CutSuffix(p.Name, ".count"); ok {
			n, err := strconv.ParseInt(p.Value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("property %s: %w", p.Name, err)
			}
			if title == "errors" { // of all kinds
				t.failed = n
				continue
			}
			t.counters[title] = n
		}
	}
	return t, nil
}

// csvTotals adds up the intervals after the warm-up of a CSV report: counts by metric, without
// gauges, and the number of failures. It returns an error if there are no rows, a column is
// missing or a count is malformed.
func csvTotals(b []byte) (*tallied, error) {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("no rows")
	}
	for _, name := range []string{"count", "metric", "type", "warmup"} {
		if !slices.Contains(rows[0], name) {
			return nil, fmt.Errorf("no column %s", name)
		}
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	t := newTallied()
	for _, row := range rows[1:] {
		kind := column(row, "type")
		if kind == "run" || kind == string(run.Gauge) || column(row, "warmup") == "true" {
			continue
		}
		n, err := strconv.ParseInt(column(row, "count"), 10, 64)
		if err != nil {
			return nil, err
		}
		if kind == "errors" {
			t.failed += n
			continue
		}
		t.counters[column(row, "metric")] += n
	}
	return t, nil
}

// bad returns how many operations, or without a client iterations, did not end well, by the
// counters of a run.
func bad(declared []*wire.Metric, counters map[string]int64) int64 {
	var metrics []run.Metric
	for _, m := range declared {
		metrics = append(metrics, m.Metric())
	}
	return run.OutcomeOf(metrics, func(m run.Metric) int64 { return counters[m.Title] }).Main().Bad()
}
