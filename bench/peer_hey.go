package main

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// hey is a well-known client in Go.
var hey = &peer{
	name:    "hey",
	install: fromGo("github.com/rakyll/hey", "v0.1.5"),
	read:    func(u usage, _ string) (outcome, error) { return parseHey(string(u.stdout)) },
}

var (
	heyTotal   = regexp.MustCompile(`(?m)^ +Total:\s+([\d.]+) secs`)
	heyRate    = regexp.MustCompile(`(?m)^ +Requests/sec:\s+([\d.]+)`)
	heyStatus  = regexp.MustCompile(`(?m)^ +\[(\d+)\]\s+(\d+) `)
	heySlowest = regexp.MustCompile(`(?m)^ +Slowest:\s+([\d.]+) secs`)
	heyP50     = regexp.MustCompile(`(?m)^ +50%+ in ([\d.]+) secs`)
	heyP99     = regexp.MustCompile(`(?m)^ +99%+ in ([\d.]+) secs`)
)

// parseHey reads what hey prints. hey lists the status of its first million answers at
// most, so the count is its rate times its time, which it prints to the tenth of a
// millisecond. Requests without an answer count as failed, not as requests. It returns an
// error without a rate and a time.
func parseHey(out string) (outcome, error) {
	secs, ok := number(out, heyTotal)
	rate, ok2 := number(out, heyRate)
	if !ok || !ok2 {
		return outcome{}, errors.New("hey: no request count in its output")
	}
	o := outcome{requests: math.Round(rate * secs), rate: rate, dropped: untold, latency: heyLatency(out)}
	report, errs, _ := strings.Cut(out, "Error distribution:")
	for _, m := range heyStatus.FindAllStringSubmatch(report, -1) {
		if m[1][0] != '2' {
			o.failed += atof(m[2])
		}
	}
	// Lines such as "[12]	Get "http://...": dial tcp ...: connection refused".
	for line := range strings.Lines(errs) {
		n, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "["), "]")
		if x, err := strconv.ParseFloat(n, 64); ok && err == nil {
			o.failed += x
			o.requests = max(0, o.requests-x)
		}
	}
	return o, nil
}

// heyLatency parses the distribution that hey prints if there were answers, in
// milliseconds; silent if it is incomplete.
func heyLatency(out string) latency {
	p50, ok := number(out, heyP50)
	p99, ok2 := number(out, heyP99)
	greatest, ok3 := number(out, heySlowest)
	if !ok || !ok2 || !ok3 {
		return silent
	}
	return latency{p50 * 1e3, p99 * 1e3, greatest * 1e3}
}
