package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	fewConns  = 250
	manyConns = 10_000
	manyUsers = 20_000
	spareFDs  = 500  // of a process's open files, for other uses than connections
	ramp      = 4000 // users that connect per second
)

// Limits for idle connections and many users.
const (
	limitConn = 8 << 10 // bytes per connection
	limitMany = 1.5     // times the closed loop's CPU per request
)

// connsFrom are the addresses that users connect from: enough of them that a run and the
// closed connections of earlier ones (TIME_WAIT) leave most ports of each free.
const connsFrom = "127.0.1.0/28"

// connsTable measures the cost of many connections: memory while they are idle, and CPU per
// request when each of many users pauses for a second after each. There are at most 20,000
// users, fewer if a process may not open so many files, of which it needs more than 750. See
// table for errors.
func connsTable(ctx context.Context, b *bench) (*section, error) {
	users := min(manyUsers, openFiles()-spareFDs)
	seconds := max(2*(users/ramp+2), b.seconds) // the second half begins when all are connected
	s := &section{
		title: "Many connections",
		text: []string{
			fmt.Sprintf("A compiled scenario: every user has a client and a connection of its own to nginx. Idle: each asks once and keeps its connection; "+
				"a connection's memory is the difference over the difference in connections. "+
				"Busy: each pauses for a second after each request; beside it, 30 users that ask without a pause. The executor's resident memory and CPU are those of a run of %d s from its half on until connections are closed. "+
				"Medians of %d runs; idle ones are free. Pinned: nginx alone on one CPU, gobench alone on another, as if it had a machine of its own. Free: no affinity. They connect from several addresses: of one, half of its 28,000 ports lead to a target at once, and for each one more the kernel searches for a millisecond. "+
				"The bare loop is no load tool but what this machine takes: one thread that waits by epoll, sends and receives, and does nothing else (bench/bare_linux.go).", seconds, min(3, b.pairs)),
			fmt.Sprintf("A process may have %d files open here, so there are at most %d users. Held to: %d bytes a connection, %.1f of the closed loop's CPU a request.", openFiles(), users, limitConn, limitMany),
		},
	}
	idle := grid{head: []string{"idle connections", "executor RSS MB", "bytes a connection", "peak RSS MB", "held to"}}
	busy := grid{head: []string{"users", "CPUs", "of", "requests/s", "CPU us/request", "of the closed loop's", "executor RSS MB", "held to"}}
	err := b.withNginx(ctx, s, func(srv *nginx) error {
		// many runs gobench with n users, and returns the median of the results.
		many := func(at place, n, every int) (settled, peak, cpu, perSecond float64, err error) {
			command := "gobench run {load}/each/scenario.go --set url={url} --set users={users} --set every={every} --set ramp={ramp} --set from={from} -d {s}s --quiet -o {out}"
			if every < 0 { // the closed loop
				command = "gobench run {load}/closed/scenario.go --set url={url} --set seconds={s} --quiet -o {out}"
			}
			tools, err := b.contenders(ctx, s, []line{{gobench, "", command}},
				map[string]string{"url": srv.url(), "users": strconv.Itoa(n), "every": strconv.Itoa(every), "ramp": strconv.Itoa(ramp), "from": connsFrom})
			if err != nil {
				return 0, 0, 0, 0, err
			}
			var memory, most, per, rate []float64
			for range min(3, b.pairs) {
				x, err := shoot(ctx, tools[0], srv, at, seconds)
				if err != nil {
					return 0, 0, 0, 0, err
				}
				if every == 0 && x.requests != float64(n) {
					return 0, 0, 0, 0, fmt.Errorf("%d users made %.0f requests, want one each", n, x.requests)
				}
				memory, most = append(memory, float64(x.last.settled())), append(most, float64(x.last.peak))
				if every == 0 {
					b.logf("%d idle: %.1f MB", n, float64(x.last.settled())/1e6)
					continue
				}
				steady, err := steadyRate(b.result())
				if err != nil {
					return 0, 0, 0, 0, err
				}
				per, rate = append(per, x.last.steady()*1e6/steady), append(rate, steady)
				b.logf("%s, %d users: %.1f MB, %.0f/s, %.2f us/request", at.name, n, float64(x.last.settled())/1e6, steady, per[len(per)-1])
			}
			s.tools(tools, seconds)
			return median(memory), median(most), median(per), median(rate), nil
		}
		few, peak, _, _, err := many(place{}, fewConns, 0)
		if err != nil {
			return err
		}
		idle.rows = append(idle.rows, []string{strconv.Itoa(fewConns), fmt.Sprintf("%.1f", few/1e6), "", fmt.Sprintf("%.1f", peak/1e6), ""})
		lots := min(manyConns, users)
		held, peak, _, _, err := many(place{}, lots, 0)
		if err != nil {
			return err
		}
		each := (held - few) / float64(lots-fewConns)
		var small limits
		small.at("bytes", each, limitConn)
		idle.rows = append(idle.rows, []string{strconv.Itoa(lots), fmt.Sprintf("%.1f", held/1e6), fmt.Sprintf("%.0f", each), fmt.Sprintf("%.1f", peak/1e6), small.String()})

		for _, at := range places() {
			_, _, closed, rate, err := many(at, 30, -1)
			if err != nil {
				return err
			}
			size, _, each, rateOfMany, err := many(at, users, 1000)
			if err != nil {
				return err
			}
			var cheap limits
			cheap.at("ratio", each/closed, limitMany)
			bareClosed, bareRate, err := b.bare(ctx, srv, at, bareUsers{users: 30, during: time.Duration(seconds) * time.Second})
			if err != nil {
				return err
			}
			bareEach, bareOfMany, err := b.bare(ctx, srv, at, bareUsers{users: users, every: time.Second, during: time.Duration(seconds) * time.Second})
			if err != nil {
				return err
			}
			apart := fmt.Sprintf("%d, a second apart", users)
			busy.rows = append(busy.rows,
				[]string{"30, closed loop", at.name, "gobench", fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.2f", closed), "", "", ""},
				[]string{apart, at.name, "gobench", fmt.Sprintf("%.0f", rateOfMany), fmt.Sprintf("%.2f", each), fmt.Sprintf("%.2f", each/closed), fmt.Sprintf("%.1f", size/1e6), cheap.String()},
				[]string{"30, closed loop", at.name, "bare loop", fmt.Sprintf("%.0f", bareRate), fmt.Sprintf("%.2f", bareClosed), "", "", ""},
				[]string{apart, at.name, "bare loop", fmt.Sprintf("%.0f", bareOfMany), fmt.Sprintf("%.2f", bareEach), fmt.Sprintf("%.2f", bareEach/bareClosed), "", ""})
		}
		return nil
	})
	s.grids = []grid{idle, busy}
	s.reword("{from}", connsFrom, "{users}", "USERS", "{every}", "MS", "{ramp}", strconv.Itoa(ramp))
	return s, err
}
