package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// golden compares output with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s changed; if that is meant, run with -update:\n%s", name, got)
	}
}

// checked is full with checks, samples and failing thresholds on checks.
func checked() *run.Result {
	r := full()
	counter := func(title string, n int64) run.Metric {
		return roles.Metric(run.Metric{Title: title, Type: "counter", Group: "Checks", Graph: title, Unit: "N", Record: run.Record{Count: p(n), RPS: p(float64(n) / 10)}})
	}
	r.Metrics = append(r.Metrics, counter("check.has a body.passed", 990), counter("check.has a body.failed", 10), counter("check.is quick.passed", 999),
		counter("check.is quick.failed", 1), counter("check.never called.passed", 0), counter("check.never called.failed", 0))
	r.Thresholds = append(r.Thresholds, run.Threshold{Expression: `check "has a body" rate > 98%`, OK: true, Value: "99%"})
	r.Samples = []run.Sample{{Source: "home", Class: "refused", At: 1.25, Text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n\x1b[31mconnection refused after 1 ms\n" + strings.Repeat("line\n", 20)}}
	return r
}

// seriesOf yields two intervals, the first a warm-up.
func seriesOf(yield func(run.Interval) error) error {
	r := checked()
	for n := range 2 {
		i := run.Interval{Start: r.Start.Add(time.Duration(n) * time.Second), From: float64(n), Seconds: 1, Warmup: n == 0, Errors: int64(n), Metrics: map[string]run.Record{}}
		for _, m := range r.Metrics {
			i.Metrics[m.Title] = m.Record
		}
		if err := yield(i); err != nil {
			return err
		}
	}
	return nil
}

func TestFormatsOfFiles(t *testing.T) {
	for _, f := range Formats[:len(Formats)-1] { // the page is shown to a browser: ui/
		t.Run(f.Ending, func(t *testing.T) {
			var b bytes.Buffer
			if err := f.Write(&b, checked(), seriesOf); err != nil {
				t.Fatal(err)
			}
			golden(t, "report"+f.Ending, b.Bytes())
		})
	}
	for name, want := range map[string]string{"a.json": ".json", "B.CSV": ".csv", "-.xml": ".xml", "a.b.md": ".md", "json": "", "a.txt": "", "": ""} {
		if f, ok := FormatOf(name); f.Ending != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %v, want %q", name, f.Ending, ok, want)
		}
	}
}

// The error of a failing writer or series is returned.
func TestFormatsTellFailures(t *testing.T) {
	broken := errors.New("no series")
	for _, f := range Formats {
		if err := f.Write(failing2{}, checked(), seriesOf); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s on a full disk: %v", f.Ending, err)
		}
		withSeries := f.Ending == ".json" || f.Ending == ".csv" || f.Ending == ".html"
		if err := f.Write(io.Discard, checked(), func(func(run.Interval) error) error { return broken }); errors.Is(err, broken) != withSeries {
			t.Errorf("%s without a series: %v", f.Ending, err)
		}
	}
}

type failing2 struct{}

func (failing2) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// Every format states what a reader has to know of the run.
func TestFormatsSayWhatWasRun(t *testing.T) {
	write := map[string]func(io.Writer, *run.Result) error{"text": func(w io.Writer, r *run.Result) error { return Text(w, r, Screen{}) }}
	for _, f := range Formats {
		write[f.Ending] = func(w io.Writer, r *run.Result) error { return f.Write(w, r, seriesOf) }
	}
	r := checked()
	r.Config.Target = "GET http://localhost/"
	for name, write := range write {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		for what, want := range map[string]string{"concurrency": "1,?200", "load model": "loop for 10s", "duration": "12.5", "target": "GET http://localhost/", "version": "0.1.0", "verdict": "SUSPECT"} {
			if !regexp.MustCompile(want).Match(b.Bytes()) {
				t.Errorf("%s does not tell %s (%s)", name, what, want)
			}
		}
	}
}

// docs/reports.md lists every format, every column and every field.
func TestReportsPage(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, f := range Formats {
		if !strings.Contains(page, "| `"+f.Ending+"` |") {
			t.Errorf("the page has no row of %s", f.Ending)
		}
	}
	names := append([]string{}, columns...)
	for _, document := range []interface{ JSON(io.Writer) error }{Compare(checked(), stained("x")), Select(checked(), checked())} {
		var c map[string]any
		var out bytes.Buffer
		if err := errors.Join(document.JSON(&out), json.Unmarshal(out.Bytes(), &c)); err != nil {
			t.Fatal(err)
		}
		for name, v := range c {
			names = append(names, name)
			if list, ok := v.([]any); ok {
				v = list[0]
			}
			if fields, ok := v.(map[string]any); ok {
				names = slices.AppendSeq(names, maps.Keys(fields))
			}
		}
	}
	for _, name := range names {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not tell what %s is", name)
		}
	}
	if !strings.Contains(page, strings.Join(columns, ",")) {
		t.Error("the page's sample has other columns")
	}
}
