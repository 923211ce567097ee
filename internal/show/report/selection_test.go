package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	a, b, c := checked(), full(), &run.Result{Format: run.Format, ID: "none", State: run.Failed}
	b.Config.Target, b.Verdict = "GET http://other/", run.Valid
	s := Select(a, b, c)
	var text bytes.Buffer
	if err := s.Text(&text, Style{Width: 130}); err != nil {
		t.Fatal(err)
	}
	golden(t, "selection.golden", text.Bytes())
	var out bytes.Buffer
	if err := s.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Selection
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Format != selectionFormat || len(back.Runs) != 3 {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if x := back.Runs[2]; x.Rate != nil || x.P99 != nil || x.Done != 0 {
		t.Errorf("a run without load has %+v", x)
	}
	if o := a.Outcome().Main(); back.Runs[0].Failed != o.Bad() || back.Runs[0].Done != o.All() {
		t.Errorf("%d of %d failed, want %d of %d", back.Runs[0].Failed, back.Runs[0].Done, o.Bad(), o.All())
	}
}

// Of results of different formats, what has changed its meaning is named.
func TestCompareFormats(t *testing.T) {
	t.Parallel()
	old, now := checked(), checked()
	old.Format = "gobench.result/1"
	c := Compare(old, now)
	other := map[string]string{}
	for _, f := range c.Figures {
		other[f.Metric+" "+f.Figure] = f.Meaning
	}
	for figure, want := range map[string]string{"home.http_fail rps": otherRate, "step.pay.time p99": otherPercent, "step.pay.time max": "", "errors rps": otherErrors, "check.has a body rate": ""} {
		if got, ok := other[figure]; !ok || got != want {
			t.Errorf("%s: %q, want %q", figure, got, want)
		}
	}
	var text bytes.Buffer
	if err := c.Text(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare-formats.golden", text.Bytes())
	for _, f := range Compare(now, now).Figures {
		if f.Meaning != "" {
			t.Errorf("of the same format: %+v", f)
		}
	}
}
