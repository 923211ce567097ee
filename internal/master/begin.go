package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/load/allowlist"
	"github.com/gobench-io/gobench/internal/master/split"
	"github.com/gobench-io/gobench/internal/measure/event"
	"github.com/gobench-io/gobench/internal/measure/monitor"
	"github.com/gobench-io/gobench/internal/measure/threshold"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// prepare does everything before the load: it compiles the scenario, lets the agents fetch and
// start the executors, splits the load and lets the executors set up, and returns once all are
// ready. If it returns an error, a.result.Failure has the kind, if it is known and not that of a
// *refusedError, and agents may still have executors: conclude releases them. ctx ends when the
// run is stopped or cancelled; that is an error, too.
func (a *active) prepare(ctx context.Context) error {
	chosen, err := a.m.fleet.choose(a.order.Options.Agents)
	if err == nil && len(chosen) == 0 {
		err = errors.New("the agents that were there have gone")
	}
	if err != nil { // they were there when the run was taken from the queue
		a.result.Failure = run.FailedLost
		return err
	}
	if err := weighable(a.order.Options.Split, chosen); err != nil {
		a.result.Failure = run.FailedInput
		return err
	}
	var source run.Source
	err = a.m.retry(ctx, "read a run's source", func() (err error) { source, err = a.m.Store.RunSource(ctx, a.id); return err })
	if err != nil {
		return err
	}
	if a.blobs, err = a.compile(ctx, source, chosen); err != nil {
		return err
	}
	if err := a.to(ctx, run.Starting, "", byMaster); err != nil {
		return err
	}
	if a.files, err = a.m.blobs.files(source.Files); err != nil {
		return fmt.Errorf("lay the scenario's files out: %w", err)
	}
	a.epoch = 1
	a.mu.Lock() // a profile may be asked for already
	for _, w := range chosen {
		a.hosts = append(a.hosts, &place{member: w, epoch: a.epoch, started: a.epoch})
	}
	a.mu.Unlock()
	a.say(event.Step, "starting the executor on %s", agents(len(chosen)))
	first := map[*place]int{}
	for i, h := range a.hosts {
		first[h] = i
	}
	if err := a.each(a.hosts, func(h *place) error { return a.start(ctx, h, 1, first[h]) }); err != nil {
		return err
	}
	if err := a.multiply(ctx, first); err != nil {
		return err
	}
	return a.arm(ctx)
}

// agents returns "1 agent" or "N agents".
func agents(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}

// compile builds the executor for each platform of the chosen agents, one after the other,
// registers it for agents and returns it by platform. A *CompileError is returned as it is,
// and sets a.result.Failure. The notes of the first platform become the run's. chosen must
// have beats, as those of fleet.choose.
func (a *active) compile(ctx context.Context, source run.Source, chosen []member) (map[platform]*agentpb.Blob, error) {
	built := map[platform]*agentpb.Blob{}
	for _, w := range chosen {
		p := platformOf(w.beat.Hello)
		if built[p] != nil {
			continue
		}
		began := time.Now()
		b, err := a.m.Compiler.Compile(ctx, source, p.os, p.arch, func(text string) { a.say(event.Step, "%s", text) })
		var refused *CompileError
		if errors.As(err, &refused) {
			a.result.Failure = run.FailedCompile
			if refused.Input {
				a.result.Failure = run.FailedInput
			}
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("compile for %s/%s: %w", p.os, p.arch, err)
		}
		if a.result.Config.Executor == "" {
			a.result.Config.Executor = b.SHA256
			for _, note := range b.Notes {
				a.note("%s", note)
			}
		}
		if took := time.Since(began); took > time.Second {
			a.say(event.Note, "compiled for %s/%s in %.1f s", p.os, p.arch, took.Seconds())
		}
		blob, err := a.m.blobs.add(b)
		if err != nil {
			return nil, err
		}
		built[p] = blob
	}
	return built, nil
}

