package main

import (
	"context"
	"fmt"
	"time"
)

// A tool is one of the compared programs. command removes the result of the previous run,
// and outcome reads that of the last one, so a tool runs once at a time.
type tool struct {
	peer    *peer
	name    string
	version string
	env     []string                     // in addition to ours
	shown   string                       // the command for the page
	command func(seconds int) []string   // the command that is run
	outcome func(usage) (outcome, error) // parses its result
}

// A place is where the server and the clients of a contest run.
type place struct {
	name   string
	server []int // CPUs; empty: all
	client []int
}

// places returns the pinned place, if this process may use two CPUs or more, and then the
// free one.
func places() []place {
	free := place{name: "free"}
	if cpus := allowedCPUs(); len(cpus) >= 2 {
		return []place{{"pinned", cpus[:1], cpus[1:2]}, free}
	}
	return []place{free}
}

// A shot is one run of one tool. Its methods return figures of the run: MB are of 10^6
// bytes, micros are microseconds of CPU per request, and cores is the number of CPUs that
// the tool used on average.
type shot struct {
	usage
	outcome
}

func (s shot) perSecond() float64     { return s.rate }
func (s shot) clientMicros() float64  { return s.cpu.Seconds() * 1e6 / s.requests }
func (s shot) serverMicros() float64  { return s.server.Seconds() * 1e6 / s.requests }
func (s shot) peakRSSMB() float64     { return float64(s.rss) / 1e6 }
func (s shot) peakPSSMB() float64     { return float64(s.pss) / 1e6 }
func (s shot) topMB() float64         { return float64(s.top) / 1e6 }
func (s shot) executorMB() float64    { return float64(s.last.peak) / 1e6 }
func (s shot) cores() float64         { return s.cpu.Seconds() / s.wall.Seconds() }
func (s shot) othersPercent() float64 { return s.others * 100 }

// A contestServer is the target of the tools: pids are its processes, and pin moves them
// to CPUs, to all that we may use if cpus is empty.
type contestServer interface {
	pids() []int
	pin(cpus []int) error
}

// contest runs the tools, whose names must differ, in turn on the server, A B C, A B C,
// b.pairs times after a warm-up of a second each, and returns each tool's shots by its name in
// the order of the turns: shot i of one tool ran next to shot i of another, so a ratio of the
// two excludes what the machine did in that minute. The first run that fails, as when ctx
// ends, ends it with its error, and there are no shots. The server stays pinned.
func (b *bench) contest(ctx context.Context, tools []tool, srv contestServer, at place) (map[string][]shot, error) {
	if err := srv.pin(at.server); err != nil {
		return nil, err
	}
	shots := map[string][]shot{}
	for turn := range b.pairs + 1 {
		for _, t := range tools {
			seconds := b.seconds
			if turn == 0 {
				seconds = 1
			}
			s, err := shoot(ctx, t, srv, at, seconds)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", t.name, at.name, err)
			}
			if turn == 0 {
				continue
			}
			shots[t.name] = append(shots[t.name], s)
			b.logf("%s %d/%d %-8s %8.0f/s  client %.2f us  server %.2f us  peak %.1f MB  others %.0f %%", at.name, turn, b.pairs,
				t.name, s.perSecond(), s.clientMicros(), s.serverMicros(), s.peakRSSMB(), s.othersPercent())
		}
	}
	return shots, nil
}

// limitOf returns the time limit for a run of this many seconds, its start and end
// included.
func limitOf(seconds int) time.Duration { return time.Duration(seconds)*time.Second + 30*time.Second }

// shoot runs the tool once and measures it. It returns a *failure with the tool's output, and
// no figures, if the tool can't be run, is ended with ctx, or its result can't be read, and
// for a run with failed requests or without any.
func shoot(ctx context.Context, t tool, srv contestServer, at place, seconds int) (shot, error) {
	u, err := measure(ctx, job{
		args:   t.command(seconds),
		env:    t.env,
		cpus:   at.client,
		server: srv.pids(),
		limit:  limitOf(seconds),
	})
	if err != nil {
		return shot{}, err
	}
	o, err := t.outcome(u)
	switch {
	case err != nil:
		return shot{}, &failure{t.command(seconds), err, u.stdout, u.stderr}
	case o.failed > 0:
		err = fmt.Errorf("%.0f requests failed", o.failed)
		return shot{}, &failure{t.command(seconds), err, u.stdout, u.stderr}
	case o.requests < 1:
		return shot{}, &failure{t.command(seconds), fmt.Errorf("no requests"), u.stdout, u.stderr}
	}
	return shot{u, o}, nil
}

// versus formats the median ratio of a tool to its peer, turn by turn, with its interval at 95
// %, as "1.02 [0.98-1.05]". Both must be in the order of their turns; NaN if one is empty.
func versus(of, peer []shot, f func(shot) float64) string {
	r := ratios(column(of, f), column(peer, f))
	i := medianInterval(r, 0.95)
	return fmt.Sprintf("%.2f [%.2f-%.2f]", median(r), i.Lo, i.Hi)
}

// middle formats the median of the figure f of these shots by format, which has one verb for a
// float64; NaN without shots.
func middle(of []shot, format string, f func(shot) float64) string {
	return fmt.Sprintf(format, median(column(of, f)))
}
