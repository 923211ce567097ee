package main

import (
	"context"
	"fmt"
)

// tlsTable measures HTTP by TLS 1.3, once with persistent connections, and with a
// connection for each request, where the handshake dominates, from a server that resumes
// sessions and one that does not. See table for errors.
func tlsTable(ctx context.Context, b *bench) (*section, error) {
	at := places()[:1]
	s := &section{
		title: "HTTPS: connections that stay, and handshakes",
		text: []string{fmt.Sprintf("GET of a %d-byte page by TLS 1.3 from a server with a certificate of its own (ECDSA P-256), 30 at a time. "+
			"Handshakes have a connection for each request, from a server that resumes sessions and from one that does not; a client that keeps none makes whole ones either way. %s",
			len(page), b.turns(at))},
	}
	keep := []line{
		{gobench, "", "gobench http -k -c 30 -d {s}s --quiet -o {out} {url}"},
		{wrk, "", "wrk -t1 -c30 -d{s}s --latency {url}"},
		{h2load, "", "h2load --h1 -t1 -c30 -D {s} {url}"},
		{oha, "", "oha --no-tui --output-format json --insecure -c 30 -z {s}s {url}"},
		{hey, "", "hey -z {s}s -c 30 {url}"},
	}
	closing := []line{
		{gobench, "", "gobench http -k -c 30 -d {s}s -H 'Connection: close' --quiet -o {out} {url}"},
		{wrk, "", "wrk -t1 -c30 -d{s}s -H 'Connection: close' --latency {url}"},
		{ab, "", "ab -q -f TLS1.3 -c 30 -t {s} -n 50000000 {url}"},
		{oha, "", "oha --no-tui --output-format json --insecure --disable-keepalive -c 30 -z {s}s {url}"},
		{hey, "", "hey -disable-keepalive -z {s}s -c 30 {url}"},
	}
	g := loopsHead("connections, CPUs", wrk)
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		for _, c := range []struct {
			of, addr string
			lines    []line
		}{
			{"stay", srv.tls, keep},
			{"whole handshakes", srv.tls, closing},
			{"resumed where the client can", srv.resumed, closing},
		} {
			l := loops{of: c.of, server: srv, lines: c.lines, words: map[string]string{"url": "https://" + c.addr + "/"}, places: at}
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
