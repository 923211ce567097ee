package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/health"
	"github.com/gobench-io/gobench/internal/run"
)

// windowOf gives an interval as the judge of the generator's health takes it.
func windowOf(i run.Interval) *health.Window {
	w := &health.Window{From: seconds(i.From), Length: seconds(i.Seconds), Warmup: i.Warmup, Values: map[health.Metric]float64{}}
	for m, named := range health.Metrics {
		switch r := i.Metrics[health.Prefix+named.Name]; {
		case r.Times != nil:
			w.Values[health.Metric(m)] = r.Times.Max * 1e6
		case r.Sizes != nil:
			w.Values[health.Metric(m)] = r.Sizes.Max
		}
	}
	for _, title := range slices.Sorted(maps.Keys(i.Metrics)) {
		r := i.Metrics[title]
		if class, ok := strings.CutSuffix(title, ".active"); ok && strings.HasPrefix(title, "vu.") { // each class has it, always
			w.Loads = append(w.Loads, loadOf(strings.TrimPrefix(class, "vu."), i.Metrics))
		}
		switch {
		case r.Count == nil:
		case strings.HasSuffix(title, ".error.local_fd"):
			w.NoFiles += *r.Count
		case strings.HasSuffix(title, ".error.local_port"):
			w.NoPorts += *r.Count
		}
	}
	return w
}

// loadOf gives what a class did in an interval.
func loadOf(class string, metrics map[string]run.Record) health.Load {
	of := func(name string) run.Record { return metrics["vu."+class+"."+name] }
	count := func(name string) int64 { return orZero(of(name).Count) }
	l := health.Load{Class: class, Starts: count("start_lag"), Planned: count("planned"), Behind: orZero(of("behind").Value),
		Dropped: count("dropped"), Done: count("iterations") + count("cut")}
	if lag := of("start_lag").Times; lag != nil {
		l.P50, l.P90, l.P99 = millis(lag.P50), millis(lag.P90), millis(lag.P99)
	}
	if response := of("response").Times; response != nil {
		l.Response = millis(response.P50)
	}
	if users := of("users_behind").Value; users != nil {
		l.Planned, l.Behind = l.Starts, *users
	}
	if _, open := metrics["vu."+class+".behind"]; !open {
		l.Users = orZero(of("active").Value)
	}
	return l
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }
func millis(ms float64) time.Duration { return time.Duration(ms * 1e6) }

// giveVerdict gives the result of a run that made load its verdict, and notes what
// lowers none.
func giveVerdict(r *run.Result, judge *health.Judge) {
	if r.Start.IsZero() || r.Seconds <= 0 {
		return
	}
	v := judge.Verdict(r.Missing)
	r.Verdict, r.Reasons = run.Verdict(v.Word), nil
	for _, x := range v.Reasons {
		r.Reasons = append(r.Reasons, run.Reason{Signal: x.Signal, Level: x.Level, Text: x.Text, Advice: x.Advice, Windows: x.Windows, Worst: x.Worst.Seconds()})
	}
	r.Notes = append(r.Notes, notes(r, judge)...)
}

// strictError is the exit status of --strict.
func strictError(r *run.Result) error {
	if r.Verdict != run.Invalid {
		return nil
	}
	return &exitError{exitInvalid, fmt.Errorf("the run is %s (--strict)", r.Verdict), "its reasons are in the report's first lines; docs/truth.md explains them"}
}
