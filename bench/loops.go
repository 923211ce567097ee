package main

import (
	"context"
	"fmt"
)

// loops is a contest of closed loops: every tool keeps a number of connections busy, each
// with one request at a time, and the result is the cost of a request.
type loops struct {
	of     string            // the difference to the table's other contests, as 1 KB; may be empty
	server contestServer     // with its worker on one CPU, if it is pinned
	lines  []line            // of gobench and its peers
	words  map[string]string // of the lines
	places []place
	base   *peer // the tool that ratios are relative to, as in loopsHead; nil: wrk
}

// loopsHead returns the columns of loops, the second called what; ratios are relative to base,
// which must not be nil.
func loopsHead(what string, base *peer) grid {
	return grid{head: []string{"tool", what, "requests/s", "client CPU us/request", "server CPU us/request",
		"peak RSS MB", "gobench + executor", "peak PSS MB", "rate / " + base.name, "client CPU / " + base.name}}
}

// run runs the tools in turn at each place, adds a row to g for each tool and place, and their
// commands, versions and notes to s. Without the base's shots, as with -tools, the columns of
// ratios are empty. After an error, as when ctx ends, g has the rows of the places before.
func (l loops) run(ctx context.Context, b *bench, s *section, g *grid) error {
	tools, err := b.contenders(ctx, s, l.lines, l.words)
	if err != nil {
		return err
	}
	base := wrk.name
	if l.base != nil {
		base = l.base.name
	}
	for _, at := range l.places {
		shots, err := b.contest(ctx, tools, l.server, at)
		if err != nil {
			return err
		}
		for _, t := range tools {
			mine, other := shots[t.name], shots[base]
			where := at.name
			if l.of != "" {
				where = l.of + ", " + at.name
			}
			row := []string{t.name, where,
				middle(mine, "%.0f", shot.perSecond),
				middle(mine, "%.2f", shot.clientMicros),
				middle(mine, "%.2f", shot.serverMicros),
				middle(mine, "%.1f", shot.peakRSSMB), "",
				middle(mine, "%.1f", shot.peakPSSMB), "", ""}
			if t.peer == gobench {
				row[6] = middle(mine, "%.1f", shot.topMB) + " + " + middle(mine, "%.1f", shot.executorMB)
			}
			if t.name != base && len(other) > 0 {
				row[8] = versus(mine, other, shot.perSecond)
				row[9] = versus(mine, other, shot.clientMicros)
			}
			g.rows = append(g.rows, row)
			s.noise(t.name+" "+where, mine)
		}
	}
	s.tools(tools, b.seconds)
	return nil
}

// withNginx installs nginx, starts it, adds its version to s, calls take and stops it. It
// returns take's error, or that of the installation or start, which the end of ctx ends.
func (b *bench) withNginx(ctx context.Context, s *section, take func(*nginx) error) error {
	if err := b.debian(ctx, "nginx:nginx-light"); err != nil {
		return err
	}
	srv, err := startNginx(ctx)
	if err != nil {
		return err
	}
	defer srv.stop()
	s.versions = append(s.versions, srv.version)
	return take(srv)
}

// turns describes, for the page, how the runs of loops at these places were made.
func (b *bench) turns(at []place) string {
	text := fmt.Sprintf("nginx has one worker; %d runs of %d s each, taking turns. ", b.pairs, b.seconds)
	for _, p := range at {
		if p.server != nil {
			text += "Pinned: nginx alone on one CPU, the client alone on another. "
		} else {
			text += "Free: no affinity. "
		}
	}
	return text + "Where nginx uses its CPU whole, requests a second are its ceiling and only CPU a request ranks the clients."
}
