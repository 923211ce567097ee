package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A peer is a program that generates load: gobench itself, or one that it is compared
// with. Each has its own file, peer_NAME.go: how it is installed, and how its output is
// parsed. install may be repeated; it returns at once if this version is installed, except
// for gobench, which is built again. read returns an error if the output has no counts;
// failed requests are no error.
type peer struct {
	name    string
	install func(context.Context, *bench) (installed, error)
	read    func(u usage, file string) (outcome, error) // file is the file of {out}
}

// installed is a peer on this machine.
type installed struct {
	version string   // its name and version, for the page
	command []string // replaces the first word of its command line
	env     []string // in addition to ours
}

// A line is one row of a table before its peer is installed. The command is as users type
// it, with these placeholders:
//
//	{s}     seconds to run
//	{url}   the URL to request
//	{out}   a file for the result, if the tool writes one
//	{load}  the directory bench/load of this tree
//
// and others of the table. It may begin with environment variables.
type line struct {
	peer    *peer
	name    string // of the row; empty: the peer's
	command string
}

// contenders installs the peers of the lines that -tools selects, and returns their tools, at
// least one, in the order of lines. words replace the placeholders of their names. A peer that
// can't be installed is named on the page, with its error, and its lines are left out; if that
// is gobench, if ctx has ended then, or if no tool is left, it returns an error.
func (b *bench) contenders(ctx context.Context, s *section, lines []line, words map[string]string) (tools []tool, err error) {
	for _, l := range lines {
		if l.name == "" {
			l.name = l.peer.name
		}
		if !b.wants(l.peer.name) {
			continue
		}
		in, err := b.install(ctx, l.peer)
		switch {
		case err == nil:
		case ctx.Err() != nil || l.peer == gobench:
			return nil, fmt.Errorf("install %s: %w", l.peer.name, err)
		default:
			s.note(fmt.Sprintf("%s is missing, it could not be installed: %s", l.peer.name, oneLine(err)))
			continue
		}
		tools = append(tools, b.contender(l, in, words))
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("none of the tools of this table is wanted by -tools %s", strings.Join(b.tools, ","))
	}
	return tools, nil
}

// install installs a peer once and returns it; later calls return the same installation or
// error. An interrupted installation is not retried either.
func (b *bench) install(ctx context.Context, p *peer) (installed, error) {
	if err := b.refused[p]; err != nil {
		return installed{}, err
	}
	in, ok := b.found[p]
	if ok {
		return in, nil
	}
	in, err := p.install(ctx, b)
	if err != nil {
		b.logf("%s could not be installed: %v", p.name, err)
		b.refused[p] = err
		return in, err
	}
	b.found[p] = in
	return in, nil
}

// result is the file that a tool writes its result to, if it writes one.
func (b *bench) result() string { return filepath.Join(b.cache, "result.json") }

// contender returns the tool of a line, whose name must be set, and its installed peer. Its
// command removes the file b.result() first, so that a previous result is not used if a run
// writes none.
func (b *bench) contender(l line, in installed, words map[string]string) tool {
	out := b.result()
	fill := func(s string, more ...string) string {
		for k, v := range words {
			more = append(more, "{"+k+"}", v)
		}
		return strings.NewReplacer(more...).Replace(s)
	}
	return tool{
		peer: l.peer, name: l.name, version: in.version, env: in.env,
		// On the page a file has a name that describes it.
		shown: strings.NewReplacer("{url}", "URL", "{out}", "FILE.json", "{load}", "bench/load").Replace(l.command),
		command: func(seconds int) []string {
			os.Remove(out) // so that a previous result is not used if a run writes none
			var args []string
			named := false // the program itself
			for _, w := range shellWords(l.command) {
				switch {
				case named:
				case strings.Contains(w, "="):
					if args == nil {
						args = []string{"env"}
					}
				default:
					named, args = true, append(args, in.command...)
					continue
				}
				args = append(args, fill(w, "{s}", strconv.Itoa(seconds), "{out}", out, "{load}", filepath.Join(b.root, "bench", "load")))
			}
			return args
		},
		outcome: func(u usage) (outcome, error) { return l.peer.read(u, out) },
	}
}

// shellWords splits a command at its spaces, as a shell does; the text within 'single
// quotes' is one word, without the quotes, even if other text touches it. It knows no other
// quoting.
func shellWords(command string) (all []string) {
	for i, piece := range strings.Split(command, "'") {
		if i%2 == 1 { // within quotes
			all = append(all, piece)
		} else {
			all = append(all, strings.Fields(piece)...)
		}
	}
	return all
}

// oneLine formats an error for a line of the page: its first line and, after " ... ", its
// last one, since tools print the cause there; at most 300 characters, then "...".
func oneLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	s := strings.TrimSpace(lines[0])
	if len(lines) > 1 {
		s += " ... " + strings.TrimSpace(lines[len(lines)-1])
	}
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "..."
	}
	return s
}
