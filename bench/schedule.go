package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	domain "github.com/gobench-io/gobench/internal/run"
)

// scheduleTable is how well gobench keeps a schedule: what was planned and what was
// started, by how much starts were late while a connection was free, and what that
// costs.
func scheduleTable(ctx context.Context, b *bench) (*section, error) {
	bin, version, err := b.gobench(ctx)
	if err != nil {
		return nil, err
	}
	srv, err := b.scheduleServer(ctx)
	if err != nil {
		return nil, err
	}
	defer srv.stop()
	g := grid{head: []string{"starts/s", "runs", "planned", "started", "start lag p50 us", "p99 us", "CPUs used", "others used"}}
	for _, rate := range []int{100, 2000, 20_000} {
		var planned, started, p50, p99, cpu, others []float64
		for range 3 {
			u, r, err := b.rated(ctx, bin, rate, srv.url(), nil)
			if err != nil {
				return nil, err
			}
			lag := find(r, "vu.http.start_lag").Times
			planned = append(planned, float64(*find(r, "vu.http.planned").Count))
			started = append(started, float64(*find(r, "vu.http.iterations").Count))
			p50, p99 = append(p50, lag.P50*1e3), append(p99, lag.P99*1e3)
			cpu, others = append(cpu, u.cpu.Seconds()/u.wall.Seconds()), append(others, u.others)
			b.logf("%d/s: planned %.0f, started %.0f, lag p50 %.0f us, p99 %.0f us", rate, planned[len(planned)-1], started[len(started)-1], lag.P50*1e3, lag.P99*1e3)
		}
		g.rows = append(g.rows, []string{strconv.Itoa(rate), "3", figure(median(planned)), figure(median(started)),
			figure(median(p50)), figure(median(p99)), fmt.Sprintf("%.2f", median(cpu)), fmt.Sprintf("%.2f", median(others))})
	}
	return &section{
		title: "Schedule: how late starts are",
		text: []string{"An open load over 50 connections for 10 s against nginx, not pinned. Start lag is from the planned " +
			"start to the begin of the request while a connection was free. CPUs used is that of gobench and its executor, requests included."},
		grids: []grid{g}, versions: []string{version, srv.version},
		commands: []string{"gobench http -c 50 --rate RATE -d 10s --quiet -o FILE.json URL"},
	}, nil
}

