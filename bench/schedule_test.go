package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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

// TestSleeper runs the sleeper as the table does: 1,000 wake-ups a second for one second.
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

// TestBareLoop runs the loop as the table does, against a server that counts.
func TestBareLoop(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "hello")
	}))
	defer srv.Close()
	target := strings.TrimPrefix(srv.URL, "http://")
	for _, every := range []string{"0s", "100ms"} {
		asked.Store(0)
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-bare", target, "-users", "20", "-every", every, "-seconds", "1"}, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		l, err := readBare(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if l.CPU > 1e6 || l.Rate*0.4 > float64(asked.Load()) || every != "0s" && l.Rate > 210 {
			t.Errorf("every %s: %+v, and the server was asked %d times", every, l, asked.Load())
		}
	}
	srv.Config.Handler = http.NotFoundHandler()
	for _, args := range [][]string{{"-bare", target, "-users", "0"}, {"-bare", "nothing"}, {"-bare", target, "-seconds", "1"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if _, err := readBare([]byte(`{}`)); err == nil {
		t.Error("a loop that asked nothing is believed")
	}
}
