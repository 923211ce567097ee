//go:build linux

package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run"
)

// models is a scenario with a class of every load model; users send the name of their class. The
// open loads end with seconds without a start, so that on a busy host, too, none still waits
// for a user at the end.
const models = `package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
)

var rows = data.CSV("rows.csv")

func url(query string) string {
	b, err := os.ReadFile(filepath.Join(os.Getenv("GOBENCH_SCENARIO_DIR"), "url"))
	if err != nil {
		panic(err)
	}
	return string(b) + "?" + query
}

func export() scenario.Vus {
	return scenario.Vus{
		{Name: "calls", Nu: 20, Rate: 10, Fu: asks("calls", 0)},
		{Name: "times", Nu: 10, Load: scenario.Times(7), Fu: asks("times", 10)},
		{Name: "shared", Nu: 9, Load: scenario.Shared(100), Fu: asks("shared", 10)},
		{Name: "loop", Nu: 6, Load: scenario.Loop(3 * time.Second), Fu: asks("loop", 50)},
		{Name: "ramp", Nu: 12, Load: scenario.Ramp{{To: 12, Over: 2 * time.Second}, {To: 12, Over: time.Second}, {To: 0, Over: 2 * time.Second}}, Fu: asks("ramp", 20)},
		{Name: "even", Nu: 10, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 50, Over: 4 * time.Second}, {To: 0}, {To: 0, Over: 8 * time.Second}}}, Fu: asks("even", 0)},
		{Name: "poisson", Nu: 10, Load: scenario.Arrival{Stages: []scenario.Rate{{To: 50, Over: 4 * time.Second}, {To: 0}, {To: 0, Over: 8 * time.Second}}, Poisson: true}, Fu: asks("poisson", 0)},
		{Name: "rows", Nu: 5, Load: scenario.Loop(time.Hour), Fu: takes},
	}
}

func asks(class string, pause int) func(context.Context, int) {
	return func(ctx context.Context, vui int) {
		c, err := http.NewHttpClient(ctx, "home")
		if err != nil {
			panic(err)
		}
		random := executor.Rand(ctx).Uint64()
		c.Get(ctx, url(fmt.Sprintf("class=%s&vu=%d&random=%d", class, vui, random)), nil)
		select {
		case <-time.After(time.Duration(pause) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func takes(ctx context.Context, vui int) {
	row, err := rows.Next(ctx)
	if err != nil {
		return
	}
	c, err := http.NewHttpClient(ctx, "home")
	if err != nil {
		panic(err)
	}
	c.Get(ctx, url("class=rows&vu=0&row="+row.Get("row")), nil)
}
`

// Every load model is over three agents what it is on one, and with the same seed the
// users that are the same do the same; rows of a file are given once.
func TestEveryModel(t *testing.T) {
	t.Parallel()
	c := New(t, 3)
	var csv strings.Builder
	csv.WriteString("row\n")
	for i := range 200 {
		fmt.Fprintln(&csv, i)
	}
	var perUser [2]map[string][]string // requests of classes whose users do a fixed number of things
	for i, agents := range [][]string{{c.Agents[0].Host.Name}, nil} {
		target := NewTarget(t)
		id := c.Submit(t, models, run.Options{Seed: 7, Agents: agents}, run.File{Path: "rows.csv", Data: []byte(csv.String())}, run.File{Path: "url", Data: []byte(target.URL)})
		r := c.Finished(t, id, 2*time.Minute)
		if r.State != run.Finished || len(r.Hosts) != 1+2*i {
			t.Fatalf("the run is %s (%s) on %d agents", r.State, r.Cause, len(r.Hosts))
		}
		exact(t, r, target)
		requests, rows := map[string]int{}, map[string]int{}
		perUser[i] = map[string][]string{}
		for _, s := range target.Seen(time.Time{}) {
			q := map[string]string{}
			for pair := range strings.SplitSeq(s.Query, "&") {
				name, value, _ := strings.Cut(pair, "=")
				q[name] = value
			}
			requests[q["class"]]++
			if row := q["row"]; row != "" {
				rows[row]++
			}
			if q["class"] == "calls" || q["class"] == "times" {
				user := q["class"] + " " + q["vu"]
				perUser[i][user] = append(perUser[i][user], q["random"])
			}
		}
		hosts := len(r.Hosts)
		for class, want := range map[string]int{"calls": 20, "times": 70, "shared": 100, "even": 200} {
			if requests[class] != want {
				t.Errorf("%d agents: %d requests of class %s, want %d", hosts, requests[class], class, want)
			}
		}
		// Users of a loop do one thing after the other, some 50 ms each; a ramp has 36 user seconds
		// of some 20 ms; both may do much less on a busy host. A Poisson process has 200 starts,
		// give or take.
		for class, want := range map[string][2]int{"loop": {6, 6 * 61}, "ramp": {36, 36 * 52}, "poisson": {150, 250}} {
			if n := requests[class]; n < want[0] || n > want[1] {
				t.Errorf("%d agents: %d requests of class %s, want %d to %d", hosts, n, class, want[0], want[1])
			}
		}
		for row, n := range rows {
			if n != 1 {
				t.Errorf("%d agents: row %s was given %d times", hosts, row, n)
			}
		}
		if i == 0 && len(rows) != 200 {
			t.Errorf("one agent gave %d rows, want all 200", len(rows))
		}
		t.Logf("%d agents: %v, %d rows", hosts, requests, len(rows))
	}
	for user, want := range perUser[0] {
		if got := perUser[1][user]; !slices.Equal(got, want) {
			t.Errorf("user %s draws %v on one agent and %v on three", user, want, got)
		}
	}
	if len(perUser[0]) != 30 || len(perUser[1]) != 30 {
		t.Errorf("there are %d and %d users, want 30", len(perUser[0]), len(perUser[1]))
	}
}

