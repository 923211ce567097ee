package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

// Limits for a master with 1,000 agents.
const (
	limitMerged = 0.050 // s, p99
	limitAcked  = 0.400
	limitCores  = 1.0
	limitRSS    = 500.0 // MB
)

// clusterTable measures what a master needs for many agents, what the bus transfers, and
// how long it takes until a run begins. -tools selects its grids by name: agents, idle,
// bus, first, storage; it has all without -tools, and none if that names no grid. If one of
// them fails, there is no section. See table.
func clusterTable(ctx context.Context, b *bench) (*section, error) {
	in, err := b.install(ctx, gobench)
	if err != nil {
		return nil, err
	}
	s := &section{
		title:    "Cluster: a master and its agents",
		versions: []string{in.version},
		text: []string{
			fmt.Sprintf("A master alone on one CPU, and the simulated agents in one process on another: each has joined, sends heartbeats, obeys commands and delivers at the end of each second "+
				"a batch of %d histograms of 1 KB and %d counters, and the executor's metrics of itself, over TLS. Measured for %d s. Merged and acked are from the receipt of a batch "+
				"until it was merged, and until it was stored in the database; they are bounds of ranges in the master's /metrics. Sent to acked is by the agents' clocks: from the end of a batch's second.",
				swarmHistograms, swarmCounters, clusterSeconds),
			fmt.Sprintf("Held to, with 1,000 agents: merged p99 %.0f ms, acked p99 %.0f ms, one core, %.0f MB.", limitMerged*1000, limitAcked*1000, limitRSS),
		},
	}
	bin := in.command[0]
	for _, t := range []struct {
		name string
		take func() (grid, error)
	}{
		{"agents", func() (grid, error) { return b.swarmGrid(ctx, bin) }},
		{"idle", func() (grid, error) { return b.idleGrid(ctx, bin) }},
		{"bus", func() (grid, error) { return b.busGrid(ctx, bin, s) }},
		{"first", func() (grid, error) { return b.firstGrid(ctx, bin) }},
		{"storage", func() (grid, error) { return b.storageGrid(ctx) }},
	} {
		if len(b.tools) > 0 && !b.wants(t.name) {
			continue
		}
		g, err := t.take()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		s.grids = append(s.grids, g)
	}
	s.commands = []string{"go run ./bench -tables cluster", "go run ./bench -tables cluster -tools agents   # or idle, bus, first, storage"}
	return s, nil
}

// clusterSeconds is how long a swarm is measured for; grids of agents use it too.
const clusterSeconds = 15

// nothingScenario is the scenario that the master compiles for simulated agents, which do
// not run it.
const nothingScenario = `package main

import (
	"context"

	"github.com/gobench-io/gobench/executor/scenario"
)

func export() scenario.Vus { return scenario.Vus{{Nu: 1, Fu: func(context.Context, int) {}}} }
`

// swarmGrid measures the master of the gobench at the path bin with 10, 100 and 1,000
// simulated agents, one row each. The first of them that fails, as when ctx ends, ends it,
// with its error and the rows before.
func (b *bench) swarmGrid(ctx context.Context, bin string) (grid, error) {
	g := grid{head: []string{"agents", "batches/s", "KB/batch", "merged p99 ms <=", "acked p99 ms <=", "sent to acked p50 ms", "p99 ms", "master CPU %", "RSS MB", "others CPU %", "held to"}}
	for _, n := range []int{10, 100, 1000} {
		row, err := b.swarmRow(ctx, bin, n)
		if err != nil {
			return g, fmt.Errorf("%d simulated agents: %w", n, err)
		}
		b.logf("%v", row)
		g.rows = append(g.rows, row)
	}
	return g, nil
}

