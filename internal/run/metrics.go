package run

import "strings"

// losses pairs the titles of a histogram of operations and of the counter of operations without
// an answer, which the histogram lacks.
var losses = []struct{ begin, histogram, counter string }{
	{"", ".latency", ".http_other_fail"},
	{"", ".latency", ".fail"}, // of RecordFailure
	{"step.", ".time", ".failed"},
	{"vu.", ".response", ".errors"},
	{"vu.", ".service", ".errors"},
}

// LostTitles returns the possible titles of the counter of operations that are missing in
// the histogram with this title, nil if it has no such counter. The first of them that a run
// has declared is the counter.
func LostTitles(histogram string) (counters []string) {
	for _, l := range losses {
		if name, ok := strings.CutSuffix(histogram, l.histogram); ok && strings.HasPrefix(name, l.begin) {
			counters = append(counters, name+l.counter)
		}
	}
	return counters
}

// Answered reports whether the quantile q, 0 to 1, of a histogram belongs to an answered
// operation: count operations were answered, and lost were not and may have been the
// slowest. It is true if both are 0.
func Answered(q float64, count, lost int64) bool {
	const rounding = 1e-9
	return float64(lost) <= (1-q+rounding)*float64(count+lost)
}

// Leading returns the titles of the histograms of times (unit ns) that come first in their
// group, in the order of metrics: the main figures of a client. Those after them are parts
// of it.
func Leading(metrics []Metric) map[string]bool {
	groups, leading := map[string]bool{}, map[string]bool{}
	for _, m := range metrics {
		if m.Type == Histogram && m.Unit == "ns" && !groups[m.Group] {
			groups[m.Group], leading[m.Title] = true, true
		}
	}
	return leading
}
