package health

import (
	"strings"
	"testing"
	"time"
)

// noted returns the notes on windows of a second.
func noted(ws []Window) string {
	var j Judge
	for i := range ws {
		ws[i].From, ws[i].Length = time.Duration(i)*time.Second, time.Second
		j.Add(&ws[i])
	}
	for _, r := range j.Reasons() {
		if r.Signal == "retransmits" {
			return "a reason"
		}
	}
	return strings.Join(j.Notes(), "\n")
}

func TestNotes(t *testing.T) {
	t.Parallel()
	resent := func(shares ...float64) (ws []Window) {
		for _, v := range shares {
			ws = append(ws, Window{Values: map[Metric]float64{Retransmits: v}})
		}
		return ws
	}
	// users are those of a closed load, with the iterations they did in each second.
	users := func(pairs ...int64) (ws []Window) {
		for i := 0; i < len(pairs); i += 2 {
			for range 4 {
				ws = append(ws, Window{Loads: []Load{{Class: "a", Users: pairs[i], Done: pairs[i+1]}}})
			}
		}
		return ws
	}
	// open is an open load with these numbers of planned and done iterations in each
	// second.
	open := func(pairs ...int64) (ws []Window) {
		for i := 0; i < len(pairs); i += 2 {
			for range 4 {
				ws = append(ws, Window{Loads: []Load{{Class: "a", Planned: pairs[i], Starts: pairs[i], Done: pairs[i+1]}}})
			}
		}
		return ws
	}
	medians := func(ms ...int) (ws []Window) {
		for _, v := range ms {
			ws = append(ws, Window{Loads: []Load{{Class: "a", Users: 5, Done: 100, Response: time.Duration(v) * time.Millisecond}}})
		}
		return ws
	}
	warm := medians(9, 2, 2, 2, 2, 2, 2)
	warm[0].Warmup = true
	for _, tt := range []struct {
		name string
		ws   []Window
		want string // beginning of the notes
	}{
		{"nothing", make([]Window, 10), ""},
		{"few segments again", resent(10, 10, 10, 10, 10, 10), ""},
		{"segments again, rising", resent(2, 2, 2, 40, 60, 50), "6 % of the TCP segments that this machine sent were repeats (in 3 intervals, the worst at 4.00 s): "},
		{"segments again, from the first", resent(30, 30, 30), "3 % of the TCP segments"},
		{"segments again, hardly more", resent(9, 9, 9, 17, 17, 17), ""},
		{"segments again, once in a long run", append(resent(50), resent(make([]float64, 40)...)...), "5 % of the TCP segments that this machine sent were repeats (in one interval"},

		{"more users, more done", users(10, 1000, 20, 2000, 40, 4000), ""},
		{"more users, no more done", users(10, 1000, 20, 1900, 40, 2000, 80, 2010), "throughput stood still at about 2002 iterations a second while those in flight grew from about 22 to 45: that is a limit of the target"},
		{"more users, less done", users(10, 1000, 40, 700), "throughput stood still at about 700"},
		{"the same users", users(10, 1000, 10, 900, 10, 800), ""},
		{"users that do nothing", users(10, 0, 20, 0, 40, 0), ""},
		{"a plan that is kept, and waits more", append(open(100, 100), append([]Window{{Loads: []Load{{Class: "a", Planned: 100, Starts: 100}}}}, open(100, 100, 100, 100)...)...), ""},
		{"a plan that is not kept", open(100, 99, 1000, 500, 1000, 500), "throughput stood still at about 500 iterations a second"},
		{"as many users as are busy", func() []Window {
			ws := open(100, 99, 1000, 500, 1000, 500)
			for i := range ws {
				ws[i].Loads[0].Pool = 5
			}
			return ws
		}(), ""},
		{"a target that stands still", append(append(open(1000, 990), open(1000, 0)...), open(1000, 990)...), ""},
		{"a plan of which much is dropped", func() []Window {
			ws := open(1000, 500, 1000, 500, 1000, 500)
			for i := range ws {
				ws[i].Loads[0].Dropped = 500
			}
			return ws
		}(), ""},

		{"as fast from the first", medians(3, 2, 2, 2, 2, 2), ""},
		{"a cold start", medians(9, 2, 2, 2, 2, 2), "the totals have a cold start in them: in the first interval the median response time of class a was 9.00 ms, later about 2.00 ms"},
		{"a cold start in a short run", medians(9, 2, 2, 2), ""},
		{"a cold start in the warm-up", warm, ""},
	} {
		got := noted(tt.ws)
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
