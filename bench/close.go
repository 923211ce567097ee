package main

import (
	"context"
	"fmt"
)

// closeTable measures a closed loop of 30 users with a connection for each request. See
// table for errors.
func closeTable(ctx context.Context, b *bench) (*section, error) {
	at := places()[:1]
	s := &section{
		title: "HTTP: a connection for each request",
		text:  []string{fmt.Sprintf("GET of a %d-byte page with Connection: close, 30 at a time. %s", len(page), b.turns(at))},
	}
	g := loopsHead("CPUs", wrk)
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		l := loops{server: srv, words: map[string]string{"url": srv.url()}, places: at, lines: []line{
			{gobench, "", "gobench http -c 30 -d {s}s -H 'Connection: close' --quiet -o {out} {url}"},
			{wrk, "", "wrk -t1 -c30 -d{s}s -H 'Connection: close' --latency {url}"},
			{ab, "", "ab -q -c 30 -t {s} -n 50000000 {url}"},
			{oha, "", "oha --no-tui --output-format json --disable-keepalive -c 30 -z {s}s {url}"},
			{hey, "", "hey -disable-keepalive -z {s}s -c 30 {url}"},
		}}
		return l.run(ctx, b, s, &g)
	})
	s.grids = []grid{g}
	s.intervals(b.pairs)
	return s, err
}
