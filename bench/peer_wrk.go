package main

import (
	"errors"
	"regexp"
)

// wrk is the fastest client in C: a closed loop, without a rate.
var wrk = &peer{
	name:    "wrk",
	install: fromDebian("wrk", "wrk"),
	read:    func(u usage, _ string) (outcome, error) { return parseWrk(string(u.stdout)) },
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^ *(\d+) requests in `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec: +([\d.]+)`)
	wrkStatus   = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkSocket   = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkP50      = regexp.MustCompile(`(?m)^ +50% +(\S+)`)
	wrkP99      = regexp.MustCompile(`(?m)^ +99% +(\S+)`)
	wrkMax      = regexp.MustCompile(`(?m)^ +Latency +\S+ +\S+ +(\S+)`)
)

// parseWrk reads what wrk --latency prints. Statuses from 400 on and socket errors count
// as failed. It returns an error without a count and a rate.
func parseWrk(out string) (outcome, error) {
	n, ok := number(out, wrkRequests)
	rate, ok2 := number(out, wrkRate)
	if !ok || !ok2 {
		return outcome{}, errors.New("wrk: no request count in its output")
	}
	failed := count(out, wrkStatus)
	if m := wrkSocket.FindStringSubmatch(out); m != nil {
		for _, s := range m[1:] {
			failed += atof(s)
		}
	}
	return outcome{n, rate, failed, untold, latency{millis(out, wrkP50), millis(out, wrkP99), millis(out, wrkMax)}}, nil
}