// swarmRow returns the row of swarmGrid for n agents: a master on the first CPU and the agents
// on the others (on the same one if there is no other), measured for clusterSeconds of a run.
// It stops both before it returns, also on an error, as when ctx ends.
func (b *bench) swarmRow(ctx context.Context, bin string, n int) ([]string, error) {
	cpus := allowedCPUs()
	mine, theirs := cpus[:1], cpus[min(1, len(cpus)-1):]
	m, err := startMaster(ctx, bin, mine)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	tokens := make([]string, n)
	for i := range tokens {
		var made struct{ Text string }
		if err := m.do(ctx, "POST", "/join-tokens", map[string]int{"minutes": 60}, &made); err != nil {
			return nil, err
		}
		tokens[i] = made.Text
	}
	swarm, err := startSwarm(theirs, tokens)
	if err != nil {
		return nil, err
	}
	defer swarm.end()
	if err := m.agents(ctx, n, 3*time.Minute); err != nil {
		return nil, m.failed(err)
	}
	id, err := m.submit(ctx, nothingScenario, domain.Options{})
	if err != nil {
		return nil, err
	}
	if err := m.await(ctx, id, domain.Running, 2*time.Minute); err != nil {
		return nil, m.failed(err)
	}
	pause(ctx, 8*time.Second) // the first batches declare their metrics
	before, err := m.scrape(ctx)
	if err != nil {
		return nil, err
	}
	swarm.look()
	busy, own := machineBusy(), cpuTime([]int{swarm.pid()})
	pause(ctx, clusterSeconds*time.Second)
	busy, own = machineBusy()-busy, cpuTime([]int{swarm.pid()})-own
	seen, err := swarm.seen()
	if err != nil {
		return nil, err
	}
	after, err := m.scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.do(ctx, "POST", "/runs/"+id+"/cancel", nil, nil); err != nil {
		return nil, err
	}
	if err := m.await(ctx, id, domain.Cancelled, time.Minute); err != nil {
		return nil, m.failed(err)
	}
	seconds := after.at.Sub(before.at).Seconds()
	cpu := after.cpu - before.cpu
	batches := after.grown(before, "gobench_batches_total")
	merged, acked := after.atMost(before, "gobench_batch_merge_seconds", 0.99), after.atMost(before, "gobench_batch_commit_seconds", 0.99)
	cores, rss := cpu.Seconds()/seconds, float64(after.rss)/1e6
	var held limits
	if n == 1000 {
		held.at("batches", float64(n)*0.99, batches/seconds) // all of them arrive
	}
	held.at("merged", merged, limitMerged)
	held.at("acked", acked, limitAcked)
	held.at("CPU", cores, limitCores)
	held.at("RSS", rss, limitRSS)
	return []string{fmt.Sprint(n), fmt.Sprintf("%.0f", batches/seconds), fmt.Sprintf("%.1f", after.grown(before, "gobench_batches_bytes_total")/batches/1e3),
		fmt.Sprintf("%.0f", merged*1000), fmt.Sprintf("%.0f", acked*1000), fmt.Sprintf("%.0f", seen.P50*1000), fmt.Sprintf("%.0f", seen.P99*1000),
		fmt.Sprintf("%.0f", cores*100), fmt.Sprintf("%.0f", rss), fmt.Sprintf("%.0f", max(0, (busy-cpu-own).Seconds()/seconds*100)), held.String()}, nil
}

// A swarmProcess is this program as a swarm (bench -swarm). It is not safe for concurrent
// use; the caller must call end.
type swarmProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startSwarm starts a swarm on the given CPUs, with an agent for each join token. It does
// not wait until they have joined. The caller must call end.
func startSwarm(cpus []int, tokens []string) (*swarmProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &swarmProcess{cmd: exec.Command(self, "-swarm")}
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := pinned(cpus, s.cmd.Start); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(s.in).Encode(tokens); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *swarmProcess) pid() int { return s.cmd.Process.Pid }

// look begins a new measurement of the time that batches take; seen returns its result.
func (s *swarmProcess) look() { _, _ = io.WriteString(s.in, "look\n") } // an error shows in seen

// seen waits for and returns how long batches took since the last look (or the start): from
// the end of a batch's second until it was committed; zeros without such a batch. It waits
// without a limit, and returns an error if the swarm has ended.
func (s *swarmProcess) seen() (x swarmSeen, err error) {
	if _, err = io.WriteString(s.in, "seen\n"); err != nil {
		return x, err
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return x, fmt.Errorf("the simulated agents ended: %w", err)
	}
	return x, json.Unmarshal(line, &x)
}

// end closes the swarm's input, upon which it ends, and waits until it has. Its error is
// on our standard error.
func (s *swarmProcess) end() {
	s.in.Close()
	_ = s.cmd.Wait() // it has printed its error
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
