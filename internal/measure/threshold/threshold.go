// Package threshold judges whether a run is as good as its owner wants: it parses
// conditions on metrics, as
//
//	home.latency p99 < 200ms over 10s abort
//
// and judges them during the run and at its end. docs/thresholds.md has the grammar.
//
// Counts are merged first and figures taken after: a percentile over a window is that of
// the window's merged histogram. What a warm-up recorded does not count.
package threshold

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Threshold is one condition, returned by [ParseFor]. Equal conditions are equal values.
type Threshold struct {
	Metric string // title; of a check, its name
	Check  bool   // of a check: the share that passed
	Stat   string // "p99", "avg", "rate" ...
	Op     string // < <= > >= == !=
	Number float64
	Unit   string        // "" for a plain number, else a key of units
	Over   time.Duration // length of the sliding window; 0 for the whole run
	Abort  bool          // the run ends when it is crossed
}

// kind is what a unit measures.
type kind int

const (
	plain kind = iota
	duration
	size
	share
)

// unit is a unit of thresholds, with its factor to the unit in which metrics are recorded.
type unit struct {
	kind   kind
	factor float64
}

var units = map[string]unit{
	"": {plain, 1}, "%": {share, 1},
	"ns": {duration, 1}, "us": {duration, 1e3}, "ms": {duration, 1e6}, "s": {duration, 1e9}, "m": {duration, 60e9},
	"B": {size, 1}, "KB": {size, 1e3}, "MB": {size, 1e6}, "GB": {size, 1e9},
	"KiB": {size, 1 << 10}, "MiB": {size, 1 << 20}, "GiB": {size, 1 << 30},
}

// bound returns the value to compare with: nanoseconds, bytes, a share of 0 to 1, or a
// plain number.
func (t Threshold) bound() float64 {
	u := units[t.Unit]
	if u.kind == share {
		return t.Number / 100 // dividing makes 7 of 100 exactly 7%
	}
	return t.Number * u.factor
}

// String returns the condition in its plainest form; parsing it returns an equal Threshold.
func (t Threshold) String() string {
	var b strings.Builder
	switch {
	case t.Check:
		b.WriteString("check " + strconv.Quote(t.Metric))
	case bare(t.Metric):
		b.WriteString(t.Metric)
	default:
		b.WriteString(strconv.Quote(t.Metric))
	}
	b.WriteString(" " + t.Stat + " " + t.Op + " " + strconv.FormatFloat(t.Number, 'f', -1, 64) + t.Unit)
	if t.Over > 0 {
		b.WriteString(" over " + window(t.Over))
	}
	if t.Abort {
		b.WriteString(" abort")
	}
	return b.String()
}

// window formats d without parts that are zero: 1m instead of 1m0s.
func window(d time.Duration) string {
	s := d.String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		s = short + "m"
	}
	if short, ok := strings.CutSuffix(s, "h0m"); ok {
		s = short + "h"
	}
	return s
}

// bare reports whether a title needs no quotes.
func bare(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !inWord(r) })
}

// inWord reports whether r may be part of a word.
func inWord(r rune) bool {
	return unicode.IsPrint(r) && !unicode.IsSpace(r) && r != unicode.ReplacementChar && !strings.ContainsRune(`"<>=!`, r)
}

// percentile returns q, between 0 and 1, of a stat like p99.9; ok is false for other texts.
func percentile(stat string) (q float64, ok bool) {
	digits, ok := strings.CutPrefix(stat, "p")
	if !ok || len(digits) == 0 || len(digits) > 8 || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	q, err := strconv.ParseFloat(digits, 64)
	return q / 100, err == nil && q > 0 && q < 100
}

// ofDistribution reports whether a stat is a figure of a histogram, in its unit.
func ofDistribution(stat string) bool {
	switch stat {
	case "avg", "min", "max", "stdev":
		return true
	}
	_, ok := percentile(stat)
	return ok
}

// holds reports whether v meets the condition.
func (t Threshold) holds(v float64) bool {
	b := t.bound()
	switch t.Op {
	case "<":
		return v < b
	case "<=":
		return v <= b
	case ">":
		return v > b
	case ">=":
		return v >= b
	case "==":
		return v == b
	}
	return v != b
}

// worse reports whether v is further than w from meeting the condition, or nearer to
// violating it.
func (t Threshold) worse(v, w float64) bool {
	switch t.Op {
	case "<", "<=":
		return v > w
	case ">", ">=":
		return v < w
	}
	b := t.bound()
	return math.Abs(v-b) > math.Abs(w-b) == (t.Op == "==")
}
