package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/master/bus"
	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/measure/health"
	domain "github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// A swarm is many agents in one process that execute nothing: each has joined, beats each
// second, answers the master's commands and delivers a batch at the end of each second of
// a run, as an executor would. All but acked is constant and shared by the agents.
type swarm struct {
	data   [][]*wire.Histogram // of 2,000 recordings; batches use them in turn
	hello  *agentpb.Hello
	beats  time.Duration
	series []*wire.Metric

	mu    sync.Mutex
	acked hdr.Histogram // from the end of a batch's second until it was committed, ns; guarded by mu
}

// swarmSeen is what a swarm has measured since the last "look", in seconds.
type swarmSeen struct{ P50, P99 float64 }

// The contents of a simulated executor's batch, and what each executor reports about
// itself.
const (
	swarmHistograms = 10
	swarmCounters   = 40
)

// newSwarm returns a swarm without agents; its data are the same in each process. It takes
// no connection and needs no end.
func newSwarm() *swarm {
	s := &swarm{beats: time.Second, hello: &agentpb.Hello{Version: "bench", Protocol: 1, Os: "linux", Arch: "amd64", Cpus: 2, Memory: 8 << 30, OpenFiles: 1 << 20}}
	add := func(title string, typ domain.MetricType, unit string) {
		s.series = append(s.series, &wire.Metric{Title: title, Type: string(typ), Group: "HTTP (home)", Graph: title, Unit: unit})
	}
	for i := range swarmHistograms {
		add(fmt.Sprintf("home%d.latency", i), domain.Histogram, "ns")
	}
	for i := range swarmCounters {
		add(fmt.Sprintf("home%d.http_ok", i), domain.Counter, "N")
	}
	for _, m := range health.Metrics {
		add(health.Prefix+m.Name, domain.Histogram, m.Unit)
	}
	add("vu.simulated.active", domain.Gauge, "N")
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		var all []*wire.Histogram
		for i := range swarmHistograms {
			var h hdr.Histogram
			for range 2000 {
				h.Record(int64(2e6 * math.Exp(random.NormFloat64()*0.6)))
			}
			all = append(all, &wire.Histogram{Metric: uint32(i), Counts: h.Append(nil)})
		}
		for i := range health.Metrics {
			var h hdr.Histogram
			h.Record(random.Int64N(50))
			all = append(all, &wire.Histogram{Metric: uint32(swarmHistograms + swarmCounters + i), Counts: h.Append(nil)})
		}
		s.data = append(s.data, all)
	}
	return s
}

