package run

import "strings"

// losses pairs the ends of titles: a histogram of operations, and the counter of
// those that came to no answer and so are not in it.
var losses = []struct{ begin, histogram, counter string }{
	{"", ".latency", ".http_other_fail"},
	{"", ".latency", ".fail"}, // RecordFailure's
	{"step.", ".time", ".failed"},
	{"vu.", ".response", ".errors"},
	{"vu.", ".service", ".errors"},
}

// LostTitles gives the titles that the counter of the operations missing in a
// histogram may have; the first one that a run has declared is it.
func LostTitles(histogram string) (counters []string) {
	for _, l := range losses {
		if name, ok := strings.CutSuffix(histogram, l.histogram); ok && strings.HasPrefix(name, l.begin) {
			counters = append(counters, name+l.counter)
		}
	}
	return counters
}

// Answered reports whether a histogram's quantile q is that of an operation that was
// answered: count were, and lost were not, which may have been the slowest of all.
func Answered(q float64, count, lost int64) bool {
	const rounding = 1e-9
	return float64(lost) <= (1-q+rounding)*float64(count+lost)
}

// Leading tells which histograms of times come first in their group: what a client is
// about. Those after them are parts of it.
func Leading(metrics []Metric) map[string]bool {
	groups, leading := map[string]bool{}, map[string]bool{}
	for _, m := range metrics {
		if m.Type == Histogram && m.Unit == "ns" && !groups[m.Group] {
			groups[m.Group], leading[m.Title] = true, true
		}
	}
	return leading
}
