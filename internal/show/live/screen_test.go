package live

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

var update = flag.Bool("update", false, "write the golden files anew")

func p[T any](v T) *T { return &v }

// zero is when the runs of these tests begin.
var zero = time.Date(2026, 11, 21, 6, 45, 12, 0, time.UTC)

func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

func count(n int64, seconds float64) run.Record {
	return run.Record{Count: p(n), RPS: p(float64(n) / seconds)}
}

func timed(n int64, seconds, ms float64) run.Record {
	r := count(n, seconds)
	r.Times = &run.Times{P50: run.Quantile(ms), P90: run.Quantile(2 * ms), P99: run.Quantile(5 * ms), Max: 20 * ms}
	return r
}

// second is an interval of a second in which a class "buyer" did n iterations.
func second(from float64, n int64, ms float64) run.Interval {
	return run.Interval{From: from, Seconds: 1, Metrics: map[string]run.Record{
		"vu.buyer.active": {Value: p(int64(30))}, "vu.buyer.iterations": count(n, 1),
		"vu.buyer.response": timed(n, 1, ms), "vu.buyer.service": timed(n, 1, ms),
		"home.latency": timed(n, 1, ms), "search.latency": timed(n/10, 1, 3*ms),
		"gobench.cpu": {Sizes: &run.Sizes{Max: 430}}, "gobench.cpu_own": {Sizes: &run.Sizes{Max: 120}},
	}}
}

// declared adds what an interval has recorded to the metrics of totals, without records there.
func declared(metrics []run.Metric, i run.Interval) []run.Metric {
	for _, title := range slices.Sorted(maps.Keys(i.Metrics)) {
		r := i.Metrics[title]
		m := run.Metric{Title: title, Type: run.Histogram}
		switch {
		case slices.ContainsFunc(metrics, func(m run.Metric) bool { return m.Title == title }):
			continue
		case r.Value != nil:
			m.Type = run.Gauge
		case r.Times == nil && r.Sizes == nil:
			m.Type, m.Count = run.Counter, p(int64(0))
		}
		metrics = append(metrics, m)
	}
	return roles.Set(metrics...)
}

// closed is a run of a closed class after 7 of 30 seconds.
func closed() *Run {
	r := &Run{Name: "checkout.go", Keys: true}
	r.apply(event.Event{Kind: event.Step, Time: at(-1), Plan: &event.Plan{Users: 30, Classes: []event.Class{{Name: "buyer", Users: 30, Closed: true, Length: 30 * time.Second}}}})
	r.apply(event.Event{Kind: event.State, State: run.Running, Time: at(0)})
	hist := func(title, group string, rec run.Record) run.Metric {
		return roles.Metric(run.Metric{Title: title, Type: "histogram", Group: group, Unit: "ns", Record: rec})
	}
	counter := func(title string, n int64) run.Metric {
		return roles.Metric(run.Metric{Title: title, Type: "counter", Group: title, Unit: "N", Record: count(n, 7)})
	}
	totals := event.Totals{
		Metrics: []run.Metric{
			hist("vu.buyer.response", "Users (buyer)", timed(8400, 7, 1.5)), hist("home.latency", "HTTP (home)", timed(8400, 7, 1.5)),
			hist("search.latency", "HTTP (search)", timed(840, 7, 4.5)),
			counter("home.http_ok", 8388), counter("home.http_other_fail", 12), counter("home.error.refused", 12),
			counter("search.http_ok", 837), counter("search.http_other_fail", 3), counter("search.error.timeout", 3),
			counter("check.has a body.passed", 8400), counter("check.has a body.failed", 0),
			counter("check.status \x1b[31m200.passed", 8390), counter("check.status \x1b[31m200.failed", 10),
		},
		Failures: []run.Failure{{Source: "home", Class: "refused", Text: "dial tcp 10.0.0.1:80: connect: \x1b[2Jconnection refused", Count: 12}, {Source: "search", Class: "timeout", Text: "timeout", Count: 3}},
		Verdict:  run.Suspect, Reasons: []run.Reason{{Text: "starts of class buyer were up to 1.2 ms late"}},
	}
	totals.Metrics = declared(totals.Metrics, second(0, 1, 1))
	for s := range 7 {
		r.apply(event.Event{Kind: event.Interval, Time: at(float64(s + 1)), Interval: p(second(float64(s), int64(900+100*s), 1+float64(s%3)/2)), Totals: func() event.Totals { return totals },
			Thresholds: []threshold.Standing{
				{Expression: "home.latency p99 < 200ms", Known: true, Met: true, Value: "7.5ms"},
				{Expression: "home.http_fail rate < 1%", Known: true, Crossed: true, Value: "3.2%", At: 3},
				{Expression: `check "has a body" rate > 99%`},
				{Expression: "home.latency count > 10000", Known: true, Value: "8400"}}})
	}
	return r
}

