package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An outcome is what a tool says of its run.
type outcome struct {
	requests float64 // answered
	rate     float64 // requests a second, by the tool's own clock
	failed   float64 // requests without the wanted answer
}

// number is the first group of re in out as a number; false when re isn't there.
func number(out string, re *regexp.Regexp) (float64, bool) {
	m := re.FindStringSubmatch(out)
	if m == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(m[1], 64)
	return x, err == nil
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^ *(\d+) requests in `)
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec: +([\d.]+)`)
	wrkStatus   = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkSocket   = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
)

// parseWrk reads what wrk prints.
func parseWrk(out string) (outcome, error) {
	n, ok := number(out, wrkRequests)
	rate, ok2 := number(out, wrkRate)
	if !ok || !ok2 {
		return outcome{}, errors.New("wrk: no request count in its output")
	}
	failed, _ := number(out, wrkStatus)
	if m := wrkSocket.FindStringSubmatch(out); m != nil {
		for _, s := range m[1:] {
			x, _ := strconv.ParseFloat(s, 64)
			failed += x
		}
	}
	return outcome{n, rate, failed}, nil
}

var (
	heyTotal  = regexp.MustCompile(`(?m)^ +Total:\s+([\d.]+) secs`)
	heyRate   = regexp.MustCompile(`(?m)^ +Requests/sec:\s+([\d.]+)`)
	heyStatus = regexp.MustCompile(`(?m)^ +\[(\d+)\]\s+(\d+) `)
)

// parseHey reads what hey prints. hey lists the status of its first million
// answers at most, so the count is its rate times its time, which it prints to
// the tenth of a millisecond.
func parseHey(out string) (outcome, error) {
	secs, ok := number(out, heyTotal)
	rate, ok2 := number(out, heyRate)
	if !ok || !ok2 {
		return outcome{}, errors.New("hey: no request count in its output")
	}
	o := outcome{requests: math.Round(rate * secs), rate: rate}
	report, errs, _ := strings.Cut(out, "Error distribution:")
	for _, m := range heyStatus.FindAllStringSubmatch(report, -1) {
		if m[1][0] != '2' {
			n, _ := strconv.ParseFloat(m[2], 64)
			o.failed += n
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

var (
	heySlowest = regexp.MustCompile(`(?m)^ +Slowest:\s+([\d.]+) secs`)
	heyP50     = regexp.MustCompile(`(?m)^ +50%+ in ([\d.]+) secs`)
	heyP99     = regexp.MustCompile(`(?m)^ +99%+ in ([\d.]+) secs`)
)

// heyPercentiles reads the distribution that hey prints, in milliseconds.
func heyPercentiles(out string) (p50, p99, greatest float64, err error) {
	var ok, ok2, ok3 bool
	p50, ok = number(out, heyP50)
	p99, ok2 = number(out, heyP99)
	greatest, ok3 = number(out, heySlowest)
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, errors.New("hey: no distribution in its output")
	}
	return p50 * 1e3, p99 * 1e3, greatest * 1e3, nil
}

// parseGobench reads the file that gobench writes with -o. The title of a metric
// begins with the prefix of its client, which is http in gobench http.
func parseGobench(file []byte) (outcome, error) {
	var result struct {
		Seconds  float64 `json:"seconds"` // from the load's begin to its end
		Complete bool    `json:"complete"`
		Metrics  []struct {
			Title string  `json:"title"`
			Count float64 `json:"count"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(file, &result); err != nil {
		return outcome{}, fmt.Errorf("gobench: result: %w", err)
	}
	var o outcome
	found := false
	for _, m := range result.Metrics {
		switch m.Title {
		case "http.http_ok":
			found = true
			o.requests = m.Count
		case "http.http_fail", "http.http_other_fail":
			o.failed += m.Count
		}
	}
	switch {
	case !found:
		return outcome{}, errors.New("gobench: no count of http.http_ok in its result")
	case !result.Complete:
		return outcome{}, errors.New("gobench: its result is not complete")
	case result.Seconds <= 0:
		return outcome{}, errors.New("gobench: its result took no time")
	}
	o.rate = o.requests / result.Seconds
	return o, nil
}
