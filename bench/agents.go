package main

import (
	"context"
	"fmt"
	"os"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

// busScenario sends requests to a server at a rate, both of them parameters, with 60 users
// for an hour or until the run is ended.
const busScenario = `package main

import (
	"context"
	"strconv"
	"time"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor/scenario"
)

var (
	url  = scenario.Param("url", "", "what to ask")
	rate = scenario.Param("rate", "1000", "how often, a second")
)

func export() scenario.Vus {
	to, err := strconv.ParseFloat(*rate, 64)
	if err != nil {
		panic(err)
	}
	return scenario.Vus{{Name: "http", Nu: 60, Start: start, Load: scenario.Arrival{Stages: []scenario.Rate{{To: to, Over: time.Hour}}}}}
}

func start(ctx context.Context, vui int) (scenario.User, error) {
	client, err := http.NewHttpClient(ctx, "http")
	if err != nil {
		return nil, err
	}
	return scenario.Iterate(func(ctx context.Context) error { return client.GetIgnoreRes(ctx, *url, nil) }), nil
}
`

// agent makes a join token, starts an agent of m in a new temporary directory, and returns
// without waiting until it has joined. end stops it and removes the directory; the caller
// must call it before m.stop. On an error nothing is left running.
func (m *testMaster) agent(ctx context.Context, bin, name string) (_ *daemon, end func(), err error) {
	var made struct{ Text string }
	if err := m.do(ctx, "POST", "/join-tokens", struct{}{}, &made); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "gobench-bench-agent-")
	if err != nil {
		return nil, nil, err
	}
	d, err := startDaemon(bin, dir, nil, nil, "agent", "--join", made.Text, "--dir", dir, "--name", name)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return d, func() { d.stop(); os.RemoveAll(dir) }, nil
}

// withAgents starts a master and n agents of the gobench bin, waits at most a minute, or until
// ctx ends, for all to connect, calls take and stops them. It returns take's error, that of a
// start, or a *failure with the master's log if the agents do not connect.
func withAgents(ctx context.Context, bin string, n int, take func(*testMaster, []*daemon) error) error {
	m, err := startMaster(ctx, bin, nil)
	if err != nil {
		return err
	}
	defer m.stop()
	var all []*daemon
	for i := range n {
		d, end, err := m.agent(ctx, bin, fmt.Sprint("agent-", i+1))
		if err != nil {
			return err
		}
		defer end()
		all = append(all, d)
	}
	if err := m.agents(ctx, n, time.Minute); err != nil {
		return m.failed(err)
	}
	return take(m, all)
}

// Limits for an idle master and agent.
const (
	limitIdleRSS = 60.0 // MB, of the master
	limitIdleCPU = 1.0  // percent of a core
)

// idleGrid measures an idle master and its agent for clusterSeconds: CPU in percent of one
// core, and resident MB at the end. It returns one row each. If ctx ends meanwhile the time
// is shorter, which is no error.
func (b *bench) idleGrid(ctx context.Context, bin string) (grid, error) {
	g := grid{head: []string{"doing nothing", "CPU %", "RSS MB", "held to"}}
	err := withAgents(ctx, bin, 1, func(m *testMaster, all []*daemon) error {
		pause(ctx, 10*time.Second) // the work of the start is done
		pids := []int{m.pid(), all[0].pid()}
		before := []time.Duration{statTime(stat(pids[0])), statTime(stat(pids[1]))}
		began := time.Now()
		pause(ctx, clusterSeconds*time.Second)
		for i, name := range []string{"master, with one agent beside it", "agent"} {
			cpu := (statTime(stat(pids[i])) - before[i]).Seconds() / time.Since(began).Seconds() * 100
			rss := float64(residentBytes(pids[i])) / 1e6
			var held limits
			held.at("CPU", cpu, limitIdleCPU)
			if i == 0 {
				held.at("RSS", rss, limitIdleRSS)
			}
			g.rows = append(g.rows, []string{name, fmt.Sprintf("%.2f", cpu), fmt.Sprintf("%.0f", rss), held.String()})
		}
		return nil
	})
	return g, err
}

// limitBus is the factor by which the bytes on the bus may grow with the requests.
const limitBus = 0.20