// beSwarm reads join tokens from in, as a JSON array on the first line, joins with each of
// them and runs the agents until the end of in or ctx. A line "look" begins a measurement, as
// the start does, and "seen" writes its result, a swarmSeen, to out as a line of JSON. It
// returns the errors of all agents, joined, also those of agents that had not yet joined when
// ctx ended; an agent that fails does not end the others. A malformed first line is an error
// at once. After the end of ctx a goroutine still reads in.
func beSwarm(ctx context.Context, in io.Reader, out io.Writer) error {
	var tokens []string
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &tokens)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newSwarm()
	go func() {
		defer cancel()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			s.mu.Lock()
			switch line {
			case "look\n":
				s.acked.Reset()
			case "seen\n":
				_ = json.NewEncoder(out).Encode(swarmSeen{float64(s.acked.Quantile(0.5)) / 1e9, float64(s.acked.Quantile(0.99)) / 1e9})
			}
			s.mu.Unlock()
		}
	}()
	dir, err := os.MkdirTemp("", "gobench-bench-swarm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	errs := make([]error, len(tokens))
	joins := make(chan struct{}, 8) // concurrently
	var wg sync.WaitGroup
	for i, token := range tokens {
		wg.Go(func() { errs[i] = s.agent(ctx, i, token, filepath.Join(dir, fmt.Sprint(i)), joins) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// agent joins with a token, with its identity in dir, connects, and runs agent n until ctx
// ends; it then returns nil. It returns an error if it can't join, connect or subscribe,
// also because ctx has ended. It first waits for a place in joins, whose capacity is how
// many agents join at once, even if ctx ends.
func (s *swarm) agent(ctx context.Context, n int, token, dir string, joins chan struct{}) error {
	joins <- struct{}{}
	hello := proto.Clone(s.hello).(*agentpb.Hello)
	hello.Name = fmt.Sprintf("simulated-%d", n)
	who, err := bus.Join(ctx, token, bus.JoinOptions{Dir: dir, Hello: hello})
	<-joins
	if err != nil {
		return err
	}
	c, err := bus.Dial(who, bus.AgentOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Wait(ctx); err != nil {
		return err
	}
	a := &simulated{swarm: s, n: n, id: who.Agent, c: c, hello: hello, boot: rand.Uint64(), due: map[uint64]time.Time{}}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { a.beat(ctx) })
	wg.Go(func() { _ = c.Committed(ctx, a.committed) }) // ends with ctx
	err = c.Commands(ctx, func(ctx context.Context, q *agentpb.Command) *agentpb.Answer { return a.do(ctx, &wg, q) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// simulated is one of a swarm's agents. Its mu guards the fields below it, of one run at a
// time; lock it before that of the swarm.
type simulated struct {
	*swarm
	n     int
	id    string
	c     *bus.AgentConn
	hello *agentpb.Hello
	boot  uint64

	mu    sync.Mutex
	run   string
	epoch uint64
	phase string
	first uint32
	stop  context.CancelFunc
	due   map[uint64]time.Time // of deliveries that are not committed: the end of their second
}

// committed records how long deliveries up to c.Number took, from the end of their second
// until now, each once.
func (a *simulated) committed(c *agentpb.Committed) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.swarm.mu.Lock()
	defer a.swarm.mu.Unlock()
	for number, due := range a.due {
		if number <= c.Number {
			a.acked.Record(int64(now.Sub(due)))
			delete(a.due, number)
		}
	}
}

// beat sends a heartbeat each second until ctx ends, at a random offset. Errors are
// ignored.
func (a *simulated) beat(ctx context.Context) {
	wait := time.Duration(rand.Int64N(int64(a.beats)))
	for count := uint64(1); ; count++ {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = a.beats
		a.mu.Lock()
		b := &agentpb.Beat{Agent: a.id, Boot: a.boot, Count: count, Hello: a.hello, UnixNs: time.Now().UnixNano(), Run: a.run, Epoch: a.epoch, Phase: a.phase,
			Host: &agentpb.Host{Load1: 1, Cpu: 0.5, MemoryTotal: 8 << 30, MemoryAvailable: 4 << 30, NetIn: 1e6, NetOut: 1e6, Sockets: 100, Files: 1000}}
		a.mu.Unlock()
		_ = a.c.Beat(ctx, b) // the next one follows soon
	}
}

// do carries out a command of the master, whose order is Prepare, Arm, Begin, as far as
// possible without executing anything, and returns its answer, never nil, empty but for
// Prepare. The load of Begin runs in a goroutine of wg until Stop, Cancel or the end of ctx.
func (a *simulated) do(ctx context.Context, wg *sync.WaitGroup, q *agentpb.Command) *agentpb.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what := q.What.(type) {
	case *agentpb.Command_Prepare:
		a.run, a.epoch, a.phase, a.first = q.Run, q.Epoch, "prepared", what.Prepare.First
		class := &wire.Class{Name: "simulated", Nu: 100_000, Load: "loop 1h", LoopNs: int64(time.Hour)}
		return &agentpb.Answer{Hellos: []*wire.Hello{{Protocol: 1, Version: "bench", Go: "go", Pid: 1, Classes: []*wire.Class{class}}}}
	case *agentpb.Command_Arm:
		a.phase = "armed"
	case *agentpb.Command_Begin:
		a.phase = "running"
		ctx, stop := context.WithCancel(ctx)
		a.stop = stop
		run, epoch, first := a.run, a.epoch, a.first
		wg.Go(func() {
			a.load(ctx, time.Unix(0, what.Begin.AtUnixNs), &agentpb.Delivery{Run: run, Agent: a.id, Epoch: epoch, Executor: first})
		})
	case *agentpb.Command_Stop, *agentpb.Command_Cancel:
		if a.stop != nil {
			a.stop()
		}
	case *agentpb.Command_Release:
		a.run, a.phase = "", ""
	}
	return &agentpb.Answer{}
}

// load delivers a batch of the executor of d each second from begin on until ctx ends, and
// then the last one, with the sums, and the end of the run. It changes d. Errors are
// ignored: the master reports what is missing. Each delivery waits at most 20 s.
func (a *simulated) load(ctx context.Context, begin time.Time, d *agentpb.Delivery) {
	send := context.WithoutCancel(ctx)
	deliver := func() {
		d.Number++
		ctx, cancel := context.WithTimeout(send, 20*time.Second)
		defer cancel()
		_ = a.c.Deliver(ctx, d) // the master reports what is missing
	}
	var sums wire.Final
	for i := range swarmCounters {
		sums.Counters = append(sums.Counters, &wire.Counter{Metric: uint32(swarmHistograms + i)})
	}
	counts := map[uint32]uint64{}
	var h hdr.Histogram
	each := make([][]uint64, len(a.data)) // recordings, by data and index
	for i, all := range a.data {
		for _, x := range all {
			_ = h.Decode(x.Counts) // our own encoding
			each[i] = append(each[i], h.Count())
		}
	}
	for k, over := 1, false; !over; k++ {
		select {
		case <-time.After(time.Until(begin.Add(time.Duration(k) * time.Second))):
		case <-ctx.Done():
			over = true
		}
		from := time.Duration(k-1) * time.Second
		b := &wire.Batch{Seq: uint64(k), FromNs: int64(from), ToNs: int64(from + time.Second), Gauges: []*wire.Gauge{{Metric: uint32(len(a.series) - 1), Value: 100}}}
		if k == 1 {
			b.Declared, b.GoUnixNs = a.series, begin.UnixNano()
		}
		turn := (a.n + k) % len(a.data)
		b.Histograms = a.data[turn]
		for i, x := range b.Histograms {
			counts[x.Metric] += each[turn][i]
		}
		for _, c := range sums.Counters {
			n := int64(100 + c.Metric)
			c.Add += n
			b.Counters = append(b.Counters, &wire.Counter{Metric: c.Metric, Add: n})
		}
		if over {
			for metric, n := range counts {
				sums.Histograms = append(sums.Histograms, &wire.Counted{Metric: metric, Count: n})
			}
			sums.LoadNs = b.ToNs
			b.Final = &sums
		}
		data, err := proto.Marshal(b)
		if err != nil {
			panic(err) // our own message
		}
		d.What = &agentpb.Delivery_Batch{Batch: data}
		if !over {
			a.mu.Lock()
			a.due[d.Number+1] = begin.Add(time.Duration(k) * time.Second)
			a.mu.Unlock()
		}
		deliver()
	}
	d.What = &agentpb.Delivery_Ended{Ended: &agentpb.Ended{}}
	deliver()
	d.What = &agentpb.Delivery_Over{Over: true}
	deliver()
	a.mu.Lock()
	a.phase = "over"
	a.mu.Unlock()
}
