package main

import (
	"context"
	"fmt"
)

// httpLines are gobench's HTTP engine, built in and in a compiled scenario, and well-known
// clients.
var httpLines = []line{
	{gobench, "", "gobench http -c 30 -d {s}s --quiet -o {out} {url}"},
	{gobench, "gobench, GetIgnoreRes", "gobench run {load}/closed/scenario.go --set url={url} --set seconds={s} --quiet -o {out}"},
	{gobench, "gobench, Get", "gobench run {load}/closed/scenario.go --set url={url} --set seconds={s} --set call=Get --quiet -o {out}"},
	{wrk, "", "wrk -t1 -c30 -d{s}s --latency {url}"},
	{h2load, "", "h2load --h1 -t1 -c30 -D {s} {url}"},
	{ab, "", "ab -q -k -c 30 -t {s} -n 50000000 {url}"},
	{oha, "", "oha --no-tui --output-format json -c 30 -z {s}s {url}"},
	{fortio, "", "fortio load -quiet -qps 0 -c 30 -t {s}s -r 0.0001 -json {out} {url}"},
	{hey, "", "hey -z {s}s -c 30 {url}"},
	{k6, "", "k6 run --quiet --no-usage-report -e URL={url} -e SECONDS={s} -e VUS=30 {load}/k6.js"},
}

// httpTable measures a closed loop over 30 connections by HTTP/1.1, pinned, if this process
// may use two CPUs, and free. See table for errors.
func httpTable(ctx context.Context, b *bench) (*section, error) {
	at := places()
	s := &section{
		title: "HTTP: a closed loop of 30 keep-alive connections",
		text: []string{fmt.Sprintf("GET of a %d-byte page. %s GetIgnoreRes and Get are the client's calls in a compiled scenario.",
			len(page), b.turns(at))},
	}
	g := loopsHead("CPUs", wrk)
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		l := loops{server: srv, lines: httpLines, words: map[string]string{"url": srv.url()}, places: at}
		return l.run(ctx, b, s, &g)
	})
	s.grids = []grid{g}
	s.intervals(b.pairs)
	return s, err
}
