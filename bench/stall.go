package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

// stallRate is the requests a second of the stall table.
const stallRate = 2000

// stallLines are gobench and its peers at the same rate over 50 connections.
var stallLines = []line{
	{gobench, "", "gobench http -c 50 --rate 2000 -d {s}s --quiet -o {out} {url}"},
	{k6, "k6, 50 VUs", "k6 run --quiet --no-usage-report -e URL={url} -e SECONDS={s} -e RATE=2000 -e VUS=50 -e MAX_VUS=50 {load}/k6.js"},
	{k6, "k6, 50 to 3,000 VUs", "k6 run --quiet --no-usage-report -e URL={url} -e SECONDS={s} -e RATE=2000 -e VUS=50 -e MAX_VUS=3000 {load}/k6.js"},
	{k6, "k6, 3,000 VUs", "k6 run --quiet --no-usage-report -e URL={url} -e SECONDS={s} -e RATE=2000 -e VUS=3000 -e MAX_VUS=3000 {load}/k6.js"},
	{hey, "", "hey -z {s}s -c 50 -q 40 {url}"},
	{oha, "", "oha --no-tui --output-format json -c 50 -q 2000 -z {s}s {url}"},
	{oha, "oha, corrected", "oha --no-tui --output-format json --latency-correction -c 50 -q 2000 -z {s}s {url}"},
	{fortio, "", "fortio load -quiet -qps 2000 -c 50 -t {s}s -r 0.0001 -p 50,99 -json {out} {url}"},
	{wrk, "wrk (closed: keeps no rate)", "wrk -t1 -c50 -d{s}s --latency {url}"},
}

// stallTable tests for honesty: nginx is stopped for a second in the middle of ten, and
// each tool reports what it measured. gobench runs 10 times (with fewer than 5 pairs, as
// many times as those), the others at most 3. See table for errors.
func stallTable(ctx context.Context, b *bench) (*section, error) {
	ours, theirs := 10, min(3, b.pairs)
	if b.pairs < 5 { // a short check
		ours = b.pairs
	}
	s := &section{
		title: "Stall: does a tool show what its users would have seen?",
		text: []string{"2,000 requests a second over 50 connections for 10 s; nginx, with one worker, is stopped (SIGSTOP) for 1 s in the middle. Of 20,000 " +
			"requests a tenth is due meanwhile and waits 0 to 1 s, so the truth, by the stop's measured length, is a p99 of 900 ms, a maximum of 1,000 ms and 20,000 requests.",
			"A tool shows the stall when its p99 is within 3 % of the truth and its requests within 1 %; partly, when its p99 is at least half of the truth. " +
				"Dropped are requests that were due and that the tool reports as given up; an empty cell is a figure that it does not report. wrk keeps no rate, and corrects its own distribution after a stall. " +
				"The RSS is the peak of the tool's processes, for gobench followed by that of the executor, which makes the load."},
	}
	g := grid{head: []string{"tool", "runs", "requests", "dropped", "p50 ms", "p99 ms", "max ms", "p99 of the truth", "client CPU s", "peak RSS MB", "shows the stall"}}
	each := grid{head: []string{"gobench, run", "stopped ms", "true p99 ms", "p99 ms", "of the truth", "max ms", "of the truth", "requests", "executor RSS MB", "verdict"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		tools, err := b.contenders(ctx, s, stallLines, map[string]string{"url": srv.url()})
		if err != nil {
			return err
		}
		for _, t := range tools {
			runs := theirs
			if t.peer == gobench {
				runs = ours
			}
			var all []stalled
			for n := range runs {
				x, err := b.stalled(ctx, t, srv)
				if err != nil {
					return err
				}
				all = append(all, x)
				b.logf("%s %d/%d: %.0f requests, p99 %.1f ms of %.1f true, max %.1f ms %s", t.name, n+1, runs, x.requests, x.p99, x.trueP99(), x.max, x.verdict)
				if t.peer == gobench {
					each.rows = append(each.rows, x.row(n+1))
				}
			}
			g.rows = append(g.rows, stallRow(t, all))
		}
		s.tools(tools, scheduleSeconds)
		return nil
	})
	s.grids = []grid{g}
	if len(each.rows) > 0 {
		s.grids = append(s.grids, each)
	}
	return s, err
}

// stalled is a run of a tool during which the server was stopped.
type stalled struct {
	shot
	stop    time.Duration // as measured
	verdict string        // gobench's own, with the signals that lowered it
}

// trueP99 and trueMax are in milliseconds: a tenth of the requests waits, evenly
// distributed from zero to the whole stop, so a hundredth of all waits longer than the stop
// less 100 ms.
func (x stalled) trueP99() float64 { return x.trueMax() - 100 }
func (x stalled) trueMax() float64 { return x.stop.Seconds() * 1e3 }

