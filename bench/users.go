package main

import (
	"context"
	"fmt"
)

// usersSeconds is how long each tool of the users table runs, unless -seconds is set: long
// enough to show whether a tool stores each result.
const usersSeconds = 120

// usersTable measures a common comparison of load tools: 30 users for two minutes (or as
// long as -seconds says), each sending requests without a pause; it shows the load that a
// tool makes and what it uses. Each tool runs once, whatever b.pairs. See table for errors.
func usersTable(ctx context.Context, b *bench) (*section, error) {
	seconds := usersSeconds
	if b.short {
		seconds = b.seconds
	}
	s := &section{
		title: "30 users: requests, CPU and memory of load tools",
		text: []string{fmt.Sprintf("GET of a %d-byte page from nginx with one worker, 30 users, %d s, not pinned, one run each. "+
			"CPU is that of the tool's whole process tree, in percent of one core; RSS is its peak.", len(page), seconds)},
	}
	g := grid{head: []string{"tool", "requests/s", "CPU %", "peak RSS MB", "client CPU us/request", "p99 ms", "max ms"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		tools, err := b.contenders(ctx, s, []line{
			{gobench, "", "gobench http -c 30 -d {s}s --quiet -o {out} {url}"},
			{wrk, "", "wrk -t1 -c30 -d{s}s --latency {url}"},
			{hey, "", "hey -z {s}s -c 30 {url}"},
			{k6, "", "k6 run --quiet --no-usage-report -e URL={url} -e SECONDS={s} -e VUS=30 {load}/k6.js"},
			{jmeter, "", "jmeter -n -t {load}/jmeter.jmx -Jurl={url} -Jusers=30 -Jseconds={s} -j /dev/null"},
			{artillery, "", "URL={url} SECONDS={s} artillery run {load}/artillery.yml"},
		}, map[string]string{"url": srv.url()})
		if err != nil {
			return err
		}
		for _, t := range tools {
			x, err := shoot(ctx, t, srv, place{}, seconds)
			if err != nil {
				return err
			}
			g.rows = append(g.rows, []string{t.name, fmt.Sprintf("%.0f", x.perSecond()), fmt.Sprintf("%.0f", x.cores()*100), fmt.Sprintf("%.1f", x.peakRSSMB()),
				fmt.Sprintf("%.2f", x.clientMicros()), figureIf(x.p99), figureIf(x.max)})
			b.logf("%s: %.0f/s, %.0f %% of a core, %.1f MB", t.name, x.perSecond(), x.cores()*100, x.peakRSSMB())
			s.noise(t.name, []shot{x})
		}
		s.tools(tools, seconds)
		return nil
	})
	s.grids = []grid{g}
	return s, err
}
