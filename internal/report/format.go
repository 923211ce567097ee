// Package report shows runs: as text on a screen, as one line a second while a run
// goes on, and as JSON for programs.
//
// Text from outside, as titles and errors, is made safe for a terminal before it is
// shown.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Millis formats a time given in milliseconds with three significant digits, in
// the unit that suits it: "0.312 µs"... "12.3 ms", "1.50 s".
func Millis(ms float64) string {
	switch a := math.Abs(ms); {
	case a == 0:
		return "0"
	case a < 0.001:
		return digits(ms*1e6) + " ns"
	case a < 1:
		return digits(ms*1e3) + " µs"
	case a < 1e3:
		return digits(ms) + " ms"
	case a < 120e3:
		return digits(ms/1e3) + " s"
	}
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

// digits formats v with three significant digits, or all before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Count formats n with a comma between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Rate formats a number per second: three digits below 1000, whole above.
func Rate(v float64) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) >= 999.5 {
		return Count(int64(math.Round(v)))
	}
	return digits(v)
}

// Bytes formats a number of bytes, in powers of 1024.
func Bytes(n float64) string {
	const units = "KMGTPE"
	if math.Abs(n) < 1024 {
		if n != math.Trunc(n) { // as rates are
			return digits(n) + " B"
		}
		return strconv.FormatFloat(n, 'f', -1, 64) + " B"
	}
	i := -1
	for math.Abs(n) >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return digits(n) + " " + units[i:i+1] + "iB"
}

// Safe makes s fit for a terminal's line: what does not print, as an escape
// sequence or a line's end, is shown in Go's notation.
func Safe(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	q := fmt.Sprintf("%+q", s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
