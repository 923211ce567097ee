package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// oha is a well-known client in Rust. Its build takes minutes.
var oha = &peer{
	name:    "oha",
	install: fromCargo("oha", "1.16.0"),
	read:    func(u usage, _ string) (outcome, error) { return parseOha(u.stdout) },
}

// parseOha parses oha's JSON. Statuses other than 2xx, and errors, count as failed, but
// not requests in flight at the end. It returns an error for text that is no JSON or has
// no status codes; the latency is silent if nothing was answered.
func parseOha(out []byte) (outcome, error) {
	var j struct {
		Summary struct {
			Total   float64 `json:"total"` // seconds
			Slowest float64 `json:"slowest"`
		} `json:"summary"`
		Percentiles map[string]float64 `json:"latencyPercentiles"` // seconds
		Statuses    map[string]float64 `json:"statusCodeDistribution"`
		Errors      map[string]float64 `json:"errorDistribution"`
	}
	if err := json.Unmarshal(out, &j); err != nil {
		return outcome{}, fmt.Errorf("oha: no JSON in its output: %w", err)
	}
	if j.Statuses == nil {
		return outcome{}, errors.New("oha: no status codes in its output")
	}
	o := outcome{dropped: untold, latency: latency{j.Percentiles["p50"] * 1e3, j.Percentiles["p99"] * 1e3, j.Summary.Slowest * 1e3}}
	for code, n := range j.Statuses {
		o.requests += n
		if code[0] != '2' {
			o.failed += n
		}
	}
	for text, n := range j.Errors {
		if text != "aborted due to deadline" {
			o.failed += n
		}
	}
	if o.requests == 0 {
		o.latency = silent
	}
	if j.Summary.Total > 0 {
		o.rate = o.requests / j.Summary.Total
	}
	return o, nil
}
