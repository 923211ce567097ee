package threshold

import (
	"math"
	"strconv"
	"strings"
)

// shown formats a figure for people: a time in ns, us, ms or s by its size, bytes in the
// condition's unit (or B below one of it), a rate in %, others plain. It has three
// significant digits without trailing zeros, and more, up to 12, if it would look equal to
// the bound; "no answer" if it is infinite.
func (j *judge) shown(v float64) string {
	if math.IsInf(v, 1) {
		return "no answer"
	}
	for digits := 3; ; digits++ {
		s, exact := j.digits(v, digits)
		if exact || v == j.bound() || s != j.rounded(j.bound(), digits) || digits >= 12 {
			return s
		}
	}
}

func (j *judge) rounded(v float64, digits int) string {
	s, _ := j.digits(v, digits)
	return s
}

// digits formats v, which is in the unit of bound, with this many significant digits,
// without zeros at the end of a fraction, and with a unit as shown does. It reports whether
// that is exact.
func (j *judge) digits(v float64, digits int) (s string, exact bool) {
	unit, suffix := 1.0, ""
	switch a := math.Abs(v); {
	case j.Stat == "rate":
		unit, suffix = 0.01, "%"
	case j.Stat == "rps" || j.Stat == "count" || j.Stat == "value" && j.binding.metric.Unit != "ns":
	case j.binding.metric.Unit != "ns":
	case a < 1e3:
		suffix = "ns"
	case a < 1e6:
		unit, suffix = 1e3, "us"
	case a < 1e9:
		unit, suffix = 1e6, "ms"
	default:
		unit, suffix = 1e9, "s"
	}
	if j.binding.metric.Unit == "B" && units[j.Unit].kind == size {
		if unit, suffix = 1, "B"; math.Abs(v) >= units[j.Unit].factor {
			unit, suffix = units[j.Unit].factor, j.Unit
		}
	}
	v /= unit
	whole := len(strconv.FormatFloat(math.Trunc(math.Abs(v)), 'f', 0, 64))
	if math.Abs(v) < 1 {
		whole = 0
		for a := math.Abs(v); a > 0 && a < 0.1 && whole > -9; a *= 10 {
			whole--
		}
	}
	s = strconv.FormatFloat(v, 'f', max(0, digits-whole), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	back, err := strconv.ParseFloat(s, 64)
	return s + suffix, err == nil && back == v
}
