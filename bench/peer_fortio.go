package main

import "errors"

// fortio is a client in Go with an HTTP engine of its own.
var fortio = &peer{
	name:    "fortio",
	install: fromGo("fortio.org/fortio", "v1.66.5"),
	read:    func(_ usage, file string) (outcome, error) { return parseFortio(file) },
}

// parseFortio reads the file that fortio -json writes. All answers but those with status
// 200 are failed. It returns an error for a file without counts.
func parseFortio(file string) (outcome, error) {
	var j struct {
		ActualQPS         float64
		DurationHistogram struct {
			Count, Max  float64 // Max in seconds
			Percentiles []struct{ Percentile, Value float64 }
		}
		RetCodes map[string]float64
	}
	if err := readJSON(file, &j); err != nil {
		return outcome{}, err
	}
	h := j.DurationHistogram
	if h.Count == 0 && len(j.RetCodes) == 0 {
		return outcome{}, errors.New("fortio: no counts in its result")
	}
	o := outcome{requests: h.Count, rate: j.ActualQPS, failed: h.Count - j.RetCodes["200"], dropped: untold, latency: silent}
	o.max = h.Max * 1e3
	for _, p := range h.Percentiles {
		switch p.Percentile {
		case 50:
			o.p50 = p.Value * 1e3
		case 99:
			o.p99 = p.Value * 1e3
		}
	}
	return o, nil
}
