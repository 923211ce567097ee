package main

import (
	"errors"
	"regexp"
)

// ab is Apache's client in C: HTTP/1.0, a closed loop.
var ab = &peer{
	name:    "ab",
	install: fromDebian("ab", "apache2-utils"),
	read:    func(u usage, _ string) (outcome, error) { return parseAb(string(u.stdout)) },
}

var (
	abRequests = regexp.MustCompile(`(?m)^Complete requests: +(\d+)`)
	abRate     = regexp.MustCompile(`(?m)^Requests per second: +([\d.]+)`)
	abFailed   = regexp.MustCompile(`(?m)^Failed requests: +(\d+)`)
	abStatus   = regexp.MustCompile(`(?m)^Non-2xx responses: +(\d+)`)
	abP50      = regexp.MustCompile(`(?m)^ +50% +(\d+)`)
	abP99      = regexp.MustCompile(`(?m)^ +99% +(\d+)`)
	abMax      = regexp.MustCompile(`(?m)^ +100% +(\d+)`)
)

// parseAb reads what ab prints; its times are whole milliseconds. Answers with another
// status than 2xx count as failed. It returns an error without a count and a rate.
func parseAb(out string) (outcome, error) {
	n, ok := number(out, abRequests)
	rate, ok2 := number(out, abRate)
	if !ok || !ok2 {
		return outcome{}, errors.New("ab: no request count in its output")
	}
	o := outcome{n, rate, count(out, abFailed) + count(out, abStatus), untold, silent}
	for at, re := range map[*float64]*regexp.Regexp{&o.p50: abP50, &o.p99: abP99, &o.max: abMax} {
		if x, ok := number(out, re); ok {
			*at = x
		}
	}
	return o, nil
}
