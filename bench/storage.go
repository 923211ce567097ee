package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// Limits for the database of a run of a day.
const (
	limitDay   = 500.0 // MB
	limitChart = 200.0 // ms
)

// storageGrid runs the store's own test, which stores a run of a day and reads charts of it,
// and returns the size and the slowest chart in one row. A test that fails, or is ended with
// ctx or after 15 minutes, is an error.
func (b *bench) storageGrid(ctx context.Context) (grid, error) {
	out, err := output(ctx, b.root, nil, "go", "test", "./internal/master/store", "-run", "^TestADayIsSmallAndQuick$", "-count", "1", "-v")
	if err != nil {
		return grid{}, err
	}
	size, slowest, err := readDay(out)
	if err != nil {
		return grid{}, err
	}
	var held limits
	held.at("size", size, limitDay)
	held.at("time", slowest, limitChart)
	return grid{
		head: []string{"a run of 24 h, 10 histograms and 40 counters a second, in SQLite", "data base MB", "slowest chart ms", "held to"},
		rows: [][]string{{"any range of 1 h to 24 h, 50 to 2,000 points", fmt.Sprintf("%.0f", size), fmt.Sprintf("%.0f", slowest), held.String()}},
	}, nil
}

var (
	daySize  = regexp.MustCompile(`: (\d+) MB: `)
	dayChart = regexp.MustCompile(` parts of \S+ in (\d+)ms`)
)

// readDay parses what the test prints: the database's size in MB of 10^6 bytes, and the ms
// of the slowest chart. It returns an error if either is missing.
func readDay(out []byte) (size, slowest float64, err error) {
	m, charts := daySize.FindSubmatch(out), dayChart.FindAllSubmatch(out, -1)
	if m == nil || charts == nil {
		return 0, 0, fmt.Errorf("the test of the store does not print its figures: %s", tail(out, 500))
	}
	size, _ = strconv.ParseFloat(string(m[1]), 64) // digits
	for _, c := range charts {
		ms, _ := strconv.ParseFloat(string(c[1]), 64)
		slowest = max(slowest, ms)
	}
	return size * 1.048576, slowest, nil
}
