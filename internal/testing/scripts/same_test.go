package scripts

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/show/report"
	"github.com/gobench-io/gobench/internal/testing/binary"
)

// mixed is a target that treats each nth request as its plan says, and counts what it did.
type mixed struct {
	mu   sync.Mutex
	plan []string // "200", "401", "500", "reset" and "hang", in turn
	n    int
	did  map[string]int64
}

func (m *mixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	m.mu.Lock()
	what := m.plan[m.n%len(m.plan)]
	m.n++
	m.did[what]++
	m.mu.Unlock()
	switch what {
	case "reset":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
	default:
		status, _ := strconv.Atoi(what)
		w.WriteHeader(status)
	}
}

// failing is a scenario whose iterations make a step with a named request, and a check.
const failing = `package main

import (
	"context"
	"errors"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/scenario"
)

var url = scenario.Param("url", "http://localhost:8080/", "where to send requests")

func export() scenario.Vus {
	return scenario.Vus{{Name: "shop", Nu: 10, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 200, Over: 1500 * time.Millisecond}}},
		Start: func(ctx context.Context, vui int) (scenario.User, error) {
			client, err := http.NewHttpClient(ctx, "home", http.Options{Timeout: 700 * time.Millisecond})
			return scenario.Iterate(func(ctx context.Context) error {
				return executor.Time(ctx, "order", func() error {
					name := []string{"list", "order"}[executor.Seq(ctx)%2]
					r, err := client.Do(ctx, http.Request{Method: "POST", URL: *url, Name: name, Body: []byte("x")})
					if err != nil {
						return err
					}
					if !executor.Check(ctx, "is ok", r.Status == 200) {
						return errors.New("the order was refused")
					}
					return nil
				})
			}), err
		}}}
}
`

// One meaning of failure: the figures of a run are the same in every output, and are what its
// target did, however many steps, checks and named requests count them again.
func TestSameFigures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "failing.go")
	if err := os.WriteFile(file, []byte(failing), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]string{
		"all refused": "401", "some fail": "200 200 200 500 200 200", "resets": "200 reset 200 200", "hangs": "200 " + strings.Repeat("200 ", 40) + "hang",
		"everything": "200 401 200 500 200 200 reset 200 200 200 200 " + strings.Repeat("200 ", 40) + "hang",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := &mixed{plan: strings.Fields(plan), did: map[string]int64{}}
			s := httptest.NewUnstartedServer(target)
			s.Config.ErrorLog = nil
			s.Start()
			t.Cleanup(s.CloseClientConnections)
			out := t.TempDir()
			at := func(name string) string { return filepath.Join(out, name) }
			args := []string{"--dir", at("runs"), "run", file, "--set", "url=" + s.URL, "--json"}
			for _, ending := range []string{"json", "csv", "xml", "md", "html"} {
				args = append(args, "-o", at("r."+ending))
			}
			cmd := binary.Command(t, args...)
			var events, text strings.Builder
			cmd.Stdout, cmd.Stderr = &events, &text
			_ = cmd.Run() // its status is 1 if nothing was answered
			target.mu.Lock()
			defer target.mu.Unlock()
			w := wanted{failed: target.did["401"] + target.did["500"] + target.did["reset"] + target.did["hang"], done: int64(target.n), plan: plan}
			if w.done < 290 {
				t.Fatalf("%d requests in\n%s", w.done, text.String())
			}
			w.inResult(t, at("r.json"), target)
			w.inText(t, "the text", text.String())
			w.inText(t, "Markdown", contents(t, at("r.md")))
			w.inHTML(t, contents(t, at("r.html")))
			w.inCSV(t, contents(t, at("r.csv")))
			w.inJUnit(t, contents(t, at("r.xml")))
			w.inEvents(t, events.String())
			w.inComparisons(t, at("r.json"))
		})
	}
}

// wanted are the figures that every output must have.
type wanted struct {
	failed, done int64
	plan         string
}

