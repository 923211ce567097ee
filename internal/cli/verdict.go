package cli

import (
	"fmt"
	"net"
	"net/url"
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
	for title, r := range i.Metrics {
		if class, ok := strings.CutSuffix(title, ".start_lag"); ok && strings.HasPrefix(title, "vu.") && r.Times != nil {
			lag := health.Load{Class: strings.TrimPrefix(class, "vu."), Starts: *r.Count,
				P50: millis(r.Times.P50), P90: millis(r.Times.P90), P99: millis(r.Times.P99)}
			if response := i.Metrics[class+".response"]; response.Times != nil {
				lag.Response = millis(response.Times.P50)
			}
			w.Loads = append(w.Loads, lag)
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
	if r.Seconds-r.Warmup < 3*r.Config.Interval {
		r.Notes = append(r.Notes, "the run was shorter than three intervals: its series and its verdict rest on little")
	}
	if s := fewSamples(r.Metrics); s != "" {
		r.Notes = append(r.Notes, s)
	}
	if onThisMachine(r.Config.Target) {
		r.Notes = append(r.Notes, "the target is on this machine: it and gobench share the CPUs")
	}
	if others := judge.Others(); others > 0.2 {
		r.Notes = append(r.Notes, fmt.Sprintf("other processes, the target among them if it is here, used %.0f %% of this machine's CPUs", others*100))
	}
}

// How many values the 99th and the 99.9th percentile want (reliability by order
// statistics: ten values beyond them).
const (
	enoughP99  = 1000
	enoughP999 = 10_000
)

// fewSamples names the distributions of times whose high percentiles rest on few
// values.
func fewSamples(metrics []run.Metric) string {
	var few, some []string
	for _, m := range metrics {
		switch {
		case m.Times == nil || m.Count == nil || strings.HasPrefix(m.Title, health.Prefix) || strings.HasPrefix(m.Title, "vu."):
		case *m.Count < enoughP99:
			few = append(few, m.Title)
		case *m.Count < enoughP999:
			some = append(some, m.Title)
		}
	}
	var parts []string
	if len(few) > 0 {
		parts = append(parts, "under 1,000 for a firm p99: "+several(few))
	}
	if len(some) > 0 {
		parts = append(parts, "under 10,000 for a firm p99.9: "+several(some))
	}
	if len(parts) == 0 {
		return ""
	}
	return "few values, " + strings.Join(parts, "; ")
}

func several(titles []string) string {
	if len(titles) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(titles[:3], ", "), len(titles)-3)
	}
	return strings.Join(titles, ", ")
}

// onThisMachine tells whether a built-in's target, "GET http://...", is a loopback
// address.
func onThisMachine(target string) bool {
	_, address, _ := strings.Cut(target, " ")
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// strictError is the exit status of --strict.
func strictError(r *run.Result) error {
	if r.Verdict != run.Invalid {
		return nil
	}
	return &exitError{exitInvalid, fmt.Errorf("the run is %s (--strict)", r.Verdict), "its reasons are in the report's first lines; docs/truth.md explains them"}
}
