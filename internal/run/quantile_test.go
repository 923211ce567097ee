package run

import (
	"encoding/json"
	"testing"
)

func TestQuantileInJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Record{Times: &Times{P50: 1.5, P99: NoAnswer, P999: NoAnswer, Max: 2}, AtLeast: map[string]float64{"p99": 3000}})
	if want := `{"at_least":{"p99":3000},"avg(ms)":0,"min(ms)":0,"p50(ms)":1.5,"p90(ms)":0,"p95(ms)":0,"p99(ms)":null,"p99.9(ms)":null,"max(ms)":2,"stdev(ms)":0}`; err != nil || string(b) != want {
		t.Fatalf("%v\n%s, want\n%s", err, b, want)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil || r.Times.P50 != 1.5 || r.Times.P99.Known() || !r.Times.P90.Known() {
		t.Errorf("%v: %+v", err, r.Times)
	}
	var q Quantile
	if err := json.Unmarshal([]byte(`"x"`), &q); err == nil {
		t.Error("a text is a percentile")
	}
}
