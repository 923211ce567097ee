package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// scheduleSeconds is the length of each run of the tables schedule and stall, as these need
// long runs.
const scheduleSeconds = 10

// Limits for a schedule of 2,000 starts per second, on an idle machine.
const (
	limitP50   = 100.0 // us of start lag
	limitP99   = 300.0
	limitCPU   = 5.0    // percent of a core, of starts that do nothing
	limitShare = 0.1e-2 // of the planned starts, not started; at any rate
)

// scheduleTable measures how well gobench keeps a schedule: planned and actual starts, how
// late starts were while a user was free, and the cost, with iterations that do nothing
// and, except at one a second, with requests. The first row of each rate is the cost of
// waking up this often on this machine. See table for errors.
func scheduleTable(ctx context.Context, b *bench) (*section, error) {
	runs := min(3, b.pairs)
	s := &section{
		title: "Schedule: how late starts are, and what they cost",
		text: []string{
			fmt.Sprintf("An open load for %d s, not pinned, medians of %d runs. Start lag is from the planned start to the begin of the iteration while one of 50 users was free. "+
				"CPU is in percent of one core, start-up included. \"Nothing\" is a compiled scenario whose iterations do nothing; \"GET\" asks nginx. "+
				"What starting takes is the executor's CPU less that of one which starts once a second: its own start-up, watching itself, reporting. "+
				"\"Sleeper\" is no gobench: one thread that sleeps to the same moments and does nothing else, which is what this machine takes for waking up so often.", scheduleSeconds, runs),
			fmt.Sprintf("Held to, on an idle machine: planned and started differ by at most %.1f %%; at 2,000/s, start lag has a p50 under %.0f us and a p99 under %.0f us, "+
				"and starting takes less than %.0f %% of a core where iterations do nothing.", limitShare*100, limitP50, limitP99, limitCPU),
		},
	}
	g := grid{head: []string{"starts/s", "iteration", "planned", "started", "start lag p50 us", "p99 us", "executor CPU %", "starting %", "gobench CPU %", "others CPU %", "held to"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		var idle float64 // percent of a core
		for _, rate := range []int{1, 100, 2000, 20_000} {
			words := map[string]string{"url": srv.url(), "rate": strconv.Itoa(rate)}
			tools, err := b.contenders(ctx, s, []line{
				{gobench, "nothing", "gobench run {load}/nothing/scenario.go --set rate={rate} --set seconds={s} --quiet -o {out}"},
				{gobench, "http", "gobench http -c 50 --rate {rate} -d {s}s --quiet -o {out} {url}"},
			}, words)
			if err != nil {
				return err
			}
			if _, err := output(ctx, "", tools[0].env, tools[0].command(1)...); err != nil { // compiles it
				return err
			}
			woken, err := b.sleeper(ctx, rate, runs)
			if err != nil {
				return err
			}
			g.rows = append(g.rows, woken.row(rate, "sleeper"))
			for i, name := range []string{"nothing", "GET"} {
				kept := schedule{idle: idle}
				for range runs {
					if err := kept.take(ctx, b, tools[i], srv.pids()); err != nil {
						return err
					}
				}
				b.logf("%d/s %s: %s", rate, name, strings.Join(kept.row(rate, name)[2:], "  "))
				g.rows = append(g.rows, kept.row(rate, name))
				if rate == 1 {
					idle = median(kept.executor)
					break
				}
			}
			s.tools(tools, scheduleSeconds)
		}
		return nil
	})
	s.grids = []grid{g}
	s.reword("{rate}", "RATE")
	return s, err
}

// schedule holds the results at one rate, run by run; the sleeper's have no planned and
// started ones.
type schedule struct {
	planned, started, p50, p99 []float64 // starts, us of lag
	executor, parent, others   []float64 // percent of a core
	idle                       float64   // of that, what an idle executor uses
}

