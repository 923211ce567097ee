// Package units formats values for display: times, rates, sizes, counts, and text from outside,
// which must be safe for a terminal.
package units

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Millis formats a time given in milliseconds with three digits, in a suitable unit: "312
// ns", "1.50 µs", "12.3 ms", "1.50 s". From two minutes on it is to the second: "2m0s". 0 is
// "0".
func Millis(ms float64) string {
	switch a := math.Abs(ms); {
	case a == 0:
		return "0"
	case a < 0.001:
		return Digits(ms*1e6) + " ns"
	case a < 1:
		return Digits(ms*1e3) + " µs"
	case a < 1e3:
		return Digits(ms) + " ms"
	case a < 120e3:
		return Digits(ms/1e3) + " s"
	}
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

// Digits formats v with three digits, as "1.23", "12.3" and "123", or with more if its
// integer part has more. It never has more than two decimals: 0.004 is "0.00".
func Digits(v float64) string {
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

// Rate formats a number per second: with three digits below 1000, as an integer with commas
// above. It adds no unit. 0 is "0".
func Rate(v float64) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) >= 999.5 {
		return Count(int64(math.Round(v)))
	}
	return Digits(v)
}

// Bytes formats a number of bytes with three digits, in powers of 1024: "1.50 KiB". Whole
// numbers below 1024 are exact: "512 B".
func Bytes(n float64) string {
	const units = "KMGTPE"
	if math.Abs(n) < 1024 {
		if n != math.Trunc(n) { // with decimals, as a rate
			return Digits(n) + " B"
		}
		return strconv.FormatFloat(n, 'f', -1, 64) + " B"
	}
	i := -1
	for math.Abs(n) >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return Digits(n) + " " + units[i:i+1] + "iB"
}

// Seconds formats a number of seconds: below a minute as Millis does, from then on to a
// tenth of a second, as "1m30.5s".
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Minute {
		return Millis(s * 1e3)
	}
	return d.Round(100 * time.Millisecond).String()
}

// Safe makes s safe for one line: unprintable characters, such as an escape sequence, a line
// end or an invalid byte, are shown in Go's notation.
func Safe(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if part := s[i : i+n]; unicode.IsPrint(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(part)
		} else {
			q := strconv.QuoteToASCII(part)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

// SafeLines makes each line of s safe as Safe does. It drops line ends at the end of s, and
// "\r" before the others.
func SafeLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = Safe(strings.TrimRight(line, "\r"))
	}
	return strings.Join(lines, "\n")
}
