package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// k6 runs users in JavaScript; load/k6.js is its closed and its open load.
var k6 = &peer{
	name:    "k6",
	install: fromGo("go.k6.io/k6", "v1.8.1"),
	read:    func(u usage, _ string) (outcome, error) { return parseK6(u.stdout) },
}

// parseK6 reads the metrics that load/k6.js prints at its end, as JSON. A metric that is
// missing counts as 0, but without http_reqs it returns an error.
func parseK6(out []byte) (outcome, error) {
	var metrics map[string]struct {
		Values map[string]float64 `json:"values"`
	}
	if err := json.Unmarshal(out, &metrics); err != nil {
		return outcome{}, fmt.Errorf("k6: no metrics in its output: %w", err)
	}
	reqs := metrics["http_reqs"].Values
	if reqs == nil {
		return outcome{}, errors.New("k6: no http_reqs among its metrics")
	}
	times := metrics["http_req_duration"].Values
	return outcome{
		requests: reqs["count"],
		rate:     reqs["rate"],
		failed:   metrics["http_req_failed"].Values["passes"],   // Value is the number of failed requests
		dropped:  metrics["dropped_iterations"].Values["count"], // present only if some were dropped
		latency:  latency{times["med"], times["p(99)"], times["max"]},
	}, nil
}
