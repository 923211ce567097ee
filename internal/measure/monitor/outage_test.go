package monitor

import (
	"slices"
	"testing"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/roles"
)

// second is an interval in which a client had answered operations with an answer and lost
// ones without, of which late timed out.
func second(from float64, answered, lost, late int64) run.Interval {
	i := run.Interval{From: from, Seconds: 1, Metrics: map[string]run.Record{}}
	if answered > 0 {
		i.Metrics["home.latency"] = run.Record{Count: &answered, Times: &run.Times{}}
	}
	if lost > 0 {
		i.Metrics["home.http_other_fail"] = run.Record{Count: &lost}
		i.Metrics["home.error.timeout"] = run.Record{Count: &late}
	}
	return i
}

func TestOutages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answered, lost []int64
		drain          int   // the number of intervals after the load
		late           int64 // of what is lost in each of them
		want           []string
	}{
		"none":                    {[]int64{9, 9, 9}, []int64{0, 0, 0}, 0, 0, nil},
		"some failures":           {[]int64{9, 1, 9}, []int64{0, 8, 0}, 0, 0, nil},
		"never there":             {[]int64{0, 0, 0}, []int64{9, 9, 9}, 0, 0, nil},
		"pauses are none":         {[]int64{9, 0, 0, 9}, []int64{0, 0, 0, 0}, 0, 0, nil},
		"down at the end":         {[]int64{9, 9, 0, 0}, []int64{0, 4, 9, 9}, 0, 0, []string{"the target went down: from 2.00 s on nothing of home was answered (refused)"}},
		"the longer of two":       {[]int64{9, 0, 9, 0, 0, 9}, []int64{0, 9, 0, 9, 9, 0}, 0, 0, []string{"the target was down from 3.00 s to 5.00 s: nothing of home was answered (refused)"}},
		"a pause belongs to it":   {[]int64{9, 0, 0, 9}, []int64{0, 9, 0, 0}, 0, 0, []string{"the target was down from 1.00 s to 3.00 s: nothing of home was answered (refused)"}},
		"down, up, and down":      {[]int64{9, 0, 9, 0}, []int64{0, 9, 0, 9}, 0, 0, []string{"the target went down: from 3.00 s on nothing of home was answered (refused)"}},
		"its begin is no outage":  {[]int64{0, 0, 9}, []int64{9, 9, 0}, 0, 0, nil},
		"slow ones are left":      {[]int64{9, 9, 0, 0}, []int64{1, 1, 3, 3}, 2, 3, nil},
		"down as the load ends":   {[]int64{9, 9, 0}, []int64{0, 0, 4}, 1, 3, []string{"the target went down: from 2.00 s on nothing of home was answered (refused)"}},
		"down before the drain":   {[]int64{9, 9, 0, 0}, []int64{0, 0, 9, 9}, 1, 0, []string{"the target went down: from 2.00 s on nothing of home was answered (refused)"}},
		"a run without intervals": {},
	} {
		var o outages
		o.declare(roles.Set(run.Metric{Title: "home.latency", Type: "histogram"}, run.Metric{Title: "home.http_other_fail", Type: "counter"}, run.Metric{Title: "home.error.timeout", Type: "counter"}))
		for i := range tt.answered {
			o.drain = i >= len(tt.answered)-tt.drain
			late := int64(0)
			if o.drain {
				late = tt.late
			}
			o.add(second(float64(i), tt.answered[i], tt.lost[i], late))
		}
		r := &run.Result{Errors: []run.Failure{{Source: "vu.x", Class: "iteration"}, {Source: "home", Class: "refused"}}}
		if got := o.notes(r); !slices.Equal(got, tt.want) {
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