// stallTable is the test of honesty: nginx is stopped for a second in the middle of
// ten, and each tool says what it saw.
func stallTable(ctx context.Context, b *bench) (*section, error) {
	bin, version, err := b.gobench(ctx)
	if err != nil {
		return nil, err
	}
	heyBin, err := b.goInstall(ctx, hey)
	if err != nil {
		return nil, err
	}
	srv, err := b.scheduleServer(ctx)
	if err != nil {
		return nil, err
	}
	defer srv.stop()
	g := grid{head: []string{"tool", "runs", "requests", "p50 ms", "p99 ms", "max ms", "p99 of the truth", "peak RSS MB"}}
	var sent, p50, p99, greatest, share, rss []float64
	for range 10 {
		stall := stallInTheMiddle(ctx, srv)
		u, r, err := b.rated(ctx, bin, 2000, srv.url(), nil)
		if err != nil {
			return nil, err
		}
		x := find(r, "vu.http.response")
		truth := (<-stall).Seconds()*1e3 - 100
		sent, p50, p99 = append(sent, float64(*x.Count)), append(p50, x.Times.P50), append(p99, x.Times.P99)
		greatest, share, rss = append(greatest, x.Times.Max), append(share, x.Times.P99/truth*100), append(rss, float64(u.rss)/1e6)
		b.logf("gobench: %.0f requests, p99 %.1f ms of %.1f true", sent[len(sent)-1], x.Times.P99, truth)
	}
	worst := medianInterval(share, 1)
	g.rows = append(g.rows, []string{"gobench", "10", figure(median(sent)), figure(median(p50)), figure(median(p99)), figure(median(greatest)),
		fmt.Sprintf("%.1f %% [%.1f-%.1f]", median(share), worst.Lo, worst.Hi), figure(median(rss))})
	sent, p50, p99, greatest, share, rss = nil, nil, nil, nil, nil, nil
	for range 3 {
		stall := stallInTheMiddle(ctx, srv)
		u, err := measure(ctx, job{args: []string{heyBin, "-z", "10s", "-c", "50", "-q", "40", srv.url()}, limit: time.Minute})
		if err != nil {
			return nil, err
		}
		o, err := parseHey(string(u.stdout))
		if err != nil {
			return nil, err
		}
		truth := (<-stall).Seconds()*1e3 - 100
		low, high, most, err := heyPercentiles(string(u.stdout))
		if err != nil {
			return nil, err
		}
		sent, p50, p99, greatest = append(sent, o.requests), append(p50, low), append(p99, high), append(greatest, most)
		share, rss = append(share, high/truth*100), append(rss, float64(u.rss)/1e6)
	}
	worst = medianInterval(share, 1)
	g.rows = append(g.rows, []string{"hey -q", "3", figure(median(sent)), figure(median(p50)), figure(median(p99)), figure(median(greatest)),
		fmt.Sprintf("%.1f %% [%.1f-%.1f]", median(share), worst.Lo, worst.Hi), figure(median(rss))})
	return &section{
		title: "Stall: does a tool show what its users would have seen?",
		text: []string{"2,000 requests a second over 50 connections for 10 s; nginx is stopped (SIGSTOP) for 1 s in the middle. Of 20,000 " +
			"requests a tenth is due meanwhile and waits 0 to 1 s, so the truth, by the stop's measured length, is a p99 of 900 ms, a maximum of 1,000 ms and 20,000 requests."},
		grids: []grid{g}, versions: []string{version, srv.version, "hey " + hey.version},
		commands: []string{"gobench http -c 50 --rate 2000 -d 10s --quiet -o FILE.json URL", "hey -z 10s -c 50 -q 40 URL"},
	}, nil
}

// scheduleServer starts nginx on any CPU.
func (b *bench) scheduleServer(ctx context.Context) (*nginx, error) {
	if err := b.debian(ctx, "nginx:nginx-light"); err != nil {
		return nil, err
	}
	return startNginx(ctx)
}

// rated runs gobench at a rate for 10 s and gives what it took and its result.
func (b *bench) rated(ctx context.Context, bin string, rate int, url string, more []string) (usage, *domain.Result, error) {
	file := filepath.Join(b.cache, "result.json")
	os.Remove(file) // so that a run that writes none can't pass for the one before
	args := append([]string{bin, "http", "-c", "50", "--rate", strconv.Itoa(rate), "-d", "10s", "--quiet", "-o", file}, more...)
	u, err := measure(ctx, job{args: append(args, url), limit: time.Minute})
	if err != nil {
		return u, nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return u, nil, err
	}
	r := new(domain.Result)
	if err := json.Unmarshal(text, r); err != nil {
		return u, nil, err
	}
	for _, title := range []string{"vu.http.start_lag", "vu.http.response"} {
		if find(r, title).Times == nil {
			return u, nil, fmt.Errorf("%s: no %s", file, title)
		}
	}
	return u, r, nil
}

// find gives a metric of a result, or one without figures.
func find(r *domain.Result, title string) domain.Metric {
	for _, m := range r.Metrics {
		if m.Title == title {
			return m
		}
	}
	zero := int64(0)
	return domain.Metric{Record: domain.Record{Count: &zero}}
}

// stallInTheMiddle stops the server for a second, 4.5 s from now, and tells how long
// it really was.
func stallInTheMiddle(ctx context.Context, srv *nginx) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	signal := func(sig syscall.Signal) {
		for _, pid := range srv.pids() {
			_ = syscall.Kill(pid, sig) // it is ours, and there until srv.stop
		}
	}
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	go func() {
		wait(4500 * time.Millisecond)
		began := time.Now()
		signal(syscall.SIGSTOP)
		wait(time.Second)
		signal(syscall.SIGCONT)
		took <- time.Since(began)
	}()
	return took
}
