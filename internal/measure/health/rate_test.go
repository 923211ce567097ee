package health

import (
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/internal/run"
)

// What lag alone does not show: lag is known only of starts that gobench began.
func TestAchievedRate(t *testing.T) {
	t.Parallel()
	const s = time.Second
	load := func(planned, starts, behind int64) Load {
		return Load{Class: "a", Planned: planned, Starts: starts, Behind: behind}
	}
	for _, tt := range []struct {
		name   string
		length time.Duration
		loads  []Load
		want   string // "", or the level and the beginning of the text
	}{
		{"on time", s, []Load{load(100, 100, 0), load(100, 100, 0), load(100, 100, 0)}, ""},
		{"behind for good, and no lag tells it", s, []Load{load(100, 100, 0), load(0, 0, 100), load(0, 0, 200), load(0, 0, 300)}, "red class a reached 25 % of its planned rate: 300 of 400 starts did not begin"},
		{"two thirds of the plan", s, []Load{load(1000, 1000, 500), load(1000, 1000, 1000), load(1000, 1000, 1500)}, "red class a reached 67 % of its planned rate: 1500 of 4500"},
		{"given to users that did not run", s, []Load{load(1000, 970, 0), load(1000, 970, 0), load(1000, 970, 0)}, "amber class a reached 97 %"},
		{"behind by as much all the time", s, []Load{load(1000, 999, 9), load(1000, 1000, 9), load(1000, 1000, 9), load(1000, 1000, 9)}, ""},
		{"a halt at a border, made good", s, append([]Load{load(700, 700, 300), load(1300, 1300, 0)}, repeated(30, load(1000, 1000, 0))...), ""},
		{"missed at the load's end", s, []Load{load(1000, 1000, 0), load(1000, 1000, 0), load(1000, 700, 0)}, "red class a reached 90 %"},
		{"catching up after the plan's end", s, []Load{load(1000, 1000, 4), load(4, 4, 0), load(0, 0, 0)}, ""},
		{"short windows: 5 % and a bit", s / 10, repeated(40, load(100, 94, 0)), "red class a reached 94 % of its planned rate: 240 of 4000"},
		{"short windows: starts under way at their borders", s / 10, alternate(40, load(100, 95, 0), load(100, 105, 0)), ""},
		{"long windows", 10 * s, []Load{load(10_000, 9800, 0), load(10_000, 9800, 0), load(10_000, 9800, 0)}, "amber class a reached 98 % of its planned rate: 600 of 30000"},
	} {
		var j Judge
		for i, l := range tt.loads {
			j.Add(&Window{From: time.Duration(i) * tt.length, Length: tt.length, Loads: []Load{l}})
		}
		reasons, got := j.Reasons(), ""
		if len(reasons) > 0 {
			got = reasons[0].Level.String() + " " + reasons[0].Text
		}
		if (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) || len(reasons) > 1 || got != "" && reasons[0].Signal != Rate {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func repeated(n int, l Load) (all []Load) {
	for range n {
		all = append(all, l)
	}
	return all
}

func alternate(n int, a, b Load) (all []Load) {
	for range n / 2 {
		all = append(all, a, b)
	}
	return all
}

// Starts that find no user free because gobench itself was late are missed.
func TestDropsOfALateGobench(t *testing.T) {
	t.Parallel()
	for lag, want := range map[time.Duration]bool{0: false, 500 * time.Millisecond: true} {
		var j Judge
		for i := range 10 {
			l := Load{Class: "a", Planned: 100, Starts: 100, Done: 100, Response: 20 * time.Millisecond}
			if i == 5 {
				l.Dropped, l.Done, l.P50, l.P90, l.P99 = 80, 20, lag, lag, lag
			}
			j.Add(&Window{From: time.Duration(i) * time.Second, Length: time.Second, Loads: []Load{l}})
		}
		missed := false
		for _, r := range j.Reasons() {
			missed = missed || r.Signal == Rate && r.Level == run.Red && strings.Contains(r.Text, "80 of 1000 starts")
		}
		if missed != want {
			t.Errorf("80 of 1,000 starts dropped while starts were %v late: %+v", lag, j.Reasons())
		}
	}
}

// Starts that wait for a user, or are dropped because no user is free, are the target's
// fault: all starts that gobench began count, whatever their outcome.
func TestWaitingStartsLowerNoRate(t *testing.T) {
	t.Parallel()
	var j Judge
	for i := range 20 {
		j.Add(&Window{From: time.Duration(i) * time.Second, Length: time.Second, Loads: []Load{{Class: "a", Planned: 1000, Starts: 1000, Dropped: 500, Done: 10}}})
	}
	if v := j.Reasons(); v != nil {
		t.Errorf("%+v", v)
	}
}

// Starts missed in a warm-up do not count against the rest, nor are they forgotten.
func TestTheRateOfAWarmup(t *testing.T) {
	t.Parallel()
	var j Judge
	j.Add(&Window{Length: time.Second, Warmup: true, Loads: []Load{{Class: "a", Planned: 100, Starts: 100, Behind: 900}}})
	for i := range 20 {
		j.Add(&Window{From: time.Duration(i+1) * time.Second, Length: time.Second, Loads: []Load{{Class: "a", Planned: 1000, Starts: 1000, Behind: 900}}})
	}
	if v := j.Reasons(); v != nil {
		t.Errorf("%+v", v)
	}
}
