package main

import (
	"errors"
	"regexp"
)

// h2load is nghttp2's client in C++: HTTP/1.1 with --h1, else HTTP/2. It prints no
// percentiles.
var h2load = &peer{
	name:    "h2load",
	install: fromDebian("h2load", "nghttp2-client"),
	read:    func(u usage, _ string) (outcome, error) { return parseH2load(string(u.stdout)) },
}

var (
	h2loadDone = regexp.MustCompile(`(?m)^requests: .* (\d+) succeeded, (\d+) failed,`) // failed includes those errored or timed out
	h2loadRate = regexp.MustCompile(`(?m)^finished in \S+, ([\d.]+) req/s`)
	h2loadMax  = regexp.MustCompile(`(?m)^time for request: +\S+ +(\S+)`)
)

// parseH2load reads what h2load prints, of which only the maximum is a time. It returns an
// error without a count and a rate.
func parseH2load(out string) (outcome, error) {
	m := h2loadDone.FindStringSubmatch(out)
	rate, ok := number(out, h2loadRate)
	if m == nil || !ok {
		return outcome{}, errors.New("h2load: no request count in its output")
	}
	succeeded, failed := atof(m[1]), atof(m[2])
	return outcome{succeeded + failed, rate, failed, untold, latency{untold, untold, millis(out, h2loadMax)}}, nil
}