// share is the tool's p99 in percent of the true one.
func (x stalled) share() float64 { return x.p99 / x.trueP99() * 100 }

// shows returns "yes", "partly" or "no": whether the tool's figures show the stall. "yes"
// is a p99 within 3 % of the true one and requests within 1 % of the schedule's; "partly"
// any other p99 of at least half of the true one. A tool that prints no p99 has "no".
func (x stalled) shows() string {
	switch sent := x.requests / (stallRate * scheduleSeconds); {
	case x.p99 == untold:
		return "no"
	case math.Abs(x.share()-100) <= 3 && math.Abs(sent-1) <= 0.01:
		return "yes"
	case x.share() >= 50:
		return "partly"
	}
	return "no"
}

// row is the run's row on the page.
func (x stalled) row(n int) []string {
	return []string{strconv.Itoa(n), figure(x.trueMax()), figure(x.trueP99()), figure(x.p99), fmt.Sprintf("%.1f %%", x.share()),
		figure(x.max), fmt.Sprintf("%.1f %%", x.max/x.trueMax()*100), fmt.Sprintf("%.0f", x.requests), fmt.Sprintf("%.1f", x.executorMB()), x.verdict}
}

// stallRow returns a tool's row on the page: medians of its runs, at least one, and "not
// always" if some of them show the stall differently.
func stallRow(t tool, all []stalled) []string {
	mid := func(f func(stalled) float64) float64 { return median(column(all, f)) }
	told := func(f func(stalled) float64) string { return figureIf(mid(f)) }
	shares := medianInterval(column(all, stalled.share), 1)
	rss := fmt.Sprintf("%.1f", mid(func(x stalled) float64 { return x.peakRSSMB() }))
	if t.peer == gobench {
		rss += fmt.Sprintf(" (%.1f)", mid(func(x stalled) float64 { return x.executorMB() }))
	}
	shows := all[0].shows()
	for _, x := range all {
		if x.shows() != shows {
			shows = "not always"
		}
	}
	dropped := ""
	if n := mid(func(x stalled) float64 { return x.dropped }); n != untold {
		dropped = fmt.Sprintf("%.0f", n)
	}
	return []string{t.name, strconv.Itoa(len(all)), fmt.Sprintf("%.0f", mid(func(x stalled) float64 { return x.requests })),
		dropped, told(func(x stalled) float64 { return x.p50 }),
		told(func(x stalled) float64 { return x.p99 }), told(func(x stalled) float64 { return x.max }),
		fmt.Sprintf("%.1f %% [%.1f-%.1f]", mid(stalled.share), shares.Lo, shares.Hi),
		fmt.Sprintf("%.2f", mid(func(x stalled) float64 { return x.cpu.Seconds() })), rss, shows}
}

// stalled runs the tool once, not pinned, and stops the server for a second after 4.5 s; the
// server runs again when it returns. The error is that of shoot, also for failed requests, as
// the tool has not waited for the server then, or one for a tool that ended before the stop.
func (b *bench) stalled(ctx context.Context, t tool, srv *nginx) (stalled, error) {
	over := make(chan struct{})
	stop := stopMeanwhile(srv, 4500*time.Millisecond, over)
	s, err := shoot(ctx, t, srv, place{}, scheduleSeconds)
	close(over)
	x := stalled{shot: s, stop: <-stop}
	if err != nil {
		return x, fmt.Errorf("%s: %w", t.name, err)
	}
	if x.stop == 0 {
		return x, fmt.Errorf("%s: was over before the server was stopped", t.name)
	}
	if t.peer == gobench {
		r, err := readResult(b.result())
		if err != nil {
			return x, err
		}
		x.verdict = verdict(r)
	}
	return x, nil
}

// verdict returns a result's verdict as "NAME: SIGNAL, SIGNAL", with the signals that
// lowered it; only "NAME" if none did.
func verdict(r *domain.Result) string {
	v := string(r.Verdict)
	for i, reason := range r.Reasons {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		v += sep + reason.Signal
	}
	return v
}

// stopMeanwhile stops the server for a second, after the time at, and then sends how long it
// was really stopped; if over is closed before, it closes the channel without a value. A stop
// that has begun is completed: the server is always continued. It must run until the channel
// is closed.
func stopMeanwhile(srv *nginx, at time.Duration, over <-chan struct{}) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	go func() {
		defer close(took)
		select {
		case <-over:
			return
		case <-time.After(at):
		}
		signal := func(send func(pid int)) {
			for _, pid := range srv.pids() {
				send(pid) // it is ours, and exists until srv.stop
			}
		}
		began := time.Now()
		signal(stopProcess)
		time.Sleep(time.Second)
		signal(continueProcess)
		took <- time.Since(began)
	}()
	return took
}