// open is a run of an open class with stages, paused for two seconds.
func open() *Run {
	r := &Run{Name: "http", Target: "GET http://10.0.0.1:8080/items", Keys: true}
	r.apply(event.Event{Kind: event.Step, Time: at(-1), Plan: &event.Plan{Users: 200, Classes: []event.Class{{Name: "http", Users: 200, Open: true, Length: 90 * time.Second,
		Stages: []event.Stage{{To: 500, Over: 10 * time.Second, Warmup: true}, {To: 500, Over: 20 * time.Second}, {To: 2000, Over: 60 * time.Second}}}}}})
	r.apply(event.Event{Kind: event.State, State: run.Running, Time: at(0)})
	r.apply(event.Event{Kind: event.Control, Time: at(11), Control: &event.Change{What: "pause", By: "a key"}})
	r.apply(event.Event{Kind: event.Control, Time: at(13), Control: &event.Change{What: "resume", By: "gobench ctl"}})
	i := run.Interval{From: 61, Seconds: 1, Metrics: map[string]run.Record{
		"vu.http.active": {Value: p(int64(200))}, "vu.http.iterations": count(1240, 1), "vu.http.planned": count(1250, 1),
		"vu.http.response": timed(1240, 1, 3), "vu.http.service": timed(1240, 1, 2), "vu.http.start_lag": timed(1240, 1, 0.02), "vu.http.queue_wait": timed(40, 1, 4),
	}}
	response := roles.Metric(run.Metric{Title: "vu.http.response", Type: "histogram", Group: "Users (http)", Unit: "ns", Record: timed(40_000, 62, 3)})
	response.Lost = p(int64(1000))
	totals := event.Totals{Verdict: run.Valid, Metrics: []run.Metric{response,
		{Title: "vu.http.planned", Type: "counter", Record: count(41_010, 62)}, {Title: "vu.http.late", Type: "counter", Record: count(310, 62)}, {Title: "vu.http.dropped", Type: "counter", Record: count(10, 62)}}}
	totals.Metrics = declared(totals.Metrics, i)
	r.apply(event.Event{Kind: event.Interval, Time: at(62), Interval: &i, Totals: func() event.Totals { return totals }})
	return r
}

// testdata has each screen as a user sees it, with a ruler that shows its width.
func TestScreens(t *testing.T) {
	paused := open()
	paused.apply(event.Event{Kind: event.Control, Time: at(62), Control: &event.Change{What: "pause", By: "a key"}})
	set := open()
	set.apply(event.Event{Kind: event.Control, Time: at(62), Control: &event.Change{What: "scale", Rate: p(1410.0), By: "a key"}})
	stopping := closed()
	stopping.apply(event.Event{Kind: event.Ending, Time: at(8), By: "Ctrl-C"})
	stopping.apply(event.Event{Kind: event.State, State: run.Stopping, Time: at(8)})
	help := closed()
	help.Help = true
	work := &Run{Name: "http"}
	work.apply(event.Event{Kind: event.Step, Plan: &event.Plan{Users: 2, Classes: []event.Class{{Name: "buyer", Users: 2, Closed: true, Iterations: 4000}}}})
	work.apply(event.Event{Kind: event.State, State: run.Running, Time: at(0)})
	work.apply(event.Event{Kind: event.Interval, Time: at(4), Interval: p(second(3, 1000, 1)), Totals: func() event.Totals {
		return event.Totals{Metrics: roles.Set(run.Metric{Title: "vu.buyer.iterations", Type: run.Counter})}
	}})
	compiling := &Run{Name: "checkout.go", Keys: true}
	compiling.apply(event.Event{Kind: event.State, State: run.Compiling, Time: at(0)})
	compiling.apply(event.Event{Kind: event.Step, Text: "compile (first time: fills the build cache, about 30 s)", Time: at(0)})
	compiling.apply(event.Event{Kind: event.Step, Detail: "google.golang.org/protobuf/internal/impl", Time: at(9)})
	for _, tt := range []struct {
		name string
		run  *Run
		now  time.Time
		size Size
	}{
		{"closed-80", closed(), at(7.5), Size{80, 40, false}},
		{"closed-color", closed(), at(7.5), Size{80, 40, true}},
		{"closed-40", closed(), at(7.5), Size{40, 40, false}},
		{"closed-200", closed(), at(7.5), Size{200, 60, false}},
		{"closed-12-lines", closed(), at(7.5), Size{80, 12, false}},
		{"closed-4-lines", closed(), at(7.5), Size{60, 4, false}},
		{"closed-1-line", closed(), at(7.5), Size{20, 1, false}},
		{"open", open(), at(62.5), Size{80, 40, false}},
		{"warm-up", open(), at(5), Size{80, 6, false}},
		{"paused", paused, at(70), Size{80, 40, false}},
		{"set", set, at(70), Size{80, 40, false}},
		{"stopping", stopping, at(9.5), Size{80, 8, false}},
		{"help", help, at(7.5), Size{80, 40, false}},
		{"iterations", work, at(4), Size{80, 40, false}},
		{"compiling", compiling, at(12), Size{80, 40, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := tt.run.Screen(tt.now, tt.size)
			if len(lines) > tt.size.Height {
				t.Errorf("%d lines, more than %d", len(lines), tt.size.Height)
			}
			bare := regexp.MustCompile(`\x1b\[[0-9]*m`)
			for _, l := range lines {
				if n := columns(bare.ReplaceAllString(l, "")); n > tt.size.Width {
					t.Errorf("%d columns, more than %d: %q", n, tt.size.Width, l)
				}
				if plain := bare.ReplaceAllString(l, ""); strings.ContainsRune(plain, '\x1b') || !tt.size.Color && plain != l {
					t.Errorf("an escape is shown: %q", l)
				}
			}
			got := strings.Join(lines, "\n") + "\n"
			if tt.size.Color {
				got = strings.ReplaceAll(got, "\x1b", "␛")
			}
			golden := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the screen differs from %s:\n%s\nwant\n%s", golden, got, want)
			}
		})
	}
}

