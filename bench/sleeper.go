package main

import (
	"encoding/json"
	"errors"
)

// wakes is the result of sleep: one thread that wakes up at a rate.
type wakes struct {
	CPU float64 `json:"cpu_percent"` // of a core
	P50 float64 `json:"p50_us"`      // delay after the time slept to
	P99 float64 `json:"p99_us"`
}

// readWakes parses what bench -sleeper prints. It returns an error for text that is no
// JSON, or if the CPU time or the median is not above 0.
func readWakes(out []byte) (w wakes, err error) {
	if err = json.Unmarshal(out, &w); err == nil && (w.P50 <= 0 || w.CPU <= 0) {
		err = errors.New("a sleeper took no time")
	}
	return w, err
}
