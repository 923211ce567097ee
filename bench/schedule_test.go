package main

import (
	"bytes"
	"io"
	"testing"
)

func TestScheduleVerdict(t *testing.T) {
	t.Parallel()
	good := func() schedule {
		return schedule{
			planned: []float64{20_000, 20_000, 20_000}, started: []float64{20_000, 19_990, 20_000},
			p50: []float64{50, 60, 70}, p99: []float64{290, 200, 1000}, executor: []float64{4.9, 4.8, 7}, parent: []float64{1, 1, 1}, others: []float64{0, 0, 0},
		}
	}
	for _, tt := range []struct {
		name      string
		rate      int
		iteration string
		change    func(*schedule)
		want      string
	}{
		{"all kept", 2000, "nothing", func(*schedule) {}, "met"},
		{"one run started too few", 2000, "nothing", func(k *schedule) { k.started[1] = 19_970 }, "missed: starts"},
		{"or too many", 100, "GET", func(k *schedule) { k.started[2] = 20_030 }, "missed: starts"},
		{"late", 2000, "nothing", func(k *schedule) { k.p50, k.p99 = []float64{100}, []float64{300} }, "missed: p50, p99"},
		{"late, at another rate", 20_000, "nothing", func(k *schedule) { k.p50, k.p99 = []float64{100}, []float64{300} }, "met"},
		{"dear", 2000, "nothing", func(k *schedule) { k.executor = []float64{5} }, "missed: CPU"},
		{"dear, but for what it takes anyway", 2000, "nothing", func(k *schedule) { k.executor, k.idle = []float64{6}, 1.5 }, "met"},
		{"dear, with requests", 2000, "GET", func(k *schedule) { k.executor = []float64{5} }, "met"},
	} {
		k := good()
		tt.change(&k)
		if got := k.verdict(tt.rate, tt.iteration); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestSleeper runs as the table's process does: 1,000 wakes a second for one second.
func TestSleeper(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-sleeper", "1000", "-seconds", "1"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	w, err := readWakes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if w.P99 < w.P50 || w.P50 > 100e3 || w.CPU > 100 {
		t.Errorf("%+v", w)
	}
	if _, err := readWakes([]byte(`{}`)); err == nil {
		t.Error("a sleeper that took nothing is believed")
	}
}