// Weights share the load out as they say.
func TestWeights(t *testing.T) {
	t.Parallel()
	c, target := New(t, 3), NewTarget(t)
	weights := map[string]int{c.Agents[0].Host.Name: 5, c.Agents[1].Host.Name: 1, c.Agents[2].Host.Name: 2}
	r := c.Finished(t, c.start(t, requests(target.URL, 80, 0, 5, 0), run.Options{Weights: weights}), time.Minute)
	exact(t, r, target)
	for name, weight := range weights {
		i := slices.IndexFunc(c.Agents, func(n *Node) bool { return n.Host.Name == name })
		if n := asked(target, c.Agents[i]); n != int64(weight*50) {
			t.Errorf("%s with weight %d asked %d times, want %d", name, weight, n, weight*50)
		}
	}
	before, _, hosts := target.Counted()
	s := arrival(target.URL, 80, 400, 2*time.Second)
	s.Stages = append(s.Stages, scenario.Rate{To: 0}, scenario.Rate{To: 0, Over: 8 * time.Second}) // in which those that are late begin
	r = c.Finished(t, c.start(t, s, run.Options{Weights: weights}), time.Minute)
	after, _, now := target.Counted()
	if after-before != 800 || r.State != run.Finished {
		t.Errorf("the run is %s (%s), the target was asked %d times, want 800", r.State, r.Cause, after-before)
	}
	for i, n := range c.Agents {
		if share, want := now[n.Address]-hosts[n.Address], float64(weights[n.Host.Name])*100; math.Abs(float64(share)-want) > 1 {
			t.Errorf("agent %d made %d starts, want %v", i, share, want)
		}
	}
}

// An agent on which a process may have few open files runs several executors, and the run
// is as exact as with one.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	c, target := New(t, 1), NewTarget(t)
	c.Wrap = []string{"prlimit", "--nofile=150:150", "setpriv", "--bounding-set=-sys_resource"}
	few := c.Join(t)
	id := c.start(t, requests(target.URL, 300, 0, 4, 100*time.Millisecond), run.Options{})
	r := c.Finished(t, id, time.Minute)
	if r.State != run.Finished || len(r.Hosts) != 2 {
		t.Fatalf("the run is %s (%s) on %d agents", r.State, r.Cause, len(r.Hosts))
	}
	requests, users, hosts := target.Counted()
	if requests != 1200 || len(users) != 300 || hosts[few.Address] != 600 {
		t.Errorf("the target was asked %d times by %d users, %v; want 1,200 by 300, half of them by each agent", requests, len(users), hosts)
	}
	exact(t, r, target)
	for _, h := range r.Hosts {
		want := 1
		if h.Name == few.Host.Name {
			want = 2 // 150 users, a tenth and a hundred more: 265 files
		}
		if h.Executors != want {
			t.Errorf("%s ran %d executors, want %d", h.Name, h.Executors, want)
		}
	}
	if n := sum(r, "home.error.local_fd"); n > 0 {
		t.Errorf("%d times there was no open file left", n)
	}
	// A wish reaches each of them once.
	id = c.start(t, loop(target.URL, 300, 5*time.Minute, 150*time.Millisecond), run.Options{})
	c.Await(t, id, time.Minute, run.Running)
	c.Do(t, "POST", "/api/v1/runs/"+id+"/control", map[string]any{"what": "scale", "users": 17}, nil)
	settled(t, target, 17)
	c.Do(t, "POST", "/api/v1/runs/"+id+"/cancel", nil, nil)
	c.Finished(t, id, time.Minute)
}
