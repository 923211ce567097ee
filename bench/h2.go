package main

import (
	"context"
	"fmt"
)

// h2Table measures HTTP/2 without TLS: a closed loop of 30 connections, with one request
// at a time on each and with ten. See table for errors.
func h2Table(ctx context.Context, b *bench) (*section, error) {
	at := places()[:1]
	s := &section{
		title: "HTTP/2: a closed loop of 30 connections",
		text: []string{fmt.Sprintf("GET of a %d-byte page by HTTP/2 without TLS (prior knowledge), with 1 and with 10 requests at a time on each connection. "+
			"gobench's HTTP/2 is Go's net/http on its own connections. %s", len(page), b.turns(at))},
	}
	g := loopsHead("requests at a time, CPUs", h2load)
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		for _, streams := range []string{"1", "10"} {
			l := loops{of: streams, server: srv, base: h2load, words: map[string]string{"url": "http://" + srv.h2c + "/", "streams": streams}, places: at, lines: []line{
				{gobench, "", "gobench http --http2 --streams {streams} -c 30 -d {s}s --quiet -o {out} {url}"},
				{h2load, "", "h2load -t1 -c30 -m{streams} -D {s} {url}"},
				{oha, "", "oha --no-tui --output-format json --http2 -p {streams} -c 30 -z {s}s {url}"},
			}}
			if err := l.run(ctx, b, s, &g); err != nil {
				return err
			}
		}
		return nil
	})
	s.grids = []grid{g}
	s.intervals(b.pairs)
	return s, err
}