func contents(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (w wanted) inResult(t *testing.T, file string, target *mixed) {
	t.Helper()
	r := binary.ReadResult(t, file)
	o := r.Outcome()
	if o.Main().Bad() != w.failed || o.Main().All() != w.done || o.Operations.Failed != target.did["401"]+target.did["500"] {
		t.Errorf("JSON: %+v, want %d of %d failed", o.Main(), w.failed, w.done)
	}
	if o.Iterations.Failed != w.failed || binary.Total(r, "step.order.failed") != w.failed || binary.Total(r, "check.is ok.failed") != target.did["401"]+target.did["500"] {
		t.Errorf("JSON: %d iterations, %d steps, %d checks failed; want %d, %d, %d", o.Iterations.Failed, binary.Total(r, "step.order.failed"), binary.Total(r, "check.is ok.failed"), w.failed, w.failed, target.did["401"]+target.did["500"])
	}
	names := int64(0)
	for _, m := range r.Metrics {
		if m.By == "url" && (m.Role == run.OpFailed || m.Role == run.OpUnanswered) {
			names += *m.Count
		}
	}
	if names != w.failed {
		t.Errorf("JSON: %d requests failed by name, want %d", names, w.failed)
	}
}

// inText checks the first lines of a text.
func (w wanted) inText(t *testing.T, what, text string) {
	t.Helper()
	failed := regexp.MustCompile(`(?m)([0-9,]+) failed, ([0-9.]+) %: `).FindStringSubmatch(text)
	if done := units.Count(w.done) + " requests in "; !strings.Contains(text, done) {
		t.Errorf("%s does not begin with %q:\n%s", what, done, text)
	}
	if failed == nil || failed[1] != units.Count(w.failed) || failed[2]+" %" != units.Percent(float64(w.failed)/float64(w.done)) {
		t.Errorf("%s: %q, want %d of %d failed", what, failed, w.failed, w.done)
	}
}

// inHTML checks the first lines of the page; the tests of the pages read its tiles.
func (w wanted) inHTML(t *testing.T, page string) {
	t.Helper()
	m := regexp.MustCompile(`id="headline">(.*?)</script>`).FindStringSubmatch(page)
	var first struct{ Done, Failed string }
	if m == nil || json.Unmarshal([]byte(m[1]), &first) != nil {
		t.Fatal("the page has no first lines")
	}
	w.inText(t, "HTML", first.Done+"\n"+first.Failed)
}

// inCSV adds up the rows of failures.
func (w wanted) inCSV(t *testing.T, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	sum := int64(0)
	for _, row := range rows[1:] {
		if row[column["metric"]] == "errors" {
			n, _ := strconv.ParseInt(row[column["count"]], 10, 64)
			sum += n
		}
	}
	if sum != w.failed {
		t.Errorf("CSV: %d failures, want %d", sum, w.failed)
	}
}

func (w wanted) inJUnit(t *testing.T, text string) {
	t.Helper()
	var suites struct {
		Suites []struct {
			Properties []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"properties>property"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	for _, p := range suites.Suites[0].Properties {
		if p.Name == "errors.count" {
			if p.Value != fmt.Sprint(w.failed) {
				t.Errorf("JUnit: %s failures, want %d", p.Value, w.failed)
			}
			return
		}
	}
	t.Error("JUnit has no number of failures")
}

// inEvents adds up the intervals, whose lines are what the screen shows too.
func (w wanted) inEvents(t *testing.T, text string) {
	t.Helper()
	sum := int64(0)
	for line := range strings.Lines(text) {
		var e struct{ Interval *run.Interval }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Interval != nil {
			sum += e.Interval.Errors
		}
	}
	if sum != w.failed {
		t.Errorf("events: %d failures, want %d", sum, w.failed)
	}
}

// inComparisons checks the run beside itself, and in a table of three.
func (w wanted) inComparisons(t *testing.T, file string) {
	t.Helper()
	r := binary.ReadResult(t, file)
	var c report.Comparison
	show(t, &c, file, file)
	within := w.failed // the measured time, as all rates
	for _, m := range r.Metrics {
		if m.Whole() && (m.Role == run.OpFailed || m.Role == run.OpUnanswered) && m.Later != nil {
			within -= *m.Later
		}
	}
	for _, f := range c.Figures {
		if f.Metric == "errors" && (f.A == nil || math.Abs(*f.A*r.Measured-float64(within)) > 1e-6*float64(w.failed)) {
			t.Errorf("a comparison: %v failures a second in %v s, want %d of %d in all", f.A, r.Measured, within, w.failed)
		}
	}
	var s report.Selection
	show(t, &s, file, file, file)
	for _, x := range s.Runs {
		if x.Failed != w.failed || x.Done != w.done {
			t.Errorf("a table: %d of %d failed, want %d of %d", x.Failed, x.Done, w.failed, w.done)
		}
	}
}

// show reads what gobench show prints as JSON.
func show(t *testing.T, into any, files ...string) {
	t.Helper()
	b, err := binary.Command(t, append(append([]string{"show"}, files...), "--json")...).Output()
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
