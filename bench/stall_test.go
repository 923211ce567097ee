package main

import (
	"net/http"
	"testing"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

func TestStalledShows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		requests, p99 float64
		want          string
	}{
		{"the truth", 20_000, 901, "yes"},
		{"3 % below", 20_000, 874, "yes"},
		{"more below", 20_000, 872, "partly"},
		{"above", 20_000, 930, "partly"},
		{"the truth of fewer requests", 19_700, 900, "partly"},
		{"a closed loop's", 1_200_000, 890, "partly"},
		{"hidden", 20_000, 0.7, "no"},
		{"hidden, and fewer requests", 18_050, 0.7, "no"},
		{"no percentile", 20_000, untold, "no"},
	} {
		x := stalled{stop: time.Second}
		x.requests, x.p99 = tt.requests, tt.p99
		if got := x.shows(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if x := (stalled{stop: 1100 * time.Millisecond}); x.trueP99() != 1000 || x.trueMax() != 1100 {
		t.Errorf("truth of a stop of 1.1 s: p99 %v, max %v", x.trueP99(), x.trueMax())
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	r := &domain.Result{Verdict: domain.Suspect, Reasons: []domain.Reason{{Signal: "steal"}, {Signal: "cpu"}}}
	if got := verdict(r); got != "SUSPECT: steal, cpu" {
		t.Errorf("verdict = %q", got)
	}
	if got := verdict(&domain.Result{Verdict: domain.Valid}); got != "VALID" {
		t.Errorf("verdict = %q", got)
	}
}

// TestStopMeanwhile: a real nginx is stopped for as long as is returned.
func TestStopMeanwhile(t *testing.T) {
	t.Parallel()
	srv, err := startNginx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	over := make(chan struct{})
	took := stopMeanwhile(srv, 200*time.Millisecond, over)
	var longest time.Duration
	var stop time.Duration
	for stop == 0 {
		select {
		case stop = <-took:
		default:
		}
		asked := time.Now()
		resp, err := http.Get(srv.url())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		longest = max(longest, time.Since(asked))
		time.Sleep(time.Millisecond)
	}
	if stop < time.Second || longest < stop/2 { // on a busy host the request may be sent late
		t.Errorf("stopped for %v, the longest request took %v", stop, longest)
	}

	close(over)
	if stop := <-stopMeanwhile(srv, time.Minute, over); stop != 0 {
		t.Errorf("stopped for %v after the run was over", stop)
	}
}
