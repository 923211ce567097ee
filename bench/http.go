package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// httpTable is gobench's HTTP engine beside wrk, the fastest client in C, and
// hey, the client in Go that people know: a closed loop over 30 connections.
func httpTable(ctx context.Context, b *bench) (*section, error) {
	tools, err := b.httpTools(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.debian(ctx, "nginx:nginx-light"); err != nil {
		return nil, err
	}
	srv, err := startNginx(ctx)
	if err != nil {
		return nil, err
	}
	defer srv.stop()
	for i := range tools {
		run := tools[i].command
		tools[i].command = func(seconds int) []string { return append(run(seconds), srv.url()) }
	}

	s := &section{
		title: "HTTP: a closed loop of 30 keep-alive connections",
		text: []string{fmt.Sprintf("GET of a %d-byte page from nginx with one worker; %d runs of %d s each, taking turns. "+
			"Pinned: nginx alone on one CPU, the client alone on another. Free: no affinity. "+
			"Where nginx uses its CPU whole, requests a second are its ceiling and only CPU a request ranks the clients.",
			len(page), b.pairs, b.seconds)},
	}
	g := grid{head: []string{"tool", "CPUs", "requests/s", "client CPU us/request", "server CPU us/request",
		"peak RSS MB", "peak PSS MB", "rate / wrk", "client CPU / wrk"}}
	for _, at := range places() {
		shots, err := b.contest(ctx, tools, srv, at)
		if err != nil {
			return nil, err
		}
		for _, t := range tools {
			mine, wrk := shots[t.name], shots["wrk"]
			row := []string{t.name, at.name,
				middle(mine, "%.0f", shot.perSecond),
				middle(mine, "%.2f", shot.clientMicros),
				middle(mine, "%.2f", shot.serverMicros),
				middle(mine, "%.1f", shot.peakRSSMB),
				middle(mine, "%.1f", shot.peakPSSMB), "", ""}
			if t.name != "wrk" && len(wrk) > 0 {
				row[7] = versus(mine, wrk, shot.perSecond)
				row[8] = versus(mine, wrk, shot.clientMicros)
			}
			g.rows = append(g.rows, row)
			s.noise(t.name+" "+at.name, mine)
		}
	}
	s.grids = append(s.grids, g)
	s.intervals(b.pairs)
	s.versions = append(s.versions, srv.version)
	s.tools(tools)
	return s, nil
}

// httpTools are the contenders, installed; their commands lack only the URL.
func (b *bench) httpTools(ctx context.Context) (tools []tool, err error) {
	if b.wants("gobench") {
		bin, version, err := b.gobench(ctx)
		if err != nil {
			return nil, err
		}
		result := filepath.Join(b.cache, "result.json")
		tools = append(tools, tool{
			name: "gobench", version: version,
			shown: "gobench http -c 30 -d %ds --quiet -o FILE.json URL",
			command: func(n int) []string {
				os.Remove(result) // so that a run that writes none can't pass for the one before
				return []string{bin, "http", "-c", "30", "-d", seconds(n), "--quiet", "-o", result}
			},
			outcome: func(usage) (outcome, error) {
				file, err := os.ReadFile(result)
				if err != nil {
					return outcome{}, err
				}
				return parseGobench(file)
			},
		})
	}
	if b.wants("wrk") {
		if err := b.debian(ctx, "wrk:wrk"); err != nil {
			return nil, err
		}
		tools = append(tools, tool{
			name: "wrk", version: "wrk " + debianVersion(ctx, "wrk"),
			shown: "wrk -t1 -c30 -d%ds --latency URL",
			command: func(n int) []string {
				return []string{"wrk", "-t1", "-c30", "-d" + seconds(n), "--latency"}
			},
			outcome: func(u usage) (outcome, error) { return parseWrk(string(u.stdout)) },
		})
	}
	if b.wants("hey") {
		bin, err := b.goInstall(ctx, hey)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool{
			name: "hey", version: "hey " + hey.version,
			shown:   "hey -z %ds -c 30 URL",
			command: func(n int) []string { return []string{bin, "-z", seconds(n), "-c", "30"} },
			outcome: func(u usage) (outcome, error) { return parseHey(string(u.stdout)) },
		})
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("none of %v is a tool of this table", b.tools)
	}
	for i := range tools {
		tools[i].shown = fmt.Sprintf(tools[i].shown, b.seconds)
	}
	return tools, nil
}

func seconds(n int) string { return strconv.Itoa(n) + "s" }
