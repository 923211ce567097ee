//go:build linux

package cluster

import (
	_ "embed"
	"encoding/json"
	"testing"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/run"
)

// program is the scenario of most tests. It reads its load from load.json, so one compile
// serves all of them.
//
//go:embed testdata/scenario.go
var program string

// load is what the users of program do. Each sends requests to URL, with a pause after
// each.
type load struct {
	URL    string
	Users  int
	Rate   float64         // users started a second; 0: all at once
	Times  int             // requests of a user; 0: until the run's end
	Pause  time.Duration   // after a request
	Loop   time.Duration   // scenario.Loop, if not 0
	Stages []scenario.Rate // scenario.Arrival, if not nil

	Also    []string      // further URLs that are requested each time
	Fault   string        // of user 1: exit, segv, or goroutine, which panics
	After   time.Duration // when the fault happens
	Panics  int           // the user that panics; 0: none
	Endless bool          // users ignore that the run ends
	Setup   bool          // the setup waits until it is cancelled
	Drain   string        // URL that users request first, and wait for beyond the run's end
	Sizes   bool          // 100 recordings in four histograms before each request
}

// requests returns a load of users who each send the same number of requests.
func requests(url string, users int, rate float64, times int, pause time.Duration) load {
	return load{URL: url, Users: users, Rate: rate, Times: times, Pause: pause}
}

// perSecond is how many requests a user of a steady load sends in a second, at most.
const perSecond = 10

// steady returns a load of users who send requests until the run's end.
func steady(url string, users int) load {
	return load{URL: url, Users: users, Pause: time.Second / perSecond}
}

// loop returns a closed load that can be scaled while it runs.
func loop(url string, users int, length, pause time.Duration) load {
	return load{URL: url, Users: users, Times: 1, Pause: pause, Loop: length}
}

// arrival returns an open load with a schedule.
func arrival(url string, users int, to float64, over time.Duration) load {
	return load{URL: url, Users: users, Times: 1, Stages: []scenario.Rate{{To: to, Over: over}}}
}

// file returns the load as the file that program reads.
func (l load) file(t testing.TB) run.File {
	t.Helper()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return run.File{Path: "load.json", Data: b}
}

// start submits a run of program with a load and returns the run's id.
func (c *Cluster) start(t testing.TB, l load, o run.Options) string {
	t.Helper()
	return c.Submit(t, program, o, l.file(t))
}

// scaled returns a duration of the test in the cluster's time scale.
func scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * scale) }