// busGrid measures for clusterSeconds each what one agent sends to the master under 1,000 and
// 50,000 requests a second, one row each; the second row has the ratio of its bytes to those
// of the first. It adds nginx's version to s. On an error, as when ctx ends, the grid has the
// rows before.
func (b *bench) busGrid(ctx context.Context, bin string, s *section) (grid, error) {
	g := grid{head: []string{"requests/s wanted", "made", "batches/s", "bytes/s on the bus", "to the first", "held to"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		return withAgents(ctx, bin, 1, func(m *testMaster, _ []*daemon) error {
			var first float64
			for _, rate := range []int{1000, 50_000} {
				id, err := m.submit(ctx, busScenario, domain.Options{Parameters: map[string]string{"url": srv.url(), "rate": fmt.Sprint(rate)}})
				if err != nil {
					return err
				}
				if err := m.await(ctx, id, domain.Running, 3*time.Minute); err != nil {
					return m.failed(err)
				}
				pause(ctx, 4*time.Second) // the first batches declare their metrics
				before, err := m.scrape(ctx)
				if err != nil {
					return err
				}
				pause(ctx, clusterSeconds*time.Second)
				after, err := m.scrape(ctx)
				if err != nil {
					return err
				}
				if err := m.do(ctx, "POST", "/runs/"+id+"/cancel", nil, nil); err != nil {
					return err
				}
				if err := m.await(ctx, id, domain.Cancelled, time.Minute); err != nil {
					return m.failed(err)
				}
				r := new(domain.Result)
				if err := m.do(ctx, "GET", "/runs/"+id+"/result", nil, r); err != nil {
					return err
				}
				made := 0.0
				if ok := find(r, "http.http_ok"); ok.Count != nil {
					made = float64(*ok.Count) / r.Seconds
				}
				seconds := after.at.Sub(before.at).Seconds()
				bytes := after.grown(before, "gobench_batches_bytes_total") / seconds
				row := []string{fmt.Sprint(rate), fmt.Sprintf("%.0f", made), fmt.Sprintf("%.2f", after.grown(before, "gobench_batches_total")/seconds), fmt.Sprintf("%.0f", bytes), "", ""}
				if first == 0 {
					first = bytes
				} else {
					var held limits
					held.at("bytes", bytes/first, 1+limitBus)
					row[4], row[5] = fmt.Sprintf("%.2f", bytes/first), held.String()
				}
				b.logf("bus: %v", row)
				g.rows = append(g.rows, row)
			}
			return nil
		})
	})
	return g, err
}

// limitFirst is the limit for the time from the submission to the first request.
const limitFirst = 3000.0 // ms

// firstGrid measures the milliseconds from the submission of a run, compiled before, to its
// first request on one of three agents: median and range of b.pairs runs, in one row. On an
// error, as when ctx ends, the grid has no row.
func (b *bench) firstGrid(ctx context.Context, bin string) (grid, error) {
	g := grid{head: []string{"submission to first request, 3 agents", "runs", "median ms", "min", "max", "held to"}}
	door, err := openDoor()
	if err != nil {
		return g, err
	}
	defer door.close()
	var ms []float64
	err = withAgents(ctx, bin, 3, func(m *testMaster, _ []*daemon) error {
		for i := range b.pairs + 1 {
			door.rearm()
			began := time.Now()
			id, err := m.submit(ctx, busScenario, domain.Options{Duration: 2, Parameters: map[string]string{"url": door.url(), "rate": "100"}})
			if err != nil {
				return err
			}
			if err := m.await(ctx, id, domain.Finished, 3*time.Minute); err != nil {
				return m.failed(err)
			}
			at, ok := door.first()
			if !ok {
				return fmt.Errorf("no request of run %s arrived", id)
			}
			if i > 0 { // the first one compiles
				ms = append(ms, at.Sub(began).Seconds()*1000)
			}
			b.logf("first request after %.0f ms", at.Sub(began).Seconds()*1000)
		}
		return nil
	})
	if err != nil {
		return g, err
	}
	i := medianInterval(ms, 1) // the whole range
	var held limits
	held.at("time", median(ms), limitFirst)
	g.rows = append(g.rows, []string{"scenario unchanged", fmt.Sprint(len(ms)), fmt.Sprintf("%.0f", median(ms)), fmt.Sprintf("%.0f", i.Lo), fmt.Sprintf("%.0f", i.Hi), held.String()})
	return g, nil
}
