package main

import (
	"context"
	"fmt"
)

// onTerminal is gobench with its standard streams on a terminal, made by script(1), so that
// it draws the run.
var onTerminal = &peer{
	name: "gobench, on a terminal",
	install: func(ctx context.Context, b *bench) (installed, error) {
		if err := b.debian(ctx, "script:bsdutils"); err != nil {
			return installed{}, err
		}
		in, err := b.install(ctx, gobench)
		in.env = append([]string{"TERM=xterm-256color"}, in.env...)
		in.command = append([]string{"sh", "-c", `exec script -qec "$*" /dev/null`, "sh"}, in.command...)
		return in, err
	},
	read: gobench.read,
}

// liveTable measures whether watching a run changes it: gobench on a terminal and in lines, at
// a closed loop and at a rate. It needs two CPUs, and panics with one. See table for errors.
func liveTable(ctx context.Context, b *bench) (*section, error) {
	s := &section{
		title: "The live view: gobench on a terminal and in lines",
		text: []string{fmt.Sprintf("gobench beside itself: it draws the run on a terminal, four times a second, or writes a line a second. 30 users, %d runs of %d s each, taking turns, not pinned. "+
			"Times are responses', CPU is the whole process tree's, that of script(1), which makes the terminal, included.", b.pairs, b.seconds)},
	}
	g := grid{head: []string{"tool", "load", "requests/s", "p50 ms", "p99 ms", "client CPU us/request", "rate / in lines", "p50 / in lines", "p99 / in lines", "client CPU / in lines"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		for _, load := range []struct{ name, flags string }{{"closed loop", ""}, {"2,000/s", "--rate 2000 "}} {
			command := "gobench http -c 30 " + load.flags + "-d {s}s -o {out} {url}"
			tools, err := b.contenders(ctx, s, []line{{gobench, "gobench, in lines", command}, {onTerminal, onTerminal.name, command}}, map[string]string{"url": srv.url()})
			if err != nil {
				return err
			}
			at := places()[1]
			shots, err := b.contest(ctx, tools, srv, at)
			if err != nil {
				return err
			}
			p50, p99 := func(x shot) float64 { return x.p50 }, func(x shot) float64 { return x.p99 }
			for i, t := range tools {
				mine := shots[t.name]
				row := []string{t.name, load.name, middle(mine, "%.0f", shot.perSecond), middle(mine, "%.3f", p50), middle(mine, "%.3f", p99), middle(mine, "%.2f", shot.clientMicros), "", "", "", ""}
				if i > 0 && len(shots) == 2 {
					for k, of := range []func(shot) float64{shot.perSecond, p50, p99, shot.clientMicros} {
						row[6+k] = versus(mine, shots[tools[0].name], of)
					}
				}
				g.rows = append(g.rows, row)
				s.noise(t.name+" "+load.name, mine)
			}
			s.tools(tools, b.seconds)
		}
		return nil
	})
	s.grids = []grid{g}
	s.intervals(b.pairs)
	return s, err
}
