package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
)

// postTable measures a closed loop of 30 connections that send bodies of 1 KB, 10 KB and 1
// MB. See table for errors.
func postTable(ctx context.Context, b *bench) (*section, error) {
	at := places()[:1]
	s := &section{
		title: "HTTP: bodies sent",
		text:  []string{"POST of a body over 30 keep-alive connections; nginx reads it, forgets it and answers with 3 bytes. " + b.turns(at)},
	}
	g := loopsHead("body, CPUs", wrk)
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		for _, body := range []struct {
			name  string
			bytes int
		}{{"1 KB", 1 << 10}, {"10 KB", 10 << 10}, {"1 MB", 1 << 20}} {
			file := filepath.Join(b.cache, "body")
			if err := os.WriteFile(file, bytes.Repeat([]byte("x"), body.bytes), 0o644); err != nil {
				return err
			}
			lines := []line{
				{gobench, "", "gobench http -c 30 -d {s}s -m POST -D {body} --quiet -o {out} {url}"},
				{gobench, "gobench, PostIgnoreRes", "gobench run {load}/closed/scenario.go --set url={url} --set seconds={s} --set body={body} --quiet -o {out}"},
				{wrk, "", "BODY={body} wrk -t1 -c30 -d{s}s -s {load}/wrk-post.lua --latency {url}"},
				{ab, "", "ab -q -k -c 30 -t {s} -n 50000000 -p {body} -T text/plain {url}"},
				{oha, "", "oha --no-tui --output-format json -m POST -D {body} -c 30 -z {s}s {url}"},
				{hey, "", "hey -m POST -D {body} -z {s}s -c 30 {url}"},
			}
			l := loops{of: body.name, server: srv, words: map[string]string{"url": srv.url() + "post", "body": file}, places: at, lines: lines}
			if err := l.run(ctx, b, s, &g); err != nil {
				return err
			}
		}
		return nil
	})
	s.reword("{body}", "FILE")
	s.grids = []grid{g}
	s.intervals(b.pairs)
	return s, err
}