// However small the terminal is, nothing is drawn outside of it, and the progress is the
// last row to be left out.
func TestScreenFits(t *testing.T) {
	for _, r := range []*Run{closed(), open(), {}} {
		for width := 1; width < 60; width++ {
			for height := 0; height < 30; height++ {
				lines := r.Screen(at(7.5), Size{Width: width, Height: height})
				if len(lines) > max(1, height) {
					t.Fatalf("%d lines of %d", len(lines), height)
				}
				for _, l := range lines {
					if columns(l) > width {
						t.Fatalf("%q is wider than %d", l, width)
					}
				}
			}
		}
	}
	if last := closed().Screen(at(7.5), Size{Width: 60, Height: 1}); len(last) != 1 || !strings.Contains(last[0], "7s, 22s left") {
		t.Errorf("the last line that is left out is %q", last)
	}
}

func TestSpark(t *testing.T) {
	for _, tt := range []struct {
		values  []float64
		columns int
		want    string
	}{
		{nil, 5, ""},
		{[]float64{0, 0}, 5, "▁▁"},
		{[]float64{1, 4, 8}, 5, "▂▅█"},
		{[]float64{100, 1, 4, 8}, 3, "▂▅█"}, // of the values shown
		{[]float64{1, -1, 8}, 5, "▂ █"},     // -1: unknown
		{[]float64{1}, 0, ""},
	} {
		var known []bool
		for _, v := range tt.values {
			known = append(known, v >= 0)
		}
		if got := spark(tt.values, known, tt.columns); got != tt.want {
			t.Errorf("spark(%v, %d) = %q, want %q", tt.values, tt.columns, got, tt.want)
		}
	}
}

// How + and - change a load.
func TestSteer(t *testing.T) {
	show := func(changes []event.Change) (s string) {
		for _, c := range changes {
			s += c.Class
			if c.Users != nil {
				s += fmt.Sprintf(" %d users;", *c.Users)
			}
			if c.Rate != nil {
				s += fmt.Sprintf(" %v/s;", *c.Rate)
			}
		}
		return s
	}
	ramp := &Run{}
	ramp.apply(event.Event{Kind: event.State, State: run.Running, Time: at(0)})
	ramp.apply(event.Event{Kind: event.Step, Plan: &event.Plan{Classes: []event.Class{
		{Name: "a", Users: 100, Closed: true, Stages: []event.Stage{{To: 100, Over: 10 * time.Second}}}, {Name: "b", Users: 3, Closed: true}}}})
	scaled := open()
	scaled.apply(event.Event{Kind: event.Control, Time: at(62), Control: &event.Change{What: "scale", Rate: p(33.3)}})
	for _, tt := range []struct {
		name   string
		run    *Run
		factor float64
		at     float64
		want   string
	}{
		{"a rate", open(), 1.1, 20, "http 550/s;"},
		{"a rate less", open(), 1 / 1.1, 20, "http 455/s;"},
		{"within a stage that rises, moved by a pause", open(), 1.1, 62, "http 1380/s;"},
		{"a rate that was set", scaled, 1.1, 70, "http 36.6/s;"},
		{"users of a ramp and of a loop", ramp, 1.1, 5, "a 55 users;b 4 users;"},
		{"fewer users", ramp, 1 / 1.1, 5, "a 45 users;b 2 users;"},
		{"no user before a ramp", ramp, 1 / 1.1, 0, "a 0 users;b 2 users;"},
		{"more than no user", ramp, 1.1, 0, "a 1 users;b 4 users;"},
		{"at least one user", ramp, 1 / 1.1, 0.1, "a 1 users;b 2 users;"},
	} {
		if got := show(tt.run.Steer(tt.factor, at(tt.at))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A redraw of the largest screen: the terminal does it four times a second.
func BenchmarkScreen(b *testing.B) {
	r := closed()
	for s := range maxPoints {
		r.apply(event.Event{Kind: event.Interval, Time: at(float64(s)), Interval: p(second(float64(s), int64(s), float64(s)))})
	}
	var old []string
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		lines := r.Screen(at(float64(n)/4), Size{Width: 200, Height: 60, Color: true})
		_ = frame(nil, old, lines)
		old = lines
		n++
	}
}