// take runs gobench once more for scheduleSeconds, not pinned, and appends its figures. The
// tool's name is that of its class of users. On an error, as when ctx ends, k is unchanged.
func (k *schedule) take(ctx context.Context, b *bench, t tool, server []int) error {
	u, err := measure(ctx, job{args: t.command(scheduleSeconds), env: t.env, server: server, limit: limitOf(scheduleSeconds)})
	if err != nil {
		return err
	}
	r, err := readResult(b.result())
	if err != nil {
		return err
	}
	lag, planned, started := find(r, "vu."+t.name+".start_lag"), find(r, "vu."+t.name+".planned"), find(r, "vu."+t.name+".iterations")
	if lag.Times == nil || planned.Count == nil || started.Count == nil {
		return &failure{t.command(scheduleSeconds), fmt.Errorf("no start lag in its result"), u.stdout, u.stderr}
	}
	k.planned = append(k.planned, float64(*planned.Count))
	k.started = append(k.started, float64(*started.Count))
	k.p50, k.p99 = append(k.p50, float64(lag.Times.P50)*1e3), append(k.p99, float64(lag.Times.P99)*1e3)
	percent := func(seconds float64) float64 { return seconds / u.wall.Seconds() * 100 }
	k.executor = append(k.executor, percent(u.last.cpu.Seconds()))
	k.parent = append(k.parent, percent((u.cpu - u.last.cpu).Seconds()))
	k.others = append(k.others, u.others*100)
	return nil
}

// row returns the schedule's row on the page: medians of the runs, at least one. Cells that a
// sleeper does not have are empty, and "starting" while k.idle is 0.
func (k *schedule) row(rate int, iteration string) []string {
	row := []string{strconv.Itoa(rate), iteration, "", "", figure(median(k.p50)), figure(median(k.p99)), figure(median(k.executor)), "", "", "", ""}
	if len(k.planned) > 0 { // the sleeper has none
		row[2], row[3] = figure(median(k.planned)), figure(median(k.started))
		row[8], row[9] = figure(median(k.parent)), figure(median(k.others))
		row[10] = k.verdict(rate, iteration)
		if k.idle > 0 {
			row[7] = figure(k.starting())
		}
	}
	return row
}

// starting is the percentage of a core that starts used.
func (k *schedule) starting() float64 { return median(k.executor) - k.idle }

// verdict returns "met" if the schedule met its limits, else "missed: " and the limits it
// exceeded. Starts are checked in each run at any rate, medians of the lag only at
// 2,000/s, and CPU only there for iterations that do nothing.
func (k *schedule) verdict(rate int, iteration string) string {
	var missed []string
	miss := func(what string, is bool) {
		if is {
			missed = append(missed, what)
		}
	}
	for i, planned := range k.planned {
		if math.Abs(k.started[i]-planned) > planned*limitShare {
			missed = append(missed, "starts")
			break
		}
	}
	if rate == 2000 {
		miss("p50", median(k.p50) >= limitP50)
		miss("p99", median(k.p99) >= limitP99)
		miss("CPU", iteration == "nothing" && k.starting() >= limitCPU)
	}
	if len(missed) == 0 {
		return "met"
	}
	return "missed: " + strings.Join(missed, ", ")
}

// sleeper runs this program as one that only wakes up, in a separate process, runs times for
// scheduleSeconds, and returns its lag and CPU. The first run that fails, as when ctx ends,
// ends it with its error.
func (b *bench) sleeper(ctx context.Context, rate, runs int) (*schedule, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var k schedule
	for range runs {
		args := []string{self, "-sleeper", strconv.Itoa(rate), "-seconds", strconv.Itoa(scheduleSeconds)}
		u, err := measure(ctx, job{args: args, limit: limitOf(scheduleSeconds)})
		if err != nil {
			return nil, err
		}
		w, err := readWakes(u.stdout)
		if err != nil {
			return nil, &failure{args, err, u.stdout, u.stderr}
		}
		k.p50, k.p99, k.executor = append(k.p50, w.P50), append(k.p99, w.P99), append(k.executor, w.CPU)
	}
	b.logf("%d/s sleeper: lag p50 %.0f us, p99 %.0f us, CPU %.2f %%", rate, median(k.p50), median(k.p99), median(k.executor))
	return &k, nil
}
