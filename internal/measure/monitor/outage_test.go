package monitor

import (
	"slices"
	"strings"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// second is what a client's operations did in one second.
type second struct{ answered, refused, timeout, canceled, begun int64 }

// interval returns s as an interval that begins at from.
func (s second) interval(from float64) run.Interval {
	i := run.Interval{From: from, Seconds: 1, Metrics: map[string]run.Record{}}
	for title, n := range map[string]int64{"home.begun": s.begun, "home.http_ok": s.answered, "home.http_other_fail": s.refused + s.timeout + s.canceled,
		"home.error.refused": s.refused, "home.error.timeout": s.timeout, "home.error.canceled": s.canceled} {
		if n > 0 {
			i.Metrics[title] = run.Record{Count: &n}
		}
	}
	if s.answered > 0 {
		i.Metrics["home.latency"] = run.Record{Count: &s.answered, Times: &run.Times{}}
	}
	return i
}

func TestOutages(t *testing.T) {
	t.Parallel()
	up, down, quiet := second{answered: 9, begun: 9}, second{refused: 9, begun: 9}, second{}
	full := func(s second) second { s.begun = 9; return s }
	for name, tt := range map[string]struct {
		seconds []second
		drain   int // the number of them after the load
		want    string
	}{
		"none":                                    {[]second{up, up, up}, 0, ""},
		"some failures":                           {[]second{up, {answered: 1, refused: 8, begun: 9}, up}, 0, ""},
		"never there":                             {[]second{down, down, down}, 0, ""},
		"pauses":                                  {[]second{up, quiet, quiet, up}, 0, ""},
		"down at the end":                         {[]second{up, {answered: 9, refused: 4, begun: 13}, down, down}, 0, "the target went down: from 2.00 s on nothing of home was answered (18 refused)"},
		"the longer of two":                       {[]second{up, down, up, down, down, up}, 0, "the target was down at least from 3.00 s to 5.00 s: nothing of home was answered (18 refused)"},
		"a pause is not of it":                    {[]second{up, quiet, down, quiet, up}, 0, "the target was down at least from 2.00 s to 4.00 s: nothing of home was answered (9 refused)"},
		"down, up, and down":                      {[]second{up, down, up, down}, 0, "the target went down: from 3.00 s on nothing of home was answered (9 refused)"},
		"its begin":                               {[]second{down, down, up}, 0, ""},
		"one failure at 1 a second":               {[]second{{answered: 1, begun: 1}, {timeout: 1, begun: 1}, {answered: 1, begun: 1}}, 0, ""},
		"five failures at 1 a second":             {[]second{{answered: 1, begun: 1}, {refused: 1, begun: 1}, {refused: 1, begun: 1}, {refused: 1, begun: 1}, {refused: 1, begun: 1}, {refused: 1, begun: 1}, {answered: 1, begun: 1}}, 0, "the target was down at least from 1.00 s to 6.00 s: nothing of home was answered (5 refused)"},
		"all users wait":                          {[]second{full(up), full(quiet), quiet, quiet, up}, 0, "nothing of home was answered at least from 1.00 s to 4.00 s, with 9 in flight at the end"},
		"all users wait, some of them in vain":    {[]second{full(up), {begun: 9}, {timeout: 3, begun: 3}, {timeout: 3, begun: 3}, {answered: 9}}, 0, "nothing of home was answered at least from 1.00 s to 4.00 s, with 9 in flight at the end"},
		"hardly longer than usual":                {[]second{up, {begun: 9}, {answered: 9}}, 0, ""},
		"it hangs, and all users wait in vain":    {[]second{up, full(quiet), quiet, {timeout: 9, begun: 9}, quiet, {timeout: 9, begun: 9}, {answered: 9}}, 0, "the target was down at least from 1.00 s to 6.00 s: nothing of home was answered (18 timeout)"},
		"slow ones are left":                      {[]second{up, full(up), {timeout: 4}, {timeout: 5}}, 2, ""},
		"what gobench cuts":                       {[]second{up, full(up), {canceled: 9}}, 0, ""},
		"down before the drain":                   {[]second{up, down, {timeout: 3}}, 1, "the target went down: from 1.00 s on nothing of home was answered (9 refused)"},
		"up again in the drain":                   {[]second{up, {refused: 9, begun: 10}, {answered: 1}}, 1, "the target was down at least from 1.00 s to 2.00 s: nothing of home was answered (9 refused)"},
		"several causes, the most frequent first": {[]second{up, {refused: 2, timeout: 7, begun: 9}}, 0, "the target went down: from 1.00 s on nothing of home was answered (7 timeout, 2 refused)"},
		"a run without intervals":                 {nil, 0, ""},
	} {
		var o outages
		var metrics []run.Metric
		for _, title := range []string{"home.begun", "home.http_ok", "home.http_other_fail", "home.error.refused", "home.error.timeout", "home.error.canceled"} {
			metrics = append(metrics, run.Metric{Title: title, Type: run.Counter})
		}
		metrics = roles.Set(append(metrics, run.Metric{Title: "home.latency", Type: run.Histogram})...)
		o.declare(metrics)
		for i, x := range tt.seconds {
			o.drain = i >= len(tt.seconds)-tt.drain
			o.add(x.interval(float64(i)))
		}
		metrics[len(metrics)-1].Times = &run.Times{P50: 300}
		if got := strings.Join(o.notes(metrics), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	zero, five := int64(0), int64(5)
	metric := func(answered, lost *int64) []run.Metric {
		return roles.Set(run.Metric{Title: "home.latency", Type: "histogram", Record: run.Record{Count: answered, Lost: lost}}, run.Metric{Title: "vu.x.response", Type: "histogram", Record: run.Record{Count: answered, Lost: lost}},
			run.Metric{Title: "home.url.a.latency", Type: "histogram", Record: run.Record{Count: answered, Lost: lost}})
	}
	for class, text := range advice {
		got := noAnswer(&run.Result{Metrics: metric(&zero, &five), Errors: []run.Failure{{Source: "home", Class: class}}})
		if want := []string{"nothing was answered: all 5 operations of home failed (" + class + "); " + text}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", class, got)
		}
	}
	for name, metrics := range map[string][]run.Metric{"some answers": metric(&five, &five), "no failures": metric(&zero, nil)} {
		if got := noAnswer(&run.Result{Metrics: metrics, Errors: []run.Failure{{Source: "home", Class: "refused"}}}); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}
