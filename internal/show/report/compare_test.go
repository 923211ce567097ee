package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

func TestCompare(t *testing.T) {
	a, b := checked(), checked()
	b.ID = "20261121-074512-b7k2zz"
	b.Verdict, b.Thresholds = run.Valid, b.Thresholds[:1]
	b.Config.Classes[1].Users = 60
	b.Config.Target, b.Gobench = "GET http://other/", "0.2.0"
	b.Metrics[3].Count = p(int64(0))
	*b.Metrics[4].Times = run.Times{P50: 0.5, P90: 0.5, P99: 6.1728, Max: 61000}
	b.Metrics = append(b.Metrics, run.Metric{Title: "new.done", Type: "counter", Group: "New", Record: run.Record{Count: p(int64(5)), RPS: p(0.5)}})
	c := Compare(a, b)
	var text bytes.Buffer
	if err := c.Text(&text, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.golden", text.Bytes())
	var alike bytes.Buffer
	if c := Compare(a, a); c.Text(&alike, Style{}) != nil || !c.Alike || !strings.Contains(alike.String(), "Alike: target") || strings.Contains(alike.String(), "NOT ALIKE") {
		t.Errorf("a run beside itself:\n%s", alike.String())
	}
	var out bytes.Buffer
	if err := c.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Format != comparisonFormat || back.Alike || len(back.Figures) != len(c.Figures) {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	change := map[string]float64{}
	for _, f := range back.Figures {
		if f.Change != nil {
			change[f.Metric+" "+f.Figure] = math.Round(*f.Change)
		}
		if lost := f.Metric == "step.pay.time" && f.Figure == "p99"; f.LostA != lost || f.LostB != lost || lost && f.A != nil {
			t.Errorf("%s %s: no answer: %v, %v", f.Metric, f.Figure, f.LostA, f.LostB)
		}
	}
	for figure, want := range map[string]float64{"vu.reader.service p50": 100, "vu.reader.service p99": -50, "vu.reader.service max": 0, "home.http_fail rps": 0, "check.has a body rate": 0, "errors rps": 0} {
		if got, ok := change[figure]; !ok || got != want {
			t.Errorf("%s changed by %v (%v), want %v", figure, got, ok, want)
		}
	}
	if _, ok := change["new.done rps"]; ok {
		t.Error("what only one run has changed by something")
	}
}

// Everything other than the target's behaviour that may have made the difference is named.
func TestCompareNamesWhatDiffers(t *testing.T) {
	for what, change := range map[string]func(*run.Result){
		"target": func(r *run.Result) { r.Config.Target = "x" }, "concurrency": func(r *run.Result) { r.Config.Classes[0].Users++ },
		"load model": func(r *run.Result) { r.Config.Classes[0].Rate++ }, "duration asked for": func(r *run.Result) { r.Config.Duration = 60 },
		"warm-up": func(r *run.Result) { r.Warmup = 5 }, "end": func(r *run.Result) { r.State = run.Cancelled }, "gobench version": func(r *run.Result) { r.Gobench = "9" },
		"machine": func(r *run.Result) { r.Environment.CPUs = 64 }, "compiled scenario": func(r *run.Result) { r.Config.Executor = "ff" },
		"parameters": func(r *run.Result) { r.Config.Parameters = map[string]string{"url": "x"} }, "options": func(r *run.Result) { r.Config.Options = map[string]string{"streams": "2"} },
	} {
		b := full()
		change(b)
		named := false
		for _, d := range Compare(full(), b).Differences {
			named = named || d.What == what
		}
		if !named {
			t.Errorf("%s differs and is not named", what)
		}
	}
}