// each calls f for all hosts concurrently, waits for all, and returns the first error in
// the order of hosts.
func (a *active) each(hosts []*place, f func(*place) error) error {
	errs := make([]error, len(hosts))
	var wg sync.WaitGroup
	for i, h := range hosts {
		wg.Go(func() { errs[i] = f(h) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// start lets an agent start executor processes, numbered from first on, waits for them for
// Times.Prepare at most, and appends their hellos to h.hellos. If it returns an error, the
// agent may have started some of them. A refusal wraps a *refusedError. Call compile before,
// and set a.files.
func (a *active) start(ctx context.Context, h *place, processes, first int) error {
	ctx, cancel := context.WithTimeout(ctx, a.m.Times.Prepare)
	defer cancel()
	o := &a.order.Options
	env, err := a.m.environment(o)
	if err != nil {
		return err
	}
	answer, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: h.epoch, What: &agentpb.Command_Prepare{Prepare: &agentpb.Prepare{
		Executor: a.blobs[platformOf(h.beat.Hello)], Files: a.files, Os: h.beat.Hello.GetOs(), Arch: h.beat.Hello.GetArch(), Env: env,
		Processes: uint32(processes), First: uint32(first), LeaseNs: int64(a.m.Times.Lease)}}})
	if err != nil {
		return err
	}
	if len(answer.Hellos) != processes {
		return fmt.Errorf("agent %s started %d executors, want %d", h.Name, len(answer.Hellos), processes)
	}
	for _, hello := range answer.Hellos {
		if err := checkHello(hello); err != nil {
			return fmt.Errorf("agent %s: %w", h.Name, err)
		}
	}
	h.hellos = append(h.hellos, answer.Hellos...)
	return nil
}

// environment returns the environment variables that executors get, as NAME=VALUE: the
// parameters and the permitted targets. The error names an invalid target.
func (m *Master) environment(o *run.Options) ([]string, error) {
	params := o.Parameters
	if params == nil {
		params = map[string]string{}
	}
	b, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	targets, err := m.targets(o)
	if err != nil {
		return nil, err
	}
	return []string{scenario.ParamsEnv + "=" + string(b), allowlist.Env + "=" + targets.String()}, nil
}

// arm checks what the executors have declared, splits the load, sends all agents their starts,
// and returns once all executors are set up. If it returns an error, a.result.Failure has the
// kind, if it is known. Call start for all hosts before.
func (a *active) arm(ctx context.Context) error {
	hello := a.hosts[0].hellos[0]
	for _, h := range a.hosts {
		if err := same(hello, h.hellos[0]); err != nil {
			return fmt.Errorf("agent %s: %w", h.Name, err)
		}
	}
	if hello.Error != "" {
		a.result.Failure = run.FailedScenario
		return errors.New("scenario: " + hello.Error)
	}
	o := &a.order.Options
	if err := monitor.CheckParams(hello, o.Parameters); err != nil {
		a.result.Failure = run.FailedInput
		return err
	}
	a.result.Config.Parameters = monitor.Params(hello)
	asked, err := a.thresholds()
	if err != nil {
		return err
	}
	thresholds, err := monitor.Thresholds(hello, asked, intervalOf(o), o.Builtin != nil)
	if err != nil {
		a.result.Failure = run.FailedInput
		return err
	}
	starts, err := a.share(hello)
	if err != nil {
		return err
	}
	if err := a.announce(ctx, hello, thresholds); err != nil {
		return err
	}
	return a.each(a.hosts, func(h *place) error { return a.setUp(ctx, h, starts[h]) })
}

// same returns an error unless two executors declare the same classes in the same order,
// with the same users, rates and loads.
func same(a, b *wire.Hello) error {
	if len(a.Classes) != len(b.Classes) {
		return fmt.Errorf("its executor has %d classes, others have %d: export() must return the same on every host", len(b.Classes), len(a.Classes))
	}
	for i, c := range a.Classes {
		if d := b.Classes[i]; c.Name != d.Name || c.Nu != d.Nu || c.Rate != d.Rate || c.Load != d.Load {
			return fmt.Errorf("class %s of its executor is another one than that of others: export() must return the same on every host", d.Name)
		}
	}
	return nil
}

// thresholds returns the thresholds of the run's options, which Submit has checked. The error is
// that of the first invalid one.
func (a *active) thresholds() (all []threshold.Threshold, err error) {
	for _, text := range a.order.Options.Thresholds {
		t, err := threshold.ParseFor(text, intervalOf(&a.order.Options))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// share splits the load, adds the executors to a, and returns the starts for each agent, in
// the order of their numbers. It also sets the seed, classes and Go version of the result. An
// error sets a.result.Failure; the executors may have been added already. Call it once, after
// start.
func (a *active) share(hello *wire.Hello) (map[*place][]*wire.Start, error) {
	o := &a.order.Options
	if a.result.Config.Seed = o.Seed; o.Seed == 0 {
		a.result.Config.Seed = rand.Uint64() >> 11 // exact in JSON
	}
	base := &wire.Start{Run: a.id, Seed: a.result.Config.Seed, IntervalNs: int64(intervalOf(o)), DurationNs: int64(seconds(o.Duration)), Hold: o.Builtin == nil,
		WarmupNs: int64(seconds(o.Warmup)), GracefulNs: int64(gracefulOf(o)), Patient: o.GracefulStop == 0}
	var places []split.Place
	for _, h := range a.hosts {
		places = append(places, split.Place{Agent: h.ID, Weight: a.weight(h), Processes: len(h.hellos)})
	}
	plan, err := split.New(hello, places, base)
	if err != nil {
		a.result.Failure = run.FailedInput
		return nil, err
	}
	starts, all := map[*place][]*wire.Start{}, plan.Executors()
	a.change(func() {
		a.plan = plan
		for _, h := range a.hosts {
			for range h.hellos {
				n := len(a.executors)
				starts[h] = append(starts[h], all[n].Start)
				a.executors = append(a.executors, &part{place: h, number: n})
			}
		}
	})
	if o.Lost == run.LostRebalance {
		if err := plan.Movable(); err != nil {
			a.result.Failure = run.FailedInput
			return nil, err
		}
	}
	a.result.Config.Classes = append(a.result.Config.Classes, monitor.Classes(hello)...)
	a.result.Environment.Go = hello.Go
	return starts, nil
}

// weighable returns an error if an agent does not know what its share is to be proportional to.
func weighable(s run.Split, agents []member) error {
	for _, w := range agents {
		if n, of := size(s, w.beat.GetHello()); n <= 0 {
			return fmt.Errorf("the load can't be split by %s: agent %s does not know %s; use another --split, or --weight", s, w.Name, of)
		}
	}
	return nil
}

// memoryUnit is the step of memory in weights: segment.MaxRound limits their sum.
const memoryUnit = 64 << 20

// size returns to what an agent's share is proportional, 1 or more, and what that is in words; 0
// if it is unknown.
func size(s run.Split, h *agentpb.Hello) (n int64, of string) {
	switch s {
	case run.SplitCPUs:
		return int64(h.GetCpus()), "the number of its CPUs"
	case run.SplitMemory:
		return (h.GetMemory() + memoryUnit - 1) / memoryUnit, "the size of its memory"
	case run.SplitLink:
		return h.GetLinkMbits(), "the speed of the network device with which it reaches the master (as a virtual one may)"
	}
	return 1, ""
}

// weight returns an agent's weight in the split of the load: of those that were given, by its id
// or else by its name, where the default is 1 and a 0 counts as 1; else what the split says.
func (a *active) weight(h *place) int {
	w := a.order.Options.Weights
	if len(w) == 0 {
		n, _ := size(a.order.Options.Split, h.beat.GetHello())
		return int(max(n, 1))
	}
	if n, ok := w[h.ID]; ok {
		return n
	}
	if n, ok := w[h.Name]; ok {
		return n
	}
	return 1
}

// announce registers the run and its executors with the intake, which merges their batches
// from then on, and emits the run's plan. It sets a.guard, a.record and a.stored. Call it
// once, after share. It returns an error, and emits nothing, if ctx or the intake has ended.
func (a *active) announce(ctx context.Context, hello *wire.Hello, thresholds []threshold.Threshold) error {
	o := &a.order.Options
	users := map[string]map[string]int64{}
	for i, c := range hello.Classes {
		users[c.Name] = map[string]int64{}
		for n, e := range a.plan.Executors() {
			users[c.Name][a.executors[n].place.ID] += e.Start.Shares[i].Nu
		}
	}
	a.guard = newGuard(o.Guards)
	err := a.m.intake.with(ctx, func() {
		r := newRecord(a.m, a.id, intervalOf(o), a)
		for _, e := range a.executors {
			r.tally.Executor(monitor.Host{ID: e.place.ID, Name: e.place.Name}, 0)
			r.placements = append(r.placements, &agentpb.Placement{Agent: e.place.ID, Epoch: e.place.epoch, Name: e.place.Name})
		}
		r.tally.Thresholds(thresholds)
		r.tally.Users(users)
		if early := a.m.intake.runs[a.id]; early != nil { // executors have printed something already
			r.positions = early.positions
			for _, text := range early.tally.Merger.Notes() {
				r.tally.Merger.Note(text)
			}
		}
		a.stored = r.whenStored() // so that batches find the run after a restart of the master
		a.record = r
		a.m.intake.runs[a.id] = r
	})
	if err != nil {
		return err
	}
	plan := monitor.Plan(hello.Classes, seconds(o.Duration), o.Builtin == nil, seconds(o.Warmup))
	a.m.events.emit(a.id, event.Event{Kind: event.Step, Text: fmt.Sprintf("setting up %d users on %s", plan.Users, agents(len(a.hosts))), Plan: plan})
	return nil
}

// setUp sends an agent's executors their starts, and returns once all of them are set up.
// After an error some may be.
func (a *active) setUp(ctx context.Context, h *place, starts []*wire.Start) error {
	_, err := a.m.command(ctx, &agentpb.Command{Agent: h.ID, Run: a.id, Epoch: h.epoch, What: &agentpb.Command_Arm{Arm: &agentpb.Arm{Starts: starts}}})
	return err
}
